#ifndef WHYWAIT_EXPLAIN_MERGING_HPP
#define WHYWAIT_EXPLAIN_MERGING_HPP

#include <whywait/explain/history.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/shape_leaders.hpp>
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
  /// `leaders`: those of earlier epochs, by key and slot; they come first, and if the run goes on new ones join them.
  /// All borrowed.
  [[gnu::cold]] merge_book(const options& settings, const rank_history& rank, const block_table& blocks,
                           class_book& classes, shape_leaders& leaders)
      : settings_(&settings), rank_(&rank), blocks_(&blocks), classes_(&classes), leaders_(&leaders) {
    shape_leaders all;
    std::vector<shape_entry> shape;
    std::vector<std::uint32_t> order, numbers;
    for (std::uint32_t c = 0; c != classes.size(); ++c) {
      std::uint32_t slot = classes.slot(c);
      if (classes.kind(c) == wait_class::rest) slot = settings.classes_per_key;
      if (classes.kind(c) == wait_class::shapeless) slot = settings.classes_per_key + 1;
      const explanation& sum = classes.sum(c);
      keys_.push_back(class_book::key_of(sum.why, sum.operation, sum.cause));
      slots_.push_back(slot);
      if (slot != open) continue;
      shape.clear();
      for (const class_book::share* s = classes.shape(c); s != classes.shape(c) + classes.shape_size(c); ++s) {
        shape.push_back({blocks[s->block].block, blocks[s->block].within, s->part});
      }
      sort_rarely(shape, [](const shape_entry& a, const shape_entry& b) {
        return a.block != b.block ? a.block < b.block : a.within < b.within;
      });
      slots_[c] = slot_among_leaders(keys_[c], shape);
      if (slots_[c] != open) continue;
      order.push_back(static_cast<std::uint32_t>(all.size()));
      all.add({keys_[c], sum.first_ns, sum.wait_ns, sum.count, 0, 0}, shape);
      numbers.push_back(c);
    }
    sort_rarely(order, [&all](std::uint32_t a, std::uint32_t b) { return all.compare(a, all, b) < 0; });
    uncovered_.reserve(all.size(), 0);
    numbers_.reserve(order.size());
    for (const std::uint32_t i : order) {
      uncovered_.add(all[i], all.shape(i));
      numbers_.push_back(numbers[i]);
    }
  }

  /// Begins a round: proposes the earliest uncovered class of every key.
  void propose() {
    best_.clear();
    for (std::size_t i = 0; i != uncovered_.size(); ++i) {
      if (slots_[numbers_[i]] == open) add_first(best_, uncovered_, i);
    }
  }
  packet pack() const {
    packet out;
    if (best_.size() != 0) best_.write(out);
    return out;
  }
  void merge(const unsigned char* data, std::size_t size) {
    if (size == 0) return;
    packet_reader in(data, size);
    shape_leaders other, both;
    other.read(in);
    both.reserve(best_.size() + other.size(), 0);
    for (std::size_t i = 0, j = 0; i != best_.size() || j != other.size();) {
      if (j == other.size() || (i != best_.size() && best_.compare(i, other, j) < 0)) {
        add_first(both, best_, i++);
      } else {
        add_first(both, other, j++);
      }
    }
    std::swap(best_, both);
  }
  /// Takes the leaders of the round; false if there were none: all classes are covered.
  bool settle(std::uint32_t round, const unsigned char* data, std::size_t size) {
    if (size == 0) return false;
    if (covered_ == numbers_.size() && !rank_->continues) return true;
    packet_reader in(data, size);
    best_.read(in);
    if (rank_->continues) fresh_.join(best_);
    std::size_t l = 0;
    for (std::size_t i = 0; i != numbers_.size(); ++i) {
      std::uint32_t& slot = slots_[numbers_[i]];
      if (slot != open) continue;
      while (l != best_.size() && best_[l].key < uncovered_[i].key) ++l;
      if (l == best_.size()) break;
      if (best_[l].key != uncovered_[i].key) continue;
      const bool is_leader = best_.compare(l, uncovered_, i) == 0;
      const std::uint32_t place = leaders_->count_of(best_[l].key) + round;
      if (is_leader || distance(best_.shape(l), uncovered_.shape(i)) <= settings_->class_distance) {
        slot = place;
      } else if (place + 1 >= settings_->classes_per_key) {
        slot = settings_->classes_per_key;  // no room for one more
      } else {
        continue;
      }
      ++covered_;
    }
    return true;
  }

  /// After the rounds, before `sum`: where class `number` of this rank belongs.
  class_clock placed(std::size_t number) const {
    class_clock c;
    c.key = keys_[number];
    c.slot = slots_[number] == open ? settings_->classes_per_key : slots_[number];
    return c;
  }
  std::size_t entries() const noexcept { return slots_.size(); }

  /// After the rounds: sums of this rank, then of everything that `add` brings. Classes that only earlier epochs had are
  /// left out.
  [[gnu::cold]] void sum() {
    std::vector<std::uint32_t> order;
    order.reserve(slots_.size());
    for (std::uint32_t c = 0; c != slots_.size(); ++c) {
      if (classes_->kind(c) == wait_class::shaped) classes_->place(c, placed(c).slot);
      if (classes_->sum(c).count != 0) order.push_back(c);
    }
    sort_rarely(order, [this](std::uint32_t a, std::uint32_t b) {
      const class_clock x = placed(a), y = placed(b);
      return x.key != y.key ? x.key < y.key : x.slot < y.slot;
    });
    std::vector<std::uint32_t> by_name(blocks_->size());
    for (std::uint32_t b = 0; b != by_name.size(); ++b) by_name[b] = b;
    sort_rarely(by_name, [this](std::uint32_t a, std::uint32_t b) {
      const block_table::name &x = (*blocks_)[a], &y = (*blocks_)[b];
      return x.block != y.block ? x.block < y.block : x.within < y.within;
    });
    merged_.reserve(order.size());
    for (const std::uint32_t number : order) {
      const class_clock at = placed(number);
      explanation whole = classes_->take(number, rank_->rank, *blocks_, by_name);
      if (!merged_.empty() && merged_.back().key == at.key && merged_.back().slot == at.slot) {
        merged_.back().merge(whole);
        continue;
      }
      merged_.emplace_back();
      merged_.back().key = at.key;
      merged_.back().slot = at.slot;
      merged_.back().sum = std::move(whole);
    }
    leaders_->join(fresh_);
    best_ = uncovered_ = fresh_ = {};
    numbers_ = {};
  }
  [[gnu::cold]] void write(packet& out) const {
    put(out, static_cast<std::uint64_t>(merged_.size()));
    for (const merged_class& c : merged_) c.write(out);
  }
  /// What another rank wrote.
  [[gnu::cold]] void add(packet_reader& in) {
    joining into(merged_);
    merged_class c;
    for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
      c.read(in);
      into.add(c);
    }
    into.end();
  }
  /// The classes of an epoch, which are used up, to those of all before it; both by key and slot.
  [[gnu::cold]] static void fold(std::vector<merged_class>& all, std::vector<merged_class>& epoch) {
    if (all.empty()) return all.swap(epoch);
    joining into(all);
    for (merged_class& c : epoch) into.add(c);
    into.end();
  }

  std::vector<merged_class>& merged() noexcept { return merged_; }

 private:
  static constexpr std::uint32_t open = wait_class::open;

  // Adds classes that come in the order of the list to it.
  class joining {
   public:
    explicit joining(std::vector<merged_class>& all) noexcept : all_(&all), mine_(all.size()) {}
    void add(merged_class& c) {
      std::vector<merged_class>& all = *all_;
      while (at_ != mine_ && all[at_] < c) ++at_;
      if (at_ != mine_ && all[at_].same(c)) {
        all[at_].merge(c.sum);
      } else {
        all.push_back(std::move(c));
      }
    }
    void end() {
      if (all_->size() != mine_) sort_rarely(*all_);
    }

   private:
    std::vector<merged_class>* all_;
    std::size_t mine_, at_ = 0;
  };

  // The first of an earlier epoch that covers it; with all slots taken that of the rest.
  std::uint32_t slot_among_leaders(core::stable_key key, shape_view shape) const noexcept {
    std::uint32_t slot = 0;
    for (std::size_t i = leaders_->first_of(key); i != leaders_->size() && (*leaders_)[i].key == key; ++i, ++slot) {
      if (distance(leaders_->shape(i), shape) <= settings_->class_distance) return slot;
    }
    return slot >= settings_->classes_per_key ? settings_->classes_per_key : open;
  }

  // Leaders come in their order; the first of each key stays.
  static void add_first(shape_leaders& to, const shape_leaders& from, std::size_t i) {
    if (to.size() == 0 || to[to.size() - 1].key != from[i].key) to.add(from[i], from.shape(i));
  }

  const options* settings_;
  const rank_history* rank_;
  const block_table* blocks_;
  class_book* classes_;
  shape_leaders* leaders_;               ///< of earlier epochs
  shape_leaders fresh_;                  ///< of this one, if others follow
  std::vector<std::uint32_t> slots_;     ///< by class: its leader, then the rest, then those without a shape
  std::vector<core::stable_key> keys_;   ///< by class
  shape_leaders uncovered_;              ///< the classes that look for a leader, in canonical order
  std::vector<std::uint32_t> numbers_;   ///< which classes they are
  std::size_t covered_ = 0;              ///< how many have found one
  shape_leaders best_;
  std::vector<merged_class> merged_;     ///< by key and slot
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
