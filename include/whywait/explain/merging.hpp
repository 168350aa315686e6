#ifndef WHYWAIT_EXPLAIN_MERGING_HPP
#define WHYWAIT_EXPLAIN_MERGING_HPP

#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/merge_scratch.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/shape_leaders.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/explain/wait_class.hpp>

#include <cmath>
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
  /// `scratch`: of the process. All borrowed.
  merge_book(const options& settings, const rank_history& rank, const block_table& blocks, class_book& classes,
             shape_leaders& leaders, merge_scratch& scratch)
      : settings_(&settings),
        rank_(&rank),
        blocks_(&blocks),
        classes_(&classes),
        leaders_(&leaders),
        scratch_(&scratch),
        by_name_(blocks.size()) {
    for (std::uint32_t b = 0; b != by_name_.size(); ++b) by_name_[b] = b;
    sort_short(by_name_, [&blocks](std::uint32_t a, std::uint32_t b) { return blocks[a].before(blocks[b]); });
    list_uncovered();
    propose();
  }

  /// What this rank and those whose proposals were merged propose in this round; once.
  packet pack() {
    catch_up();
    return std::move(best_);
  }
  void merge(const unsigned char* data, std::size_t size) {
    catch_up();
    leader_reader mine(best_.data(), best_.size()), other(data, size);
    packet& both = scratch_->joined;
    both.clear();
    both.reserve(best_.size() + size);
    while (!mine.done() || !other.done()) {
      const bool own = other.done() || (!mine.done() && mine.head().key < other.head().key);
      const bool same = !mine.done() && !other.done() && mine.head().key == other.head().key;
      leader_reader& first = own || (same && mine.before(other)) ? mine : other;
      detail::put_bytes(both, first.bytes(), first.size());
      if (own || same) mine.next();
      if (!own) other.next();
    }
    best_.swap(both);
  }

  /// Goes on to the round after the last one whose leaders are known (merge_scratch::leaders): a rank does so when it is
  /// its turn in what comes next, and is read only once for both.
  void catch_up() {
    if (settled_ == scratch_->leaders.size()) return;
    while (settled_ != scratch_->leaders.size()) settle();
    propose();
  }

  /// After the rounds and `catch_up`, before `write`: where class `number` of this rank belongs.
  class_clock placed(std::size_t number) const noexcept {
    class_clock c;
    c.key = classes_->key(number);
    c.slot = slot_of(number);
    return c;
  }
  std::size_t entries() const noexcept { return classes_->size(); }

  /// After the rounds: appends the sums of this rank and of everything that `add` brought, as in class_packet.hpp. Once.
  void write(packet& out) {
    if (!summed_) return sum(out);
    detail::put_bytes(out, sums_.data(), sums_.size());
  }
  /// What another rank wrote.
  void add(const unsigned char* data, std::size_t size) {
    if (!summed_) sum(sums_);
    join_classes(sums_, data, size, *scratch_);
  }
  /// On rank 0: all classes, by key and slot.
  [[gnu::cold]] std::vector<merged_class>& merged() {
    if (!summed_) sum(sums_);
    for (class_reader in(sums_.data(), sums_.size()); !in.done(); in.next()) merged_.emplace_back(in);
    sums_.clear();
    return merged_;
  }

  /// The classes of an epoch, which are used up, to those of all before it; both by key and slot.
  [[gnu::cold]] static void fold(std::vector<merged_class>& all, std::vector<merged_class>& epoch) {
    if (all.empty()) return all.swap(epoch);
    const std::size_t known = all.size();
    std::size_t at = 0;
    for (merged_class& c : epoch) {
      while (at != known && all[at] < c) ++at;
      if (at != known && all[at].same(c)) {
        all[at].merge(c.sum);
      } else {
        all.push_back(std::move(c));
      }
    }
    if (all.size() != known) sort_rarely(all);
  }

 private:
  static constexpr std::uint32_t open = class_book::open;

  // A class that looks for a leader.
  struct candidate {
    core::stable_key key;
    std::uint32_t number;
  };

  // The rest if there was no leader.
  std::uint32_t slot_of(std::size_t number) const noexcept {
    if (classes_->kind(number) == class_book::shapeless) return settings_->classes_per_key + 1;
    const std::uint32_t slot = classes_->slot(number);
    return slot == open ? settings_->classes_per_key : slot;
  }

  // Those that no leader of an earlier epoch covers, in canonical order.
  void list_uncovered() {
    for (std::uint32_t c = 0; c != classes_->size(); ++c) {
      if (classes_->kind(c) != class_book::shaped || classes_->slot(c) != open) continue;
      const core::stable_key key = classes_->key(c);
      classes_->sort_shape(c, [this](std::uint32_t a, std::uint32_t b) { return (*blocks_)[a].before((*blocks_)[b]); });
      if (leaders_->size() != 0) classes_->place(c, slot_among_leaders(key, c));
      if (classes_->slot(c) != open) continue;
      if (open_.empty()) open_.reserve(classes_->size() - c);
      open_.push_back({key, c});
    }
    sort_short(open_, [this](const candidate& a, const candidate& b) {
      if (a.key != b.key) return a.key < b.key;
      const class_sums &x = classes_->sums(a.number), &y = classes_->sums(b.number);
      if (x.first_ns != y.first_ns) return x.first_ns < y.first_ns;
      return before(a, b);
    });
  }
  [[gnu::cold]] bool before(const candidate& a, const candidate& b) const {
    packet first, second;
    write(first, a);
    write(second, b);
    return leader_reader(first.data(), first.size()).before({second.data(), second.size()});
  }

  // As it travels; the shape is by name.
  void write(packet& out, const candidate& c) const {
    const class_sums& sums = classes_->sums(c.number);
    const class_book::share* const shape = classes_->shape(c.number);
    const std::size_t size = classes_->shape_size(c.number);
    put(out, shape_leader{c.key, sums.first_ns, sums.wait_ns, sums.count, 0, static_cast<std::uint32_t>(size)});
    for (std::size_t i = 0; i != size; ++i) {
      const block_table::name& name = (*blocks_)[shape[i].block];
      put(out, shape_entry{name.block, name.within, shape[i].part});
    }
  }

  // The first of an earlier epoch that covers it; with all slots taken that of the rest.
  [[gnu::cold]] std::uint32_t slot_among_leaders(core::stable_key key, std::uint32_t number) const {
    packet named;
    write(named, {key, number});
    const leader_reader mine(named.data(), named.size());
    std::uint32_t slot = 0;
    for (std::size_t i = leaders_->first_of(key); i != leaders_->size() && (*leaders_)[i].key == key; ++i, ++slot) {
      if (distance(leaders_->shape(i), mine.shape()) <= settings_->class_distance) return slot;
    }
    return slot >= settings_->classes_per_key ? settings_->classes_per_key : open;
  }

  // The earliest of every key that is still uncovered.
  void propose() {
    best_.clear();
    if (settled_ == settings_->classes_per_key) return;
    std::vector<std::uint32_t>& first = scratch_->order;
    first.clear();
    std::size_t size = 0;
    for (std::uint32_t i = 0; i != open_.size(); ++i) {
      if (i != 0 && open_[i].key == open_[i - 1].key) continue;
      first.push_back(i);
      size += sizeof(shape_leader) + classes_->shape_size(open_[i].number) * sizeof(shape_entry);
    }
    best_.reserve(size);
    for (const std::uint32_t i : first) write(best_, open_[i]);
  }

  // One round: each class that still looks for a leader joins that of its key, if it is near.
  void settle() {
    const std::uint32_t round = settled_++;
    if (open_.empty()) return;
    const packet& leaders = scratch_->leaders[round];
    std::size_t left = 0, at = 0;
    for (leader_reader leader(leaders.data(), leaders.size()); !leader.done(); leader.next()) {
      for (; at != open_.size() && open_[at].key < leader.head().key; ++at) open_[left++] = open_[at];
      if (at == open_.size() || open_[at].key != leader.head().key) continue;
      const std::uint32_t place = leaders_->count_of(leader.head().key) + round;
      spread(leader.shape());
      for (; at != open_.size() && open_[at].key == leader.head().key; ++at) {
        const candidate& c = open_[at];
        if (near(leader, c)) {
          classes_->place(c.number, place);
        } else if (place + 1 >= settings_->classes_per_key) {
          classes_->place(c.number, settings_->classes_per_key);  // no room for one more
        } else {
          open_[left++] = c;
        }
      }
      for (const std::uint32_t b : scratch_->order) scratch_->parts[b] = 0;
    }
    for (; at != open_.size(); ++at) open_[left++] = open_[at];
    open_.resize(left);
  }

  // A shape into the scratch, by number of the block; what is unknown here is left out.
  void spread(shape_view shape) {
    std::vector<double>& parts = scratch_->parts;
    std::vector<std::uint32_t>& blocks = scratch_->order;
    if (parts.size() < blocks_->size()) parts.resize(blocks_->size(), 0);
    blocks.clear();
    for (std::size_t i = 0; i != shape.size(); ++i) {
      const shape_entry e = shape[i];
      const std::uint32_t b = blocks_->find(e.block, e.within);
      if (b == key_map::none) continue;
      parts[b] = e.share;
      blocks.push_back(b);
    }
  }

  // Is its shape near that of the leader, which is spread out? The order in which the ranks met the blocks could decide
  // by its rounding what is just at the limit: there they are compared by name.
  bool near(const leader_reader& leader, const candidate& c) const {
    const double more = classes_->distance(c.number) - settings_->class_distance;
    return std::fabs(more) > 1e-6 && leader.shape().size() != 0 ? more < 0 : near_by_name(leader, c);
  }
  [[gnu::cold]] bool near_by_name(const leader_reader& leader, const candidate& c) const {
    packet named;
    write(named, c);
    return distance(leader.shape(), leader_reader(named.data(), named.size()).shape()) <= settings_->class_distance;
  }

  void sum(packet& out) {
    catch_up();
    summed_ = true;
    using placed_class = merge_scratch::placed_class;
    std::vector<placed_class>& all = scratch_->placed;
    all.clear();
    for (std::uint32_t c = 0; c != classes_->size(); ++c) {
      const std::uint32_t slot = slot_of(c);
      if (classes_->kind(c) == class_book::shaped) classes_->place(c, slot);
      if (classes_->sums(c).count != 0) all.push_back({classes_->key(c), slot, c});
    }
    sort_short(all, [](const placed_class& a, const placed_class& b) {
      return a.key != b.key ? a.key < b.key : a.slot < b.slot;
    });
    out.reserve(out.size() + all.size() * (sizeof(packed_class) + sizeof(location_share)) +
                classes_->terms() * sizeof(packed_term) + classes_->causers() * sizeof(location_share));
    for (std::size_t i = 0, j = 0; i != all.size(); i = j) {
      for (j = i + 1; j != all.size() && all[j].key == all[i].key && all[j].slot == all[i].slot;) ++j;
      write_class(out, i, j);
    }
    if (rank_->continues) {
      for (const packet& leaders : scratch_->leaders) leaders_->join({leaders.data(), leaders.size()});
      classes_->begin_anew();
    } else {
      *classes_ = {};
    }
    open_ = {};
  }

  // Classes of this rank that are one now: some of scratch_->placed.
  void write_class(packet& out, std::size_t first, std::size_t last) {
    std::vector<term_sums>& terms = scratch_->terms;
    std::vector<unsigned char>& used = scratch_->used;
    if (used.size() < by_name_.size()) {
      used.resize(by_name_.size(), 0);
      terms.resize(by_name_.size());
    }
    scratch_->waiters.clear();
    scratch_->causers.clear();
    packed_class head;
    head.key = scratch_->placed[first].key;
    head.slot = scratch_->placed[first].slot;
    for (std::size_t i = first; i != last; ++i) {
      const std::uint32_t c = scratch_->placed[i].number;
      const class_sums& sums = classes_->sums(c);
      if (i == first) {
        head.sums = sums;
      } else {
        head.sums.add(sums);
      }
      add_share(scratch_->waiters, {rank_->rank, static_cast<std::int32_t>(classes_->location(c)), sums.wait_ns});
      classes_->each_causer(c, [this](const location_share& share) { add_share(scratch_->causers, share); });
      classes_->each_term(c, [&](std::uint32_t block, const term_sums& t) {
        if (used[block] == 0) terms[block] = {};
        used[block] = 1;
        terms[block].add(t);
      });
    }
    const std::size_t at = out.size();
    put(out, head);
    for (const std::uint32_t b : by_name_) {
      if (used[b] == 0) continue;
      used[b] = 0;
      put(out, packed_term{(*blocks_)[b].block, (*blocks_)[b].within, terms[b]});
      ++head.terms;
    }
    detail::finish_class(out, at, head, *scratch_);
  }

  const options* settings_;
  const rank_history* rank_;
  const block_table* blocks_;
  class_book* classes_;
  shape_leaders* leaders_;              ///< of earlier epochs
  merge_scratch* scratch_;
  std::vector<std::uint32_t> by_name_;  ///< the numbers of all blocks
  std::vector<candidate> open_;         ///< classes that have found no leader yet, in canonical order
  packet best_;                         ///< what is proposed: by key, one each
  std::uint32_t settled_ = 0;           ///< rounds
  packet sums_;                         ///< as in class_packet.hpp
  bool summed_ = false;
  std::vector<merged_class> merged_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
