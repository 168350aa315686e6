#ifndef WHYWAIT_EXPLAIN_LEADER_SEARCH_HPP
#define WHYWAIT_EXPLAIN_LEADER_SEARCH_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/prefetch.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/merge_scratch.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/shape_leaders.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Where each class of the ranks that a process hosts belongs: the number of its leader, round by round (merging.hpp). The
/// classes that look for one stand together by key, so that a round reads memory once and in the order of its addresses.
class leader_search {
 public:
  using share = merge_scratch::share;
  /// No leader yet.
  static constexpr std::uint32_t open = 0xffffffffu;

  /// `earlier`: the leaders of earlier epochs. All borrowed.
  leader_search(const options& settings, const shape_leaders& earlier, merge_scratch& scratch) noexcept
      : settings_(&settings), earlier_(&earlier), scratch_(&scratch) {}

  /// Classes, before the first round; each gets the next number. One whose place is known:
  void add(std::uint32_t slot) { slots_.push_back(slot); }
  /// One that looks for a leader; `blocks` are those of its shape. All borrowed until `close`.
  void add(core::stable_key key, const class_sums& sums, const share* shape, std::size_t size, const block_table& blocks) {
    const auto fresh = static_cast<std::uint32_t>(groups_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) groups_.push_back({key, 0, 0, 0});
    const candidate c{sums.first_ns, &sums, &blocks, shape, static_cast<std::uint32_t>(size), number, this->size()};
    slots_.push_back(earlier_->size() != 0 ? slot_among_earlier(key, c) : open);
    if (slots_.back() != open) return;
    all_.push_back(c);
    ++groups_[number].end;
  }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t slot(std::size_t number) const noexcept { return slots_[number]; }

  /// The earliest of every key that has no leader yet, as it travels, by key.
  void propose(base::packet& out) {
    if (!grouped_) group();
    for (const group_range& g : groups_) {
      if (g.begin != g.end) write(out, all_[g.best]);
    }
  }

  /// One round: each class that still looks for a leader joins that of its key, if it is near.
  void settle(const base::packet& leaders) {
    const std::uint32_t round = round_++;
    std::size_t at = 0;
    for (leader_reader leader(leaders.data(), leaders.size()); !leader.done(); leader.next()) {
      while (at != groups_.size() && groups_[at].key < leader.head().key) ++at;
      if (at != groups_.size() && groups_[at].key == leader.head().key) settle(groups_[at], leader, round);
    }
  }

  /// After the last round: only the slots stay.
  void close() noexcept { all_.release(); }

 private:
  // A class that looks for a leader.
  struct candidate {
    std::int64_t first_ns;
    const class_sums* sums;
    const block_table* blocks;
    const share* shape;
    std::uint32_t size, group, number;
  };
  // Those of one key in all_, and the earliest of them.
  struct group_range {
    core::stable_key key;
    std::uint32_t begin, end, best;
  };

  // Once: all candidates by key, the groups too.
  void group() {
    grouped_ = true;
    base::pod_vector<std::uint32_t> order(groups_.size()), place(groups_.size());
    for (std::uint32_t g = 0; g != order.size(); ++g) order[g] = g;
    sort_short(order, [this](std::uint32_t a, std::uint32_t b) { return groups_[a].key < groups_[b].key; });
    base::pod_vector<group_range> sorted;
    sorted.reserve(groups_.size());
    std::uint32_t begin = 0;
    for (const std::uint32_t g : order) {
      place[g] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back({groups_[g].key, begin, begin, begin});
      begin += groups_[g].end;
    }
    groups_.swap(sorted);
    base::pod_vector<candidate> all(all_.size());
    for (candidate c : all_) {
      c.group = place[c.group];
      all[groups_[c.group].end++] = c;
    }
    all_.swap(all);
    for (group_range& g : groups_) {
      for (std::uint32_t i = g.begin; i != g.end; ++i) {
        if (before(all_[i], all_[g.best])) g.best = i;
      }
    }
  }

  // The canonical order of one key: by time, then by content, never by rank.
  bool before(const candidate& a, const candidate& b) const {
    if (a.first_ns != b.first_ns) return a.first_ns < b.first_ns;
    const auto sums = [](const candidate& c) { return std::tie(c.sums->wait_ns, c.sums->count); };
    return sums(a) != sums(b) ? sums(a) < sums(b) : before_by_name(a, b);
  }
  static bool alike(const candidate& a, const candidate& b) noexcept {
    bool same = a.blocks == b.blocks && a.size == b.size;
    for (std::uint32_t i = 0; same && i != a.size; ++i) {
      same = a.shape[i].block == b.shape[i].block && a.shape[i].part == b.shape[i].part;
    }
    return same;
  }
  bool before_by_name(const candidate& a, const candidate& b) const {
    if (alike(a, b)) return false;
    base::packet first, second;
    write(first, a);
    write(second, b);
    return leader_reader(first.data(), first.size()).before({second.data(), second.size()});
  }

  // As it travels; the shape is by name.
  void write(base::packet& out, const candidate& c) const {
    base::pod_vector<shape_entry> named;
    named.reserve(c.size);
    for (const share* s = c.shape; s != c.shape + c.size; ++s) {
      named.push_back({(*c.blocks)[s->block].block, (*c.blocks)[s->block].within, s->part});
    }
    sort_short(named, [](const shape_entry& a, const shape_entry& b) {
      return a.block != b.block ? a.block < b.block : a.within < b.within;
    });
    put(out, shape_leader{groups_[c.group].key, c.first_ns, c.sums->wait_ns, c.sums->count, 0, c.size});
    base::put_bytes(out, named.data(), named.size() * sizeof(shape_entry));
  }

  // The first of an earlier epoch that covers it; with all slots taken that of the rest.
  std::uint32_t slot_among_earlier(core::stable_key key, const candidate& c) const {
    base::packet named;
    write(named, c);
    const leader_reader mine(named.data(), named.size());
    std::uint32_t slot = 0;
    for (std::size_t i = earlier_->first_of(key); i != earlier_->size() && (*earlier_)[i].key == key; ++i, ++slot) {
      if (distance(earlier_->shape(i), mine.shape()) <= settings_->class_distance) return slot;
    }
    return slot >= settings_->classes_per_key ? settings_->classes_per_key : open;
  }

  void settle(group_range& g, const leader_reader& leader, std::uint32_t round) {
    const std::uint32_t place = earlier_->count_of(g.key) + round;
    const bool room = place + 1 < settings_->classes_per_key;  // for one more
    const block_table* known = nullptr;
    std::uint32_t left = g.begin;
    for (std::uint32_t i = g.begin; i != g.end; ++i) {
      if (i + 8 < g.end) base::prefetch(all_[i + 8].shape, all_[i + 8].size * sizeof(share));
      const candidate c = all_[i];
      if (c.blocks != known) {
        forget();
        known = c.blocks;
        spread(leader.shape(), *known);
      }
      if (near(leader, c)) {
        slots_[c.number] = place;
      } else if (!room) {
        slots_[c.number] = settings_->classes_per_key;
      } else {
        all_[left] = c;
        if (left == g.begin || before(c, all_[g.best])) g.best = left;
        ++left;
      }
    }
    g.end = left;
    forget();
  }

  // A shape into the scratch, by number of the block; what is unknown here is left out.
  void spread(shape_view shape, const block_table& blocks) {
    base::pod_vector<double>& parts = scratch_->parts;
    if (parts.size() < blocks.size()) parts.resize(blocks.size(), 0);
    for (std::size_t i = 0; i != shape.size(); ++i) {
      const shape_entry e = shape[i];
      const std::uint32_t b = blocks.find(e.block, e.within);
      if (b == base::key_map::none) continue;
      parts[b] = e.share;
      scratch_->order.push_back(b);
    }
  }
  void forget() noexcept {
    for (const std::uint32_t b : scratch_->order) scratch_->parts[b] = 0;
    scratch_->order.clear();
  }

  // Is its shape near that of the leader, which is spread out? The order in which the ranks met the blocks could decide
  // by its rounding what is just at the limit: there they are compared by name.
  bool near(const leader_reader& leader, const candidate& c) const {
    const double more = scratch_->distance(c.shape, c.size) - settings_->class_distance;
    return std::fabs(more) > 1e-6 && leader.shape().size() != 0 ? more < 0 : near_by_name(leader, c);
  }
  bool near_by_name(const leader_reader& leader, const candidate& c) const {
    base::packet named;
    write(named, c);
    return distance(leader.shape(), leader_reader(named.data(), named.size()).shape()) <= settings_->class_distance;
  }

  const options* settings_;
  const shape_leaders* earlier_;
  merge_scratch* scratch_;
  base::key_map numbers_;  ///< of a key: its group before they are by key
  base::pod_vector<group_range> groups_;   ///< in the order of meeting; grouped: by key
  base::pod_vector<candidate> all_;        ///< grouped: by key
  base::pod_vector<std::uint32_t> slots_;  ///< by number
  std::uint32_t round_ = 0;
  bool grouped_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
