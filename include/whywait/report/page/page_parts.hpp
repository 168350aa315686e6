#ifndef WHYWAIT_REPORT_PAGE_PAGE_PARTS_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_PARTS_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/named_block.hpp>
#include <whywait/report/page/html_writer.hpp>
#include <whywait/report/page/source_book.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace reports {

/// What all sections of a page use.
/// A sentence with a capital letter at its begin.
inline std::string sentence_of(std::string words) {
  if (!words.empty() && words[0] >= 'a' && words[0] <= 'z') words[0] = static_cast<char>(words[0] - 'a' + 'A');
  return words;
}

struct page_context {
  const result& r;
  html_writer& out;
  source_book& sources;

  /// Without parts that were not recorded.
  double share_of_run(double seconds) const noexcept {
    return r.run.explained_seconds() > 0 ? seconds / r.run.explained_seconds() : 0;
  }
  double share_of_rank_time(double seconds) const noexcept {
    return r.run.location_seconds > 0 ? seconds / r.run.location_seconds : 0;
  }
  double share_of_waiting(double seconds) const noexcept {
    return r.run.waiting_seconds > 0 ? seconds / r.run.waiting_seconds : 0;
  }

  /// The begin of a section; `how` is markup.
  void section(const char* id, std::string_view title, std::string_view how) const {
    out.put("<section id=\"$\" aria-labelledby=\"h-$\"><h2 id=\"h-$\">$</h2>", as_markup(id), as_markup(id), as_markup(id),
            title);
    if (!how.empty()) out.put("<p class=\"how\">$</p>", as_markup(how));
  }
  void end_section() const { out.put("</section>"); }

  /// "halo.cpp:142", with a link to the excerpt if there is one; nothing if the place is unknown.
  void code(const base::place& p, const char* before = " ") const {
    const std::string words = code_text(p);
    if (words.empty()) return;
    const int excerpt = sources.of(p);
    out.put("$", as_markup(before));
    if (excerpt >= 0) out.put("<a class=\"src\" href=\"#s$\">$</a>", excerpt, words);
    else out.put("<span class=\"src\">$</span>", words);
  }
  /// "MPI_Recv in exchange halo.cpp:142".
  void call(const base::place& p) const {
    const std::string within = within_text(p);
    out.put("<code>$</code>", p.call.empty() ? "a call" : p.call);
    if (!within.empty()) out.put(" in <code>$</code>", within);
    code(p);
    if (!p.caller.empty()) out.put("$", caller_text(p));
  }
  void block(const named_block& b) const {
    if (b.kind == "call") {
      out.put("inside ");
      call(b.where);
    } else if (b.kind == "between") {
      out.put("between ");
      if (b.from) call(*b.from);
      else out.put(base::ranks_are_threads() ? "the start" : "<code>MPI_Init</code>");
      out.put(" and ");
      call(b.where);
    } else {
      out.put("<code>$</code>", b.block);
      code(b.where);
    }
  }
  /// A row of a list of ranks with bars, the longest full.
  void shares(const char* name, const char* title, const base::vector<location_seconds>& all) const {
    constexpr std::size_t first = 8;
    double most = 0;
    bool threads = false;
    for (const location_seconds& l : all) {
      if (l.rank >= 0) most = std::fmax(most, l.seconds);
      threads = threads || l.thread != 0;
    }
    out.put("<div class=\"shares $\"><h4>$</h4><ul>", as_markup(name), as_markup(title));
    for (std::size_t i = 0; i != all.size(); ++i) {
      const location_seconds& l = all[i];
      if (i == first && all.size() > first + 1)
        out.put("</ul><details><summary>$ more</summary><ul>", static_cast<std::int64_t>(all.size() - first));
      out.put("<li><span>");
      if (l.rank < 0) out.put("all others");
      else out.put("$", base::rank_text(l.rank));
      if (threads && l.rank >= 0) out.put(" thread $", l.thread);
      out.put("</span>");
      if (l.rank < 0) out.put("<span></span>");
      else
        out.put("<span class=\"track\"><i class=\"bar\" style=\"width:$\"></i></span>",
                as_width(most > 0 ? l.seconds / most : 0));
      out.put("$</li>", as_time(l.seconds));
    }
    out.put("$", as_markup(all.size() > first + 1 ? "</ul></details></div>" : "</ul></div>"));
  }
};

/// The colour of a pattern: messages, collectives, one-sided, threads, start and end.
inline const char* family_of(const std::string& pattern) noexcept {
  static constexpr struct {
    const char *pattern, *family;
  } families[] = {{"late_sender", "message"},
                  {"late_receiver", "message"},
                  {"wait_for_progress", "message"},
                  {"polling", "message"},
                  {"wait_at_fence", "window"},
                  {"late_post", "window"},
                  {"early_wait", "window"},
                  {"late_complete", "window"},
                  {"window_lock_contention", "window"},
                  {"mutex_contention", "thread"},
                  {"condition_variable", "thread"},
                  {"thread_barrier", "thread"},
                  {"latch", "thread"},
                  {"semaphore", "thread"},
                  {"future", "thread"},
                  {"join", "thread"},
                  {"wait_at_create", "ends"},
                  {"wait_at_finalize", "ends"}};
  for (const auto& f : families)
    if (pattern == f.pattern) return f.family;
  return "collective";
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
