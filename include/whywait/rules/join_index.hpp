#ifndef WHYWAIT_RULES_JOIN_INDEX_HPP
#define WHYWAIT_RULES_JOIN_INDEX_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/trouble.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The rows of one table that pass a filter, chained by the hash of their keys, earlier rows first. Construction costs
/// about 40 ns per row. Keys that are plain parameters are read from the table, computed keys are stored.
class join_index {
 public:
  static constexpr std::size_t most_keys = 256;

  join_index(const event_table& table, const join_step& step, text_pool& texts, trouble& log)
      : table_(&table), keys_(step.own.size()) {
    if (keys_ > most_keys) keys_ = most_keys;
    next_.assign(table.rows, event_table::none);
    plain_ = true;
    for (const program& key : step.own) plain_ = plain_ && key.plain;
    for (std::size_t k = 0; plain_ && k < keys_; ++k) columns_.push_back(step.own[k].steps[0].column);
    if (!plain_) values_.resize(table.rows * keys_);

    // Programs address rows by member; only the row of this member is read.
    base::pod_vector<const double*> rows(step.member + 1, nullptr);
    double found[most_keys];
    for (std::uint32_t row = table.rows; row-- > 0;) {
      rows[step.member] = table.row(row);
      if (!log.holds(step.filter, rows.data(), nullptr, texts)) continue;
      bool good = true;
      for (std::size_t k = 0; k < keys_ && good; ++k) good = log.value(step.own[k], rows.data(), nullptr, texts, found[k]);
      if (!good) continue;
      if (!plain_)
        for (std::size_t k = 0; k < keys_; ++k) values_[row * keys_ + k] = found[k];
      const auto fresh = static_cast<std::uint32_t>(heads_.size());
      const std::uint32_t chain = chains_.intern(hash(found), fresh);
      if (chain == fresh) heads_.push_back(event_table::none);
      next_[row] = heads_[chain];
      heads_[chain] = row;
    }
  }

  /// The first row whose keys may be these; `same` compares them.
  std::uint32_t first(const double* keys) const noexcept {
    const std::uint32_t chain = chains_.find(hash(keys));
    return chain == base::key_map::none ? event_table::none : heads_[chain];
  }
  std::uint32_t next(std::uint32_t row) const noexcept { return next_[row]; }
  bool same(std::uint32_t row, const double* keys) const noexcept {
    for (std::size_t k = 0; k < keys_; ++k)
      if ((plain_ ? table_->row(row)[columns_[k]] : values_[row * keys_ + k]) != keys[k]) return false;
    return true;
  }
  /// Removes a row from its chain; `previous` is the row before it there, none for the first.
  void unlink(const double* keys, std::uint32_t previous, std::uint32_t row) noexcept {
    if (previous == event_table::none) heads_[chains_.find(hash(keys))] = next_[row];
    else next_[previous] = next_[row];
  }

 private:
  core::stable_key hash(const double* keys) const noexcept {
    core::stable_key h = 1;
    for (std::size_t k = 0; k < keys_; ++k) {
      const double value = keys[k] + 0.0;  // -0 and 0 are equal
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      h = core::combine(h, bits);
    }
    return h;
  }

  const event_table* table_;
  std::size_t keys_;
  bool plain_ = true;
  base::pod_vector<std::uint32_t> columns_;
  base::pod_vector<double> values_;
  base::key_map chains_;                        // hash -> index in heads_
  base::pod_vector<std::uint32_t> heads_, next_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
