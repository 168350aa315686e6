#ifndef WHYWAIT_EXPLAIN_MERGING_HPP
#define WHYWAIT_EXPLAIN_MERGING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/class_leaders.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/wait_classes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The blocks of a table in the order of their names. Cached until `use` is called with another or a longer table.
class name_order {
 public:
  void use(const block_table& blocks) {
    if (&blocks == table_ && blocks.size() == blocks_.size()) return;
    table_ = &blocks;
    blocks_.resize(blocks.size());
    places_.resize(blocks.size());
    for (std::uint32_t b = 0; b != blocks_.size(); ++b) blocks_[b] = b;
    sort_short(blocks_, [&blocks](std::uint32_t a, std::uint32_t b) { return blocks[a].before(blocks[b]); });
    for (std::uint32_t i = 0; i != blocks_.size(); ++i) places_[blocks_[i]] = i;
  }

  std::size_t size() const noexcept { return blocks_.size(); }
  std::uint32_t block(std::size_t place) const noexcept { return blocks_[place]; }
  std::uint32_t place(std::uint32_t block) const noexcept { return places_[block]; }

 private:
  const block_table* table_ = nullptr;
  base::pod_vector<std::uint32_t> blocks_, places_;  ///< by place, by block
};

/// Merges the wait classes of all ranks (docs/method.md 1.7). In each round the earliest class of each key that no
/// leader covers becomes the next leader on all ranks: one reduction and one broadcast per round, at most
/// `classes_per_key` rounds. Every class then joins the first leader within `class_distance`, and the rest is addition.
/// The result depends neither on rank numbers nor on the shape of the reduction tree.
///
/// One instance serves all ranks that a process hosts. Calls in this order: `take_classes` for each rank; in each round
/// `propose_leaders`, `take_proposals`, `merge_proposals`, `join_leaders`; `finish_rounds`; `write_classes`,
/// `merge_classes` and `merged_classes`.
class class_merger {
 public:
  /// `hosted`: number of ranks of the process. `leaders`: those of earlier epochs, by key and slot; new ones are
  /// inserted if the run continues. `scratch`: of the process. All are borrowed.
  class_merger(const options& settings, std::size_t hosted, shape_leaders& leaders, class_scratch& scratch)
      : settings_(&settings),
        leaders_(&leaders),
        scratch_(&scratch),
        search_(settings, leaders, scratch),
        parts_(new part[hosted]),
        hosted_(hosted) {}

  /// Registers all classes of one hosted rank; all arguments are borrowed. When the sums are written, `classes` is
  /// cleared for the next epoch, or freed at the end of the run.
  void take_classes(std::size_t number, const rank_history& rank, const block_table& blocks, wait_classes& classes) {
    part& mine = parts_[number];
    mine.rank = &rank;
    mine.blocks = &blocks;
    mine.classes = &classes;
    mine.first = search_.size();
    for (std::uint32_t c = 0; c != classes.size(); ++c) {
      if (classes.kind(c) == wait_classes::shapeless) {
        search_.add(settings_->classes_per_key + 1);
      } else if (classes.kind(c) == wait_classes::rest) {
        search_.add(settings_->classes_per_key);
      } else if (classes.slot(c) != wait_classes::open) {
        search_.add(classes.slot(c));
      } else {
        search_.add(classes.key(c), classes.sums(c), classes.shape(c), classes.shape_size(c), blocks);
      }
    }
  }

  /// Begins a round: proposes the hosted ranks' candidates.
  void propose_leaders() { search_.propose(best_); }
  /// Moves out the proposals of this process and of the ranks merged into it; on rank 0 the leaders of the round.
  base::packet take_proposals() noexcept { return std::move(best_); }
  /// Merges the proposals of another process: of each key the earlier candidate stays.
  void merge_proposals(const unsigned char* data, std::size_t size) {
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
  /// Ends a round with the leaders that all ranks have agreed on.
  void join_leaders(const base::packet& leaders) {
    search_.join_leaders(leaders);
    base::put_bytes(found_, leaders.data(), leaders.size());
    ends_.push_back(found_.size());
  }

  /// After the last round every class has its slot.
  void finish_rounds() {
    search_.finish_rounds();
    if (hosted_ == 0 || !parts_[0].rank->continues) return;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      leaders_->insert({found_.data() + begin, end - begin});
      begin = end;
    }
  }
  /// Calls f(number of a class, class_clock) for each class of one hosted rank. After `finish_rounds`, before the
  /// classes are written.
  template <class F>
  void each_class(std::size_t number, F&& f) const {
    const part& mine = parts_[number];
    for (std::uint32_t c = 0; c != mine.classes->size(); ++c) f(c, class_clock{mine.classes->key(c), slot(mine.first + c)});
  }

  /// Appends the sums of one rank and of everything merged into it, in the format of class_packet.hpp. Call once.
  void write_classes(std::size_t number, base::packet& out) {
    part& mine = parts_[number];
    if (!mine.summed) return sum(number, out);
    base::put_bytes(out, mine.sums.data(), mine.sums.size());
    mine.sums = {};
  }
  /// Adds what another rank wrote.
  void merge_classes(std::size_t number, const unsigned char* data, std::size_t size) {
    part& mine = parts_[number];
    if (!mine.summed) sum(number, mine.sums);
    join_classes(mine.sums, data, size, *scratch_);
  }
  /// On rank 0: all classes, sorted by key and slot.
  base::vector<merged_class>& merged_classes() {
    part& mine = parts_[0];
    if (!mine.summed) sum(0, mine.sums);
    for (class_reader in(mine.sums.data(), mine.sums.size()); !in.done(); in.next()) merged_.emplace_back(in);
    mine.sums = {};
    return merged_;
  }

  /// Moves the classes of one epoch into those of all epochs before it; both are sorted by key and slot.
  static void add_epoch(base::vector<merged_class>& all, base::vector<merged_class>& epoch) {
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
  // One hosted rank.
  struct part {
    const rank_history* rank = nullptr;
    const block_table* blocks = nullptr;
    wait_classes* classes = nullptr;
    base::packet sums;  ///< in the format of class_packet.hpp
    std::uint32_t first = 0;  ///< number of its first class in the search
    bool summed = false;
  };

  // The slot of the rest class if no leader was found.
  std::uint32_t slot(std::size_t number) const noexcept {
    const std::uint32_t found = search_.slot(number);
    return found == leader_search::open ? settings_->classes_per_key : found;
  }

  void sum(std::size_t number, base::packet& out) {
    part& mine = parts_[number];
    wait_classes& classes = *mine.classes;
    mine.summed = true;
    names_.use(*mine.blocks);
    using placed_class = class_scratch::placed_class;
    base::pod_vector<placed_class>& placed = scratch_->placed;
    placed.clear();
    for (std::uint32_t c = 0; c != classes.size(); ++c) {
      const std::uint32_t place = slot(mine.first + c);
      if (classes.kind(c) == wait_classes::shaped) classes.set_slot(c, place);
      if (classes.sums(c).count != 0) placed.push_back({classes.key(c), place, c});
    }
    sort_short(placed,
               [](const placed_class& a, const placed_class& b) { return a.key != b.key ? a.key < b.key : a.slot < b.slot; });
    out.reserve(out.size() + placed.size() * (sizeof(packed_class) + sizeof(location_share)) +
                classes.terms() * sizeof(residual_term) + classes.causers() * sizeof(location_share));
    for (std::size_t i = 0, j = 0; i != placed.size(); i = j) {
      for (j = i + 1; j != placed.size() && placed[j].key == placed[i].key && placed[j].slot == placed[i].slot;) ++j;
      write_class(mine, out, i, j);
    }
    if (mine.rank->continues) {
      classes.clear_sums();
    } else {
      classes = {};
    }
  }

  // Writes classes of this rank that share one leader, which are consecutive in scratch_->placed.
  void write_class(const part& mine, base::packet& out, std::size_t first, std::size_t last) {
    base::pod_vector<residual_sums>& terms = scratch_->terms;
    base::pod_vector<std::uint64_t>& used = scratch_->used;
    const std::size_t lines = 2 * names_.size();
    if (terms.size() < lines) {
      terms.resize(lines);
      used.resize(lines / 64 + 1, 0);
    }
    scratch_->waiters.clear();
    scratch_->causers.clear();
    const wait_classes& classes = *mine.classes;
    packed_class head;
    head.key = scratch_->placed[first].key;
    head.slot = scratch_->placed[first].slot;
    for (std::size_t i = first; i != last; ++i) {
      const std::uint32_t c = scratch_->placed[i].number;
      head.sums.add(classes.sums(c));
      add_share(scratch_->waiters, {mine.rank->rank, static_cast<std::int32_t>(classes.location(c)), classes.sums(c).wait_ns});
      classes.each_causer(c, [this](const location_share& from) { add_share(scratch_->causers, from); });
      classes.each_term(c, [&](std::uint32_t block, const residual_sums& sums) {
        const std::uint32_t place = 2 * names_.place(block) + (sums.fewer() ? 1 : 0);
        const std::uint64_t bit = std::uint64_t{1} << place % 64;
        if ((used[place / 64] & bit) == 0) {
          used[place / 64] |= bit;
          terms[place] = sums;
          ++head.terms;
        } else {
          terms[place].add(sums);
        }
      });
    }
    const std::size_t at = out.size();
    put(out, head);
    for (std::size_t word = 0; word * 64 < lines; ++word) {
      for (std::uint64_t left = used[word]; left != 0; left &= left - 1) {
        const std::size_t place = word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
        const block_table::name& name = (*mine.blocks)[names_.block(place / 2)];
        residual_term term;
        static_cast<residual_sums&>(term) = terms[place];
        term.block = name.block;
        term.within = name.within;
        put(out, term);
      }
      used[word] = 0;
    }
    detail::finish_class(out, at, head, *scratch_);
  }

  const options* settings_;
  shape_leaders* leaders_;  ///< of earlier epochs
  class_scratch* scratch_;
  leader_search search_;
  std::unique_ptr<part[]> parts_;
  std::size_t hosted_;
  base::packet best_;  ///< the proposals of this round: sorted by key, one per key
  base::packet found_;  ///< the leaders of all rounds
  base::pod_vector<std::size_t> ends_;  ///< end of each round's leaders in found_
  name_order names_;
  base::vector<merged_class> merged_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
