#ifndef WHYWAIT_EXPLAIN_MERGING_HPP
#define WHYWAIT_EXPLAIN_MERGING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/prefetch.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/leader_search.hpp>
#include <whywait/explain/merge_scratch.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/name_order.hpp>
#include <whywait/explain/rank_classes.hpp>
#include <whywait/explain/shape_leaders.hpp>
#include <whywait/explain/wait_class.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Merges the classes of all ranks (definitions 1.7). Per key the earliest class that no leader covers yet
/// becomes the next leader, on all ranks alike: one reduction and one broadcast per round, at most
/// `classes_per_key` rounds. Every class then goes to the first leader within `class_distance`, and the rest
/// is addition. So the outcome depends neither on rank numbers nor on the shape of the tree.
///
/// One for all ranks that a process hosts, each of which hands over its classes when it has all its waits. Calls in this order:
/// `take` for each rank; in each round `propose`, `pack`, `merge`, `settle`; `close`; `write`, `add` and `merged`.
class merge_book {
 public:
  /// For `hosted` ranks. `leaders`: those of earlier epochs, by key and slot; they come first, and if the run goes on new
  /// ones join them. `scratch`: of the process. All borrowed.
  merge_book(const options& settings, std::size_t hosted, shape_leaders& leaders, merge_scratch& scratch)
      : settings_(&settings),
        leaders_(&leaders),
        scratch_(&scratch),
        search_(settings, leaders, scratch),
        parts_(new part[hosted]),
        hosted_(hosted) {}

  /// All classes of the rank with that number among the hosted ones. If the run goes on, `classes` begins anew, and learns
  /// later where they belong, so it is borrowed; else it is empty then.
  void take(std::size_t number, const rank_history& rank, const block_table& blocks, class_book& classes) {
    part& mine = parts_[number];
    mine.rank = &rank;
    mine.blocks = &blocks;
    mine.first = search_.size();
    mine.all = rank_classes(classes, scratch_->memory);
    for (std::uint32_t c = 0; c != classes.size(); ++c) {
      if (classes.kind(c) == class_book::shapeless) {
        search_.add(settings_->classes_per_key + 1);
      } else if (classes.kind(c) == class_book::rest) {
        search_.add(settings_->classes_per_key);
      } else if (classes.slot(c) != class_book::open) {
        search_.add(classes.slot(c));
      } else {
        const rank_classes::one& taken = mine.all[c];
        search_.add(taken.key, taken.sums, mine.all.shape_of(taken), classes.shape_size(c), blocks);
      }
    }
    if (rank.continues) {
      mine.book = &classes;
      classes.begin_anew();
    } else {
      classes = {};
    }
  }

  /// A round begins.
  void propose() { search_.propose(best_); }
  /// What is proposed here in this round and what came from others, but for what was packed before.
  base::packet pack() noexcept { return std::move(best_); }
  void merge(const unsigned char* data, std::size_t size) {
    if (size == 0) return;
    leader_reader mine(best_.data(), best_.size()), other(data, size);
    base::packet& both = scratch_->joined;
    both.clear();
    both.reserve(best_.size() + size);
    while (!mine.done() || !other.done()) {
      const bool own = other.done() || (!mine.done() && mine.head().key < other.head().key);
      const bool same = !mine.done() && !other.done() && mine.head().key == other.head().key;
      leader_reader& first = own || (same && mine.before(other)) ? mine : other;
      base::put_bytes(both, first.bytes(), first.size());
      if (own || same) mine.next();
      if (!own) other.next();
    }
    best_.swap(both);
  }
  /// And ends: with the leaders that all ranks have found.
  void settle(const base::packet& leaders) {
    search_.settle(leaders);
    base::put_bytes(found_, leaders.data(), leaders.size());
    ends_.push_back(found_.size());
  }

  /// After the last round: every class has its place.
  void close() {
    search_.close();
    if (hosted_ == 0 || !parts_[0].rank->continues) return;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      leaders_->join({found_.data() + begin, end - begin});
      begin = end;
    }
  }
  /// f(number of a class in its class book, class_clock) for each of one rank.
  template <class F>
  void each_place(std::size_t number, F&& f) const {
    const part& mine = parts_[number];
    for (std::uint32_t c = 0; c != mine.all.size(); ++c) f(c, class_clock{mine.all[c].key, slot(mine.first + c)});
  }

  /// Appends the sums of one rank and of everything that `add` brought it, as in class_packet.hpp. Once.
  void write(std::size_t number, base::packet& out) {
    part& mine = parts_[number];
    if (!mine.summed) return sum(number, out);
    base::put_bytes(out, mine.sums.data(), mine.sums.size());
    mine.sums = {};
  }
  /// What another rank wrote.
  void add(std::size_t number, const unsigned char* data, std::size_t size) {
    part& mine = parts_[number];
    if (!mine.summed) sum(number, mine.sums);
    explain::join_classes(mine.sums, data, size, *scratch_);
  }
  /// On rank 0: all classes, by key and slot.
  base::vector<merged_class>& merged() {
    part& mine = parts_[0];
    if (!mine.summed) sum(0, mine.sums);
    for (class_reader in(mine.sums.data(), mine.sums.size()); !in.done(); in.next()) merged_.emplace_back(in);
    mine.sums = {};
    return merged_;
  }

  /// The classes of an epoch, which are used up, to those of all before it; both by key and slot.
  static void fold(base::vector<merged_class>& all, base::vector<merged_class>& epoch) {
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
    if (all.size() != known) base::small_stable_sort(all);
  }

 private:
  // One rank.
  struct part {
    const rank_history* rank = nullptr;
    const block_table* blocks = nullptr;
    class_book* book = nullptr;  ///< if the run goes on
    rank_classes all;
    base::packet sums;              ///< as in class_packet.hpp
    std::uint32_t first = 0;  ///< number of its first class in the search
    bool summed = false;
  };

  // The rest if there was no leader.
  std::uint32_t slot(std::size_t number) const noexcept {
    const std::uint32_t found = search_.slot(number);
    return found == leader_search::open ? settings_->classes_per_key : found;
  }

  // Asks for what `sum` will need for two other ranks, in two steps.
  void prefetch(std::size_t later, std::size_t soon) const noexcept {
    if (later < hosted_) base::prefetch(&parts_[later], sizeof(part));
    if (soon < hosted_) parts_[soon].all.prefetch();
  }

  void sum(std::size_t number, base::packet& out) {
    prefetch(number + 4, number + 2);
    part& mine = parts_[number];
    mine.summed = true;
    names_.of(*mine.blocks);
    using placed_class = merge_scratch::placed_class;
    base::pod_vector<placed_class>& placed = scratch_->placed;
    placed.clear();
    for (std::uint32_t c = 0; c != mine.all.size(); ++c) {
      const std::uint32_t place = slot(mine.first + c);
      if (mine.book != nullptr && mine.book->kind(c) == class_book::shaped) mine.book->place(c, place);
      if (mine.all[c].sums.count != 0) placed.push_back({mine.all[c].key, place, c});
    }
    sort_short(placed, [](const placed_class& a, const placed_class& b) {
      return a.key != b.key ? a.key < b.key : a.slot < b.slot;
    });
    out.reserve(out.size() + placed.size() * (sizeof(packed_class) + sizeof(location_share)) +
                mine.all.terms() * sizeof(packed_term) + mine.all.causers() * sizeof(location_share));
    for (std::size_t i = 0, j = 0; i != placed.size(); i = j) {
      for (j = i + 1; j != placed.size() && placed[j].key == placed[i].key && placed[j].slot == placed[i].slot;) ++j;
      write_class(mine, out, i, j);
    }
    mine.all = {};
  }

  // Classes of this rank that are one now: some of scratch_->placed.
  void write_class(const part& mine, base::packet& out, std::size_t first, std::size_t last) {
    base::pod_vector<term_sums>& terms = scratch_->terms;
    base::pod_vector<std::uint64_t>& used = scratch_->used;
    if (terms.size() < names_.size()) {
      terms.resize(names_.size());
      used.resize(names_.size() / 64 + 1, 0);
    }
    scratch_->waiters.clear();
    scratch_->causers.clear();
    packed_class head;
    head.key = scratch_->placed[first].key;
    head.slot = scratch_->placed[first].slot;
    for (std::size_t i = first; i != last; ++i) {
      const rank_classes::one& c = mine.all[scratch_->placed[i].number];
      if (i == first) {
        head.sums = c.sums;
      } else {
        head.sums.add(c.sums);
      }
      add_share(scratch_->waiters, {mine.rank->rank, static_cast<std::int32_t>(c.location), c.sums.wait_ns});
      for (const location_share& from : mine.all.causers_of(c)) add_share(scratch_->causers, from);
      for (const rank_classes::term& t : mine.all.terms_of(c)) {
        const std::uint32_t place = names_.place(t.block);
        const std::uint64_t bit = std::uint64_t{1} << place % 64;
        if ((used[place / 64] & bit) == 0) {
          used[place / 64] |= bit;
          terms[place] = t.sums;
          ++head.terms;
        } else {
          terms[place].add(t.sums);
        }
      }
    }
    const std::size_t at = out.size();
    put(out, head);
    for (std::size_t word = 0; word * 64 < names_.size(); ++word) {
      for (std::uint64_t left = used[word]; left != 0; left &= left - 1) {
        const std::size_t place = word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
        const block_table::name& name = (*mine.blocks)[names_.block(place)];
        put(out, packed_term{name.block, name.within, terms[place]});
      }
      used[word] = 0;
    }
    detail::finish_class(out, at, head, *scratch_);
  }

  const options* settings_;
  shape_leaders* leaders_;  ///< of earlier epochs
  merge_scratch* scratch_;
  leader_search search_;
  std::unique_ptr<part[]> parts_;
  std::size_t hosted_;
  base::packet best_;                          ///< what is proposed: by key, one each
  base::packet found_;                         ///< the leaders of all rounds
  base::pod_vector<std::size_t> ends_;  ///< of each round in found_
  name_order names_;
  base::vector<merged_class> merged_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
