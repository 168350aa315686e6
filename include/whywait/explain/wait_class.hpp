#ifndef WHYWAIT_EXPLAIN_WAIT_CLASS_HPP
#define WHYWAIT_EXPLAIN_WAIT_CLASS_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Adds to a bounded list of locations; what does not fit goes to rank -1.
inline void add_share(std::vector<location_share>& list, const location_share& share, std::size_t limit = 64) {
  for (location_share& known : list) {
    if (known.rank == share.rank && known.thread == share.thread) {
      known.ns += share.ns;
      return;
    }
  }
  if (list.size() < limit || share.rank < 0) {
    list.push_back(share);
    return;
  }
  add_share(list, {-1, 0, share.ns}, limit);
}

/// Waits of one location with one key and one shape, as they accumulate. `terms` holds every block.
struct wait_class {
  enum kind_t : std::uint8_t { shaped, rest, shapeless };
  static constexpr std::uint32_t open = 0xffffffffu;
  using share = std::pair<std::uint32_t, double>;  ///< block number, part of the absolute differences

  explanation sum;
  kind_t kind = shaped;
  std::uint32_t location = 0;
  std::vector<share> shape;             ///< of the first instance: frozen (definitions 1.7)
  std::vector<std::uint32_t> position;  ///< block number -> index in sum.residual + 1
  std::uint32_t slot = open;            ///< of its leader (merging.hpp), once that is known

  /// Keeps its shape and place only: for the waits of the next epoch.
  [[gnu::cold]] void restart() {
    explanation fresh;
    fresh.why = sum.why;
    fresh.operation = sum.operation;
    fresh.cause = sum.cause;
    sum = std::move(fresh);
    position.clear();
  }
};

/// The classes of one rank. Merged on line, so memory grows with distinct (pattern, operation, cause, shape)
/// and not with waits. Waits of one location are added in their order; the result does not depend on how
/// locations interleave. Not thread safe.
class class_book {
 public:
  class_book() = default;
  explicit class_book(const options& settings) : settings_(&settings) {}
  /// Those of the next epoch; borrowed.
  void use(const options& settings) noexcept { settings_ = &settings; }

  /// An explained wait. `blocks[i]` is the number of the block of `wait.terms[i]`. Returns the number of its class.
  std::uint32_t add(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                    std::int64_t thread_of_waiter, std::int64_t thread_of_causer,
                    const std::vector<std::uint32_t>& blocks, std::size_t block_count) {
    double whole = 0;
    for (const residual_term& term : wait.terms) whole += static_cast<double>(std::abs(term.total_ns));
    if (shares_.size() < block_count) shares_.resize(block_count, 0);
    if (whole > 0) {
      for (std::size_t i = 0; i != blocks.size(); ++i) {
        shares_[blocks[i]] = static_cast<double>(std::abs(wait.terms[i].total_ns)) / whole;
      }
    }
    wait_class& into = choose(wait, operation, cause, blocks);
    for (const std::uint32_t b : blocks) shares_[b] = 0;
    count(into.sum, wait, thread_of_waiter, thread_of_causer);
    if (into.position.size() < block_count) into.position.resize(block_count, 0);
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      std::uint32_t& at = into.position[blocks[i]];
      if (at == 0) {
        into.sum.residual.push_back(wait.terms[i]);
        at = static_cast<std::uint32_t>(into.sum.residual.size());
      } else {
        accumulate(into.sum.residual[at - 1], wait.terms[i]);
      }
      into.sum.indirect_ns += wait.terms[i].inherited_ns;
    }
    return static_cast<std::uint32_t>(&into - classes_.data());
  }

  /// A wait that is only summed: below the threshold, or its cause came too late by the clocks.
  std::uint32_t add_unexplained(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                                std::int64_t thread_of_waiter, std::int64_t thread_of_causer) {
    wait_class& into = find(wait, operation, cause, wait_class::shapeless);
    count(into.sum, wait, thread_of_waiter, thread_of_causer);
    into.sum.unexplained_ns += wait.wait_ns;
    return static_cast<std::uint32_t>(&into - classes_.data());
  }

  std::vector<wait_class>& classes() noexcept { return classes_; }

  static void accumulate(residual_term& into, const residual_term& from) noexcept {
    into.total_ns += from.total_ns;
    into.visits_ns += from.visits_ns;
    into.speed_ns += from.speed_ns;
    into.inherited_ns += from.inherited_ns;
    into.causer_visits += from.causer_visits;
    into.waiter_visits += from.waiter_visits;
    into.causer_work += from.causer_work;
    into.waiter_work += from.waiter_work;
    into.causer_ns += from.causer_ns;
    into.waiter_ns += from.waiter_ns;
  }

  static core::stable_key key_of(pattern why, core::stable_key operation, core::stable_key cause) noexcept {
    return core::combine(core::combine(operation, cause), static_cast<std::uint64_t>(why) + 1);
  }

 private:
  void count(explanation& into, const wait_instance& wait, std::int64_t waiter_thread, std::int64_t causer_thread) {
    into.trust = std::max(into.trust, wait.trust);
    into.first_ns = into.count == 0 ? wait.begin_ns : std::min(into.first_ns, wait.begin_ns);
    ++into.count;
    into.wait_ns += wait.wait_ns;
    into.longest_ns = std::max(into.longest_ns, wait.wait_ns);
    if (wait.explained) {
      const wait_sample sample{wait.wait_ns,         wait.begin_ns,       wait.since_ns,
                               wait.rank,            wait.causer_rank,    wait.location,
                               wait.causer_location, wait.record,         wait.causer_record};
      if (sample.outweighs(into.longest)) into.longest = sample;
    }
    if (wait.wrong_order) {
      ++into.wrong_order_count;
      into.wrong_order_ns += wait.wait_ns;
    }
    add_share(into.waiters, {wait.rank, static_cast<std::int32_t>(waiter_thread), wait.wait_ns});
    add_share(into.causers, {wait.causer_rank, static_cast<std::int32_t>(causer_thread), wait.wait_ns});
  }

  // Total variation over the union of blocks; the instance's shares lie in `shares_`.
  double distance(const wait_class& c) const noexcept {
    double apart = 0, met = 0, shape = 0;
    for (const wait_class::share& s : c.shape) {
      apart += std::fabs(s.second - shares_[s.first]);
      met += shares_[s.first];
      shape += s.second;
    }
    return shape > 0 ? (apart + std::max(0.0, 1 - met)) / 2 : 1;
  }

  std::vector<std::uint32_t>& members(const wait_instance& wait, core::stable_key operation, core::stable_key cause) {
    const core::stable_key key = core::combine(key_of(wait.why, operation, cause), wait.location);
    const auto fresh = static_cast<std::uint32_t>(members_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) members_.emplace_back();
    return members_[number];
  }

  wait_class& make(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                   wait_class::kind_t kind, std::vector<std::uint32_t>& group) {
    group.push_back(static_cast<std::uint32_t>(classes_.size()));
    classes_.emplace_back();
    wait_class& fresh = classes_.back();
    fresh.sum.why = wait.why;
    fresh.sum.operation = operation;
    fresh.sum.cause = cause;
    fresh.kind = kind;
    fresh.location = wait.location;
    return fresh;
  }

  wait_class& find(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                   wait_class::kind_t kind) {
    std::vector<std::uint32_t>& group = members(wait, operation, cause);
    for (const std::uint32_t c : group) {
      if (classes_[c].kind == kind) return classes_[c];
    }
    return make(wait, operation, cause, kind, group);
  }

  wait_class& choose(const wait_instance& wait, core::stable_key operation, core::stable_key cause,
                     const std::vector<std::uint32_t>& blocks) {
    std::vector<std::uint32_t>& group = members(wait, operation, cause);
    std::uint32_t shaped = 0;
    for (const std::uint32_t c : group) {
      if (classes_[c].kind != wait_class::shaped) continue;
      ++shaped;
      if (distance(classes_[c]) <= settings_->class_distance) return classes_[c];
    }
    if (shaped >= settings_->classes_per_key) return find(wait, operation, cause, wait_class::rest);
    wait_class& fresh = make(wait, operation, cause, wait_class::shaped, group);
    for (const std::uint32_t b : blocks) {
      if (shares_[b] > 0) fresh.shape.emplace_back(b, shares_[b]);
    }
    return fresh;
  }

  const options* settings_ = nullptr;
  std::vector<wait_class> classes_;
  key_map numbers_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<double> shares_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
