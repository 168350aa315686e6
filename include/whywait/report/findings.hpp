#ifndef WHYWAIT_REPORT_FINDINGS_HPP
#define WHYWAIT_REPORT_FINDINGS_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/grouping.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Waits with the same root cause, or a problem that belongs to no wait.
struct finding {
  wait_entry sum;                ///< of all; pattern, operation and cause are those of the most costly kind
  const wait_entry* largest = nullptr;  ///< the most costly kind; null for a problem
  std::size_t kinds = 1;         ///< kinds of waits
  base::vector<std::string> patterns;  ///< each once, most costly first
  base::vector<base::place> places;    ///< calls that waited, each once, most costly first
  const advice_entry* advice = nullptr;   ///< the one that saves most; null: none
  const advice_entry* problem = nullptr;  ///< of a problem; then the others are empty
  double seconds = 0;            ///< rank time
};

namespace detail {

/// The block that explains a wait: the largest row, if it is a third of the wait or more. Null: there is none.
inline const residual_entry* root_of(const wait_entry& w) noexcept {
  const residual_entry* top = nullptr;
  for (const residual_entry& r : w.residual)
    if (r.kind != "other" && (top == nullptr || r.total_ns > top->total_ns)) top = &r;
  return top != nullptr && 3 * top->seconds() >= w.seconds ? top : nullptr;
}

inline bool same_root(const wait_entry& a, const wait_entry& b) noexcept {
  const residual_entry *x = root_of(a), *y = root_of(b);
  if (x == nullptr || y == nullptr) return false;
  if (x->kind != y->kind || x->block != y->block) return false;
  return x->where.file == y->where.file && x->where.line == y->where.line;
}

inline void choose(finding& f, const advice_entry& a) noexcept {
  if (!a.text.empty() && (f.advice == nullptr || a.saving_seconds > f.advice->saving_seconds)) f.advice = &a;
}

/// Whether a text has a name in it that is no part of a longer one.
[[gnu::noinline]] inline bool mentions(const std::string& text, const std::string& name) noexcept {
  const auto of_name = [&text](std::size_t at) {
    const unsigned char c = at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = 0; !name.empty() && (at = text.find(name, at)) != std::string::npos; ++at)
    if (!of_name(at - 1) && !of_name(at + name.size())) return true;
  return false;
}

template <class T>
void add_once(base::vector<T>& all, const T& one) {
  for (const T& known : all)
    if (known == one) return;
  all.push_back(T(one));
}

/// Adds a further kind of wait with the same root.
inline void add_kind(finding& f, const wait_entry& w) {
  f.sum.add_lengths(w);
  f.sum.unexplained_seconds += w.unexplained_seconds;
  if (rank_of_quality(w.quality) > rank_of_quality(f.sum.quality)) f.sum.quality = w.quality;
  for (const residual_entry& r : w.residual) add_term(f.sum.residual, r);
  add_shares(f.sum.waiters, w.waiters);
  add_shares(f.sum.causers, w.causers);
  ++f.kinds;
}

}  // namespace detail

/// `remark` for a row of the sum. Visits of several kinds of waits are added up, so that a few long ones would look shorter; the
/// row is therefore described as that of the most costly kind if it has most of the time, else as an average.
inline std::string remark(const finding& f, const residual_entry& row) {
  for (const residual_entry& r : f.largest->residual)
    if (detail::same_block(r, row) && 2 * r.total_ns > row.total_ns) return remark(r, {false, false, false, false, f.largest});
  return remark(row, {false, false, true, true});
}

/// The findings of a report, most costly first. Kinds of waits with the same root are one finding; a problem that names the root
/// of a finding that is not far smaller is advice for it, any other a finding of its own. `groups`, from group_shapes, and `r` must
/// outlive the result.
inline base::vector<finding> findings_of(const result& r, const base::vector<wait_group>& groups) {
  base::vector<finding> all;
  for (const wait_group& g : groups) {
    finding* same = nullptr;
    for (finding& f : all)
      if (same == nullptr && detail::same_root(f.sum, g.sum)) same = &f;
    if (same == nullptr) {
      all.push_back({});
      same = &all.back();
      same->sum = g.sum;
      same->largest = &g.sum;
    } else {
      detail::add_kind(*same, g.sum);
    }
    same->seconds = same->sum.seconds;
    detail::add_once(same->patterns, g.sum.pattern);
    detail::add_once(same->places, g.sum.operation);
    for (const advice_entry& a : g.sum.advice) detail::choose(*same, a);
  }
  for (finding& f : all) {
    detail::join_directions(f.sum.residual);
    base::small_stable_sort(f.sum.residual,
                            [](const residual_entry& a, const residual_entry& b) { return a.total_ns > b.total_ns; });
    const auto more = [](const location_seconds& a, const location_seconds& b) { return a.seconds > b.seconds; };
    base::small_stable_sort(f.sum.waiters, more);
    base::small_stable_sort(f.sum.causers, more);
  }
  for (const advice_entry& a : r.problems) {
    bool known = false;
    for (finding& f : all) {
      const residual_entry* const root = f.problem == nullptr ? detail::root_of(f.sum) : nullptr;
      if (root == nullptr || root->kind != "region" || f.seconds < a.seconds / 2) continue;
      if (!detail::mentions(a.description, root->block) && !detail::mentions(a.text, root->block)) continue;
      detail::choose(f, a);
      known = known || f.advice == &a;
    }
    if (known) continue;
    all.push_back({});
    all.back().problem = &a;
    detail::choose(all.back(), a);
    all.back().seconds = a.seconds;
  }
  base::small_stable_sort(all, [](const finding& a, const finding& b) { return a.seconds > b.seconds; });
  return all;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
