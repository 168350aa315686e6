#ifndef WHYWAIT_EXPLAIN_SAME_CODE_HPP
#define WHYWAIT_EXPLAIN_SAME_CODE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/path_profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Adds the sums of the waits in which a block differs in one direction to those of the other direction. The times add
/// up. The visits, work and times of the two sides are those of the more frequent direction if the other one has less
/// than a third of its difference: a few waits in the opposite direction would distort their ratio. `single`: both are of one
/// wait, whose sides are what they are.
inline void add_direction(residual_sums& into, const residual_sums& other, bool single = false) noexcept {
  const auto size = [](const residual_sums& s) {
    const std::int64_t visits = std::abs(s.causer_visits - s.waiter_visits);
    return visits != 0 ? visits : std::abs(s.causer_work - s.waiter_work);
  };
  const bool by_visits = into.causer_visits != into.waiter_visits || other.causer_visits != other.waiter_visits;
  const std::int64_t a = by_visits ? std::abs(into.causer_visits - into.waiter_visits) : size(into);
  const std::int64_t b = by_visits ? std::abs(other.causer_visits - other.waiter_visits) : size(other);
  const residual_sums sides = a >= b ? into : other;
  const bool apart = !single && std::min(a, b) * 3 < std::max(a, b);
  into.add(other);
  if (!apart) return;
  into.causer_visits = sides.causer_visits;
  into.waiter_visits = sides.waiter_visits;
  into.causer_work = sides.causer_work;
  into.waiter_work = sides.waiter_work;
  into.causer_ns = sides.causer_ns;
  into.waiter_ns = sides.waiter_ns;
  into.lead_visits = sides.lead_visits;
}

/// Leads of parts that cancel have moved no visits, but time from one side to the other: puts it back, so that the sides differ by
/// the total.
inline void restore_sides(residual_sums& sums) noexcept {
  const std::int64_t moved = sums.total_ns - (sums.causer_ns - sums.waiter_ns);
  if (sums.lead_visits != 0 || moved == 0) return;
  sums.waiter_ns -= moved;  // a lead was taken from the waiting side
  if (sums.waiter_ns >= 0) return;
  sums.causer_ns -= sums.waiter_ns;
  sums.waiter_ns = 0;
}

/// Joins the two directions of each block of a residual sorted by `residual_term::before`. `count`: waits.
inline void join_directions(base::vector<residual_term>& residual, std::int64_t count) {
  base::join_neighbours(
      residual, [](const residual_term& a, const residual_term& b) { return a.same_block(b); },
      [count](residual_term& a, const residual_term& b) { add_direction(a, b, count == 1); });
  if (count != 1) return;
  for (residual_term& t : residual) restore_sides(t);
}

namespace detail {

// Unmarked code between two calls that only one of the two sides passed. Up to a tenth of its visits may be on the other
// side, because a class also holds waits between ranks that both pass it.
struct one_sided_code {
  std::size_t term;
  core::stable_key first, second;
  bool late;  ///< the side that passed it
  std::size_t group;
  bool paired = false;
};

// Of several pieces of the late side, one that takes as long as the piece of the waiting side is the same code, and the others are
// what the late side ran more.
inline void pair_pieces(base::vector<one_sided_code>& all, const base::vector<residual_term>& terms) {
  const auto share_call = [](const one_sided_code& a, const one_sided_code& b) {
    return a.first == b.first || a.second == b.second;
  };
  const auto about = [](std::int64_t a, std::int64_t b) { return 10 * std::abs(a - b) <= std::max(a, b); };
  for (one_sided_code& w : all) {
    if (w.late) continue;
    const residual_term& waiter = terms[w.term];
    one_sided_code* same = nullptr;
    bool more = false;
    for (one_sided_code& c : all) {
      if (!c.late || c.paired || !share_call(w, c)) continue;
      const residual_term& causer = terms[c.term];
      const bool alike = about(causer.causer_ns, waiter.waiter_ns) && about(causer.causer_visits, waiter.waiter_visits);
      if (alike && same == nullptr) same = &c;
      else more = true;
    }
    if (same == nullptr || !more) continue;
    w.paired = same->paired = true;
    same->group = w.group;
  }
}

// How often one side passed the group: pieces that follow another piece of the group belong to the same pass.
inline std::int64_t passes(const base::vector<one_sided_code>& all, std::size_t group, bool late,
                           const base::vector<residual_term>& terms) {
  std::int64_t begun = 0, most = 0;
  for (const one_sided_code& c : all) {
    if (c.group != group) continue;
    const std::int64_t visits = late ? terms[c.term].causer_visits : terms[c.term].waiter_visits;
    most = std::max(most, visits);
    const bool follows = base::any_of(all, [&](const one_sided_code& o) {
      return o.group == group && o.late == c.late && o.term != c.term && o.second == c.first;
    });
    if (!follows) begun += visits;
  }
  return begun > 0 ? begun : most;
}

// The place of a call: compilers make one line into several call sites, also so that ranks pass different ones.
inline core::stable_key place_of_call(core::stable_key site, function_names* functions) {
  if (functions == nullptr || !functions->contains(site)) return site;
  const core::stable_key line = functions->source_of(site).line;
  return line != 0 ? line : site;
}

}  // namespace detail

/// What was counted of a block counts for another one from now on. `counts`: sorted by block, and stays so.
inline void rename_counts(base::vector<counted_block>& counts, core::stable_key from, core::stable_key to) {
  const auto at = [&counts](core::stable_key block) {
    return std::lower_bound(counts.begin(), counts.end(), block,
                            [](const counted_block& c, core::stable_key key) { return c.block < key; });
  };
  const auto old = at(from);
  if (old == counts.end() || old->block != from || from == to) return;
  const counted_block moved = *old;
  counts.erase(old, old + 1);
  const auto into = at(to);
  if (into != counts.end() && into->block == to) {
    into->counts.add(moved.counts);
    return;
  }
  counts.push_back(moved);
  counts.back().block = to;
  base::small_stable_sort(counts, [](const counted_block& a, const counted_block& b) { return a.block < b.block; });
}

/// Compares unmarked code that begins or ends at different call sites on the two sides as the same code: pieces that
/// only the late side passed, and pieces that only the waiting side passed, that begin or end at a common call. The
/// pieces become one term, with the name of the longest piece of the late side, but for two that take equally long
/// (`pair_pieces`). A difference of up to one visit in each wait is a lead, because the places of such pieces cannot be compared
/// (docs/method.md 1.4). Call sites of one line are one call. `meanings`: sorted by key. `functions`: of this process, or null. Call
/// before `join_directions`. O(p^2) for p such pieces.
inline void merge_same_code(explanation& e, const base::vector<block_meaning>& meanings, function_names* functions = nullptr) {
  base::vector<detail::one_sided_code> all;
  for (std::size_t i = 0; i != e.residual.size(); ++i) {
    const residual_term& t = e.residual[i];
    if (t.within != 0 || t.causer_visits == t.waiter_visits) continue;
    if (std::min(t.causer_visits, t.waiter_visits) * 10 > std::max(t.causer_visits, t.waiter_visits)) continue;
    const auto m = std::lower_bound(meanings.begin(), meanings.end(), t.block,
                                    [](const block_meaning& a, core::stable_key key) { return a.key < key; });
    if (m == meanings.end() || m->key != t.block || m->kind != block_kind::between) continue;
    all.push_back({i, detail::place_of_call(m->first, functions), detail::place_of_call(m->second, functions),
                   t.causer_visits > t.waiter_visits, all.size()});
  }
  detail::pair_pieces(all, e.residual);
  // A site 0 is the begin or the end of recording, which is a common place.
  for (detail::one_sided_code& a : all) {
    for (detail::one_sided_code& b : all) {
      if (a.late == b.late || a.group == b.group || a.paired || b.paired || (a.first != b.first && a.second != b.second))
        continue;
      const std::size_t from = std::max(a.group, b.group), to = std::min(a.group, b.group);
      for (detail::one_sided_code& c : all) c.group = c.group == from ? to : c.group;
    }
  }
  base::vector<std::size_t> gone;
  for (std::size_t g = 0; g != all.size(); ++g) {
    residual_sums sums;
    const residual_term* name = nullptr;
    bool late = false, waiting = false;
    for (const detail::one_sided_code& c : all) {
      if (c.group != g) continue;
      const residual_term& t = e.residual[c.term];
      (c.late ? late : waiting) = true;
      if (name == nullptr || std::make_pair(t.causer_ns, t.waiter_ns) > std::make_pair(name->causer_ns, name->waiter_ns))
        name = &t;
      sums.add(t);
    }
    if (!late || !waiting) continue;
    sums.causer_visits = detail::passes(all, g, true, e.residual);
    sums.waiter_visits = detail::passes(all, g, false, e.residual);
    const std::int64_t more = sums.causer_visits - sums.waiter_visits;
    same_place at;
    at.causer_total = sums.causer_visits;
    at.waiter_total = sums.waiter_visits;
    at.more = std::abs(more) <= e.count ? 0.0 : static_cast<double>(more);
    const block_use waiter{sums.waiter_visits, sums.waiter_ns, sums.waiter_work};
    const block_use causer{sums.causer_visits, sums.causer_ns, sums.causer_work};
    residual_sums merged = difference(waiter, causer, {}, at);
    if (at.more == 0) merged.visits_ns = 0;
    // Differences that the two sides do not show (a lead of their own) stay with the speed.
    merged.total_ns = sums.total_ns;
    merged.speed_ns = sums.total_ns - merged.visits_ns;
    merged.inherited_ns = std::max<std::int64_t>(0, std::min(sums.total_ns, sums.inherited_ns));
    merged.lead_visits += sums.lead_visits;
    for (const detail::one_sided_code& c : all) {
      if (c.group != g || &e.residual[c.term] == name) continue;
      gone.push_back(c.term);
      rename_counts(e.counts, e.residual[c.term].block, name->block);
    }
    static_cast<residual_sums&>(e.residual[static_cast<std::size_t>(name - e.residual.data())]) = merged;
  }
  std::sort(gone.begin(), gone.end());
  std::size_t kept = 0, next = 0;
  for (std::size_t i = 0; i != e.residual.size(); ++i) {
    if (next != gone.size() && gone[next] == i) {
      ++next;
      continue;
    }
    if (kept != i) e.residual[kept] = e.residual[i];
    ++kept;
  }
  e.residual.resize(kept);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
