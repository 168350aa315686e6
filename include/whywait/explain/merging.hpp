#ifndef WHYWAIT_EXPLAIN_MERGING_HPP
#define WHYWAIT_EXPLAIN_MERGING_HPP

#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Merges the classes of all ranks (definitions 1.7). Per key the earliest class that no leader covers yet
/// becomes the next leader, on all ranks alike: one reduction and one broadcast per round, at most
/// `classes_per_key` rounds. Every class then goes to the first leader within `class_distance`, and the rest
/// is addition. So the outcome depends neither on rank numbers nor on the shape of the tree.
class merge_book {
 public:
  merge_book(const options& settings, std::int32_t rank, const block_table& blocks, class_book& classes)
      : settings_(&settings), rank_(rank), blocks_(&blocks), classes_(&classes) {
    entries_.reserve(classes.size());
    for (std::size_t c = 0; c != classes.size(); ++c) {
      const explanation& sum = classes.sum(c);
      entry e;
      e.leader.key = class_book::key_of(sum.why, sum.operation, sum.cause);
      e.leader.first_ns = sum.first_ns;
      e.leader.wait_ns = sum.wait_ns;
      e.leader.count = sum.count;
      e.leader.shape.reserve(classes.shape_size(c));
      for (const class_book::share* s = classes.shape(c); s != classes.shape(c) + classes.shape_size(c); ++s) {
        e.leader.shape.push_back({blocks[s->block].block, blocks[s->block].within, s->part});
      }
      sort_rarely(e.leader.shape, [](const shape_entry& a, const shape_entry& b) {
        return std::tie(a.block, a.within) < std::tie(b.block, b.within);
      });
      if (classes.kind(c) == wait_class::rest) e.slot = settings.classes_per_key;
      if (classes.kind(c) == wait_class::shapeless) e.slot = settings.classes_per_key + 1;
      entries_.push_back(std::move(e));
    }
  }

  /// Begins a round: proposes the earliest uncovered class of every key.
  void propose() {
    best_.clear();
    for (const entry& e : entries_) {
      if (e.slot == open) best_.push_back(e.leader);
    }
    earliest_per_key();
  }
  packet pack() const {
    packet out;
    for (const shape_leader& l : best_) put_leader(out, l);
    return out;
  }
  void merge(const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    while (!in.empty()) best_.push_back(get_leader(in));
    earliest_per_key();
  }
  /// Takes the leaders of the round; false if there were none: all classes are covered.
  bool settle(std::uint32_t round, const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    best_.clear();
    while (!in.empty()) best_.push_back(get_leader(in));
    for (entry& e : entries_) {
      if (e.slot != open) continue;
      const auto leader = std::lower_bound(best_.begin(), best_.end(), e.leader.key,
                                           [](const shape_leader& l, core::stable_key key) { return l.key < key; });
      if (leader == best_.end() || leader->key != e.leader.key) continue;
      const bool is_leader = !(*leader < e.leader) && !(e.leader < *leader);
      if (is_leader || distance(leader->shape, e.leader.shape) <= settings_->class_distance) e.slot = round;
    }
    return !best_.empty();
  }

  /// After the rounds, before `sum`: where class `number` of this rank belongs.
  class_clock placed(std::size_t number) const {
    class_clock c;
    c.key = entries_[number].leader.key;
    c.slot = entries_[number].slot == open ? settings_->classes_per_key : entries_[number].slot;
    return c;
  }
  std::size_t entries() const noexcept { return entries_.size(); }

  /// After the rounds: sums of this rank, then of everything that `add` brings.
  void sum() {
    merged_.reserve(entries_.size());
    for (std::size_t i = 0; i != entries_.size(); ++i) {
      merged_class c;
      c.key = entries_[i].leader.key;
      c.slot = entries_[i].slot == open ? settings_->classes_per_key : entries_[i].slot;
      c.sum = classes_->take(i, rank_, *blocks_);
      sort_rarely(c.sum.residual, [](const residual_term& a, const residual_term& b) {
        return std::tie(a.block, a.within) < std::tie(b.block, b.within);
      });
      merged_.push_back(std::move(c));
    }
    entries_.clear();
    join();
  }
  void write(packet& out) const {
    put(out, static_cast<std::uint64_t>(merged_.size()));
    for (const merged_class& c : merged_) c.write(out);
  }
  void add(packet_reader& in) {
    for (auto n = in.get<std::uint64_t>(); n != 0; --n) merged_.push_back(merged_class::read(in));
    join();
  }

  std::vector<merged_class>& merged() noexcept { return merged_; }

 private:
  static constexpr std::uint32_t open = 0xffffffffu;

  struct entry {
    shape_leader leader;
    std::uint32_t slot = open;
  };

  void earliest_per_key() {
    sort_rarely(best_);
    best_.erase(std::unique(best_.begin(), best_.end(),
                            [](const shape_leader& a, const shape_leader& b) { return a.key == b.key; }),
                best_.end());
  }

  void join() {
    sort_rarely(merged_);
    std::size_t kept = 0;
    for (std::size_t i = 0; i != merged_.size(); ++i) {
      if (kept != 0 && merged_[kept - 1].same(merged_[i])) {
        merged_[kept - 1].merge(merged_[i].sum);
      } else {
        if (kept != i) merged_[kept] = std::move(merged_[i]);
        ++kept;
      }
    }
    merged_.resize(kept);
  }

  const options* settings_;
  std::int32_t rank_;
  const block_table* blocks_;
  class_book* classes_;
  std::vector<entry> entries_;
  std::vector<shape_leader> best_;
  std::vector<merged_class> merged_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
