#ifndef WHYWAIT_REPORT_PICTURE_ROWS_HPP
#define WHYWAIT_REPORT_PICTURE_ROWS_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

inline const char* name_of(explain::ran what) noexcept {
  static constexpr const char* names[] = {"loop", "region", "step", "call", "unmarked", "unordered"};
  return names[static_cast<unsigned>(what)];
}

namespace detail {

/// A node of one side with its depth, in page order.
struct side_row {
  const explain::picture_node* node;
  std::int64_t depth;
  bool same_place(const side_row& o) const noexcept {
    return depth == o.depth && node->what == o.node->what && node->key == o.node->key;
  }
  /// Weight of a match of two rows: their identity counts more than their visits, loops count least.
  int likeness(const side_row& o) const noexcept {
    return (node->what == explain::ran::loop ? 2 : 6) + (node->count == o.node->count ? 1 : 0);
  }
};

/// The page of one side; of more than `most` rows it keeps the end and sets `cut`.
inline base::pod_vector<side_row> rows_of(const explain::picture_side& side, std::size_t most, bool& cut) {
  base::pod_vector<side_row> rows;
  base::pod_vector<std::size_t> ends;  // ends of the enclosing nodes
  for (std::size_t i = 0; i != side.nodes.size(); ++i) {
    while (!ends.empty() && ends.back() <= i) ends.pop_back();
    rows.push_back({&side.nodes[i], static_cast<std::int64_t>(ends.size())});
    ends.push_back(i + 1 + side.nodes[i].body);
  }
  cut = cut || side.cut || rows.size() > most;
  if (rows.size() > most) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(most));
  return rows;
}

inline picture_cell cell_of(const explain::picture_node& n) {
  return {static_cast<std::int64_t>(n.count), base::seconds_of(n.ns), n.continued, n.unfinished};
}

inline picture_row row_of(const side_row& from, const base::names& known) {
  picture_row out;
  out.kind = reports::name_of(from.node->what);
  out.depth = from.depth;
  if (const base::place* p = known.find(from.node->key)) {
    out.where = *p;
    out.name = p->name;
    if (from.node->what == explain::ran::region && p->kind == "waiting") out.kind = p->kind;
  }
  return out;
}

}  // namespace detail

/// Aligns the two columns: the rows of the longest common subsequence stand side by side, others alone. The subsequence
/// is weighted, so that rows with equal counts match first. Code outside regions below 1 % of the time is dropped.
/// O(rows of one side * rows of the other), each at most 600.
inline picture align(const explain::wait_sample& wait, const explain::wait_picture& sides, const base::names& known) {
  constexpr std::size_t most = 600;
  picture out;
  const base::pod_vector<detail::side_row> a = detail::rows_of(sides.waiter, most, out.cut),
                                           b = detail::rows_of(sides.causer, most, out.cut);
  out.waiter = {wait.rank, sides.waiter.thread, base::seconds_of(wait.wait_ns)};
  out.causer = {wait.causer_rank, sides.causer.thread, 0};
  std::int64_t longest_ns = wait.wait_ns, causer_ns = 0;
  for (const detail::side_row& each : b) causer_ns += each.depth == 0 ? each.node->ns : 0;
  longest_ns = std::max(longest_ns, causer_ns);
  out.causer.seconds = base::seconds_of(causer_ns);

  // best[i][j]: weight of the best alignment from rows i and j on
  const std::size_t width = b.size() + 1;
  base::pod_vector<int> best((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- != 0;)
    for (std::size_t j = b.size(); j-- != 0;) {
      int& here = best[i * width + j];
      here = std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
      if (a[i].same_place(b[j])) here = std::max(here, best[(i + 1) * width + j + 1] + a[i].likeness(b[j]));
    }
  const auto add = [&](const detail::side_row* left, const detail::side_row* right) {
    const auto small = [longest_ns](const detail::side_row* r) { return r == nullptr || r->node->ns * 100 < longest_ns; };
    if ((left != nullptr ? left : right)->node->what == explain::ran::unmarked && small(left) && small(right)) return;
    picture_row both = detail::row_of(*(left != nullptr ? left : right), known);
    if (left != nullptr) both.waiter = detail::cell_of(*left->node);
    if (right != nullptr) both.causer = detail::cell_of(*right->node);
    out.rows.push_back(std::move(both));
  };
  std::size_t i = 0, j = 0;
  while (i != a.size() || j != b.size()) {
    const int here = best[i * width + j];
    if (i != a.size() && j != b.size() && a[i].same_place(b[j]) &&
        here == best[(i + 1) * width + j + 1] + a[i].likeness(b[j])) {
      add(&a[i++], &b[j++]);
    } else if (i != a.size() && (j == b.size() || here == best[(i + 1) * width + j])) {
      add(&a[i++], nullptr);
    } else {
      add(nullptr, &b[j++]);
    }
  }
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
