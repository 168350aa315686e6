#ifndef WHYWAIT_REPORT_PAGE_PAGE_ADVICE_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_ADVICE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

struct listed_advice {
  const advice_entry* advice;
  std::size_t wait;  ///< index in result::waits; no_wait: it belongs to no single one
};
constexpr std::size_t no_wait = std::size_t(-1);

inline void advice_item(const page_context& p, const listed_advice& l) {
  html_writer& out = p.out;
  const advice_entry& a = *l.advice;
  out.put("<li><div class=\"gain\">");
  if (a.saving_seconds > 0) {
    out.put(
        "<b>$</b><small>$$</small><span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" style=\"width:$\"></i></span>",
        as_time(a.saving_seconds), saving_bound_words(p.r, a),
        ", " + base::percent(p.share_of_run(a.saving_seconds)) + " of " + explained_whole(p.r.run),
        as_width(p.share_of_run(a.saving_seconds)));
  } else {
    out.put("<small>saving unknown</small>");
  }
  out.put("</div><div><p>$</p><p class=\"why\"><b>$</b> ", a.text.empty() ? a.description : a.text, pattern_words(a.problem));
  if (!a.text.empty()) out.put("$", a.description);
  if (l.wait != no_wait) out.put(" <a href=\"#w$\">why it waited</a>", static_cast<std::int64_t>(l.wait));
  out.put("</p></div></li>");
}

}  // namespace detail

/// What to change, by what it saves. Each text once.
inline void page_advice(const page_context& p) {
  base::pod_vector<detail::listed_advice> all;
  const auto add = [&](const advice_entry& a, std::size_t wait) {
    const auto same = [&a](const detail::listed_advice& l) {
      return l.advice->text == a.text && l.advice->problem == a.problem;
    };
    if (!base::any_of(all, same)) all.push_back({&a, wait});
  };
  for (std::size_t w = 0; w != p.r.waits.size(); ++w)
    for (const advice_entry& a : p.r.waits[w].advice) add(a, w);
  for (const advice_entry& a : p.r.problems) add(a, detail::no_wait);
  if (all.empty()) return;
  base::small_stable_sort(all, [](const detail::listed_advice& a, const detail::listed_advice& b) {
    return a.advice->saving_seconds > b.advice->saving_seconds;
  });
  constexpr std::size_t most = 6;
  constexpr double least_share = 0.01;
  std::size_t first = 0;
  while (first != all.size() && first != most && p.share_of_run(all[first].advice->saving_seconds) >= least_share) ++first;
  if (first == 0) first = 1;
  p.section("advice", "What to change", "By wall time saved. Savings do not add up.");
  p.out.put("<ol class=\"advice\">");
  for (std::size_t i = 0; i != first; ++i) detail::advice_item(p, all[i]);
  p.out.put("</ol>");
  if (first != all.size()) {
    p.out.put("<details><summary>$ more, which save less</summary><ol class=\"advice\" start=\"$\">",
              static_cast<std::int64_t>(all.size() - first), static_cast<std::int64_t>(first + 1));
    for (std::size_t i = first; i != all.size(); ++i) detail::advice_item(p, all[i]);
    p.out.put("</ol></details>");
  }
  p.end_section();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
