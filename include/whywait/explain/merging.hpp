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
  /// `leaders`: those of earlier epochs, by key and slot; they come first, and new ones join them. Borrowed.
  merge_book(const options& settings, const block_table& blocks, std::vector<wait_class>& classes,
             std::vector<shape_leader>& leaders)
      : settings_(&settings), classes_(&classes), leaders_(&leaders) {
    for (wait_class& c : classes) {
      entry e;
      e.slot = c.slot;
      e.leader.key = class_book::key_of(c.sum.why, c.sum.operation, c.sum.cause);
      e.leader.first_ns = c.sum.first_ns;
      e.leader.wait_ns = c.sum.wait_ns;
      e.leader.count = c.sum.count;
      for (const wait_class::share& s : c.shape) {
        e.leader.shape.push_back({blocks[s.first].block, blocks[s.first].within, s.second});
      }
      sort_rarely(e.leader.shape, [](const shape_entry& a, const shape_entry& b) {
        return std::tie(a.block, a.within) < std::tie(b.block, b.within);
      });
      if (c.kind == wait_class::rest) e.slot = settings.classes_per_key;
      if (c.kind == wait_class::shapeless) e.slot = settings.classes_per_key + 1;
      if (e.slot == open) e.slot = slot_among_leaders(e.leader);
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
  bool settle(const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    best_.clear();
    while (!in.empty()) best_.push_back(get_leader(in));
    std::vector<std::uint32_t> slots;
    for (const shape_leader& l : best_) {
      const auto first = std::lower_bound(leaders_->begin(), leaders_->end(), l.key, before_key);
      auto last = first;
      while (last != leaders_->end() && last->key == l.key) ++last;
      slots.push_back(static_cast<std::uint32_t>(last - first));
      leaders_->insert(last, l);
    }
    for (entry& e : entries_) {
      if (e.slot != open) continue;
      const auto leader = std::lower_bound(best_.begin(), best_.end(), e.leader.key, before_key);
      if (leader == best_.end() || leader->key != e.leader.key) continue;
      const bool is_leader = !(*leader < e.leader) && !(e.leader < *leader);
      if (is_leader || distance(leader->shape, e.leader.shape) <= settings_->class_distance) {
        e.slot = slots[static_cast<std::size_t>(leader - best_.begin())];
      } else if (slots[static_cast<std::size_t>(leader - best_.begin())] + 1 >= settings_->classes_per_key) {
        e.slot = settings_->classes_per_key;  // no room for one more
      }
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
    for (std::size_t i = 0; i != entries_.size(); ++i) {
      wait_class& from = (*classes_)[i];
      merged_class c;
      c.key = entries_[i].leader.key;
      c.slot = entries_[i].slot == open ? settings_->classes_per_key : entries_[i].slot;
      if (from.kind == wait_class::shaped) from.slot = c.slot;
      if (from.sum.count == 0) continue;  // only earlier epochs had it
      c.sum = std::move(from.sum);
      from.restart();
      sort_rarely(c.sum.residual, [](const residual_term& a, const residual_term& b) {
        return std::tie(a.block, a.within) < std::tie(b.block, b.within);
      });
      merged_.push_back(std::move(c));
    }
    entries_.clear();
    join(merged_);
  }
  void write(packet& out) const {
    put(out, static_cast<std::uint64_t>(merged_.size()));
    for (const merged_class& c : merged_) c.write(out);
  }
  void add(packet_reader& in) {
    for (auto n = in.get<std::uint64_t>(); n != 0; --n) merged_.push_back(merged_class::read(in));
    join(merged_);
  }

  std::vector<merged_class>& merged() noexcept { return merged_; }

  /// Adds up classes of one key and slot.
  static void join(std::vector<merged_class>& all) {
    sort_rarely(all);
    std::size_t kept = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (kept != 0 && all[kept - 1].same(all[i])) {
        all[kept - 1].merge(all[i].sum);
      } else {
        if (kept != i) all[kept] = std::move(all[i]);
        ++kept;
      }
    }
    all.resize(kept);
  }

 private:
  static constexpr std::uint32_t open = wait_class::open;

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

  static bool before_key(const shape_leader& l, core::stable_key key) noexcept { return l.key < key; }

  // The first that covers it; with all slots taken that of the rest.
  std::uint32_t slot_among_leaders(const shape_leader& l) const {
    std::uint32_t slot = 0;
    auto at = std::lower_bound(leaders_->begin(), leaders_->end(), l.key, before_key);
    for (; at != leaders_->end() && at->key == l.key; ++at, ++slot) {
      if (distance(at->shape, l.shape) <= settings_->class_distance) return slot;
    }
    return slot >= settings_->classes_per_key ? settings_->classes_per_key : open;
  }

  const options* settings_;
  std::vector<wait_class>* classes_;
  std::vector<shape_leader>* leaders_;
  std::vector<entry> entries_;
  std::vector<shape_leader> best_;
  std::vector<merged_class> merged_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
