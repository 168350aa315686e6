#ifndef WHYWAIT_COMPARISON_COMPARE_TEXT_HPP
#define WHYWAIT_COMPARISON_COMPARE_TEXT_HPP

#include <whywait/base/table.hpp>
#include <whywait/comparison/compare_words.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

/// "3 runs before, 1 after, 4 ranks".
inline std::string sides_text(const changes& c) {
  std::string text =
      base::counted(static_cast<std::int64_t>(c.runs_before), "run") + " before, " + std::to_string(c.runs_after) + " after";
  if (c.ranks_before == c.ranks_after) return text + ", " + base::counted(c.ranks_after, "rank");
  return text + ", " + base::counted(c.ranks_before, "rank") + " before, " + std::to_string(c.ranks_after) + " after";
}

/// The rule by which a difference counts, in one sentence.
inline std::string rule_text(const changes& c) {
  return "A difference counts if it is at least " + base::percent(c.at_least) +
         " of the wall time (efficiencies: as many points) and if the noise of the runs makes any such difference with a "
         "probability of at most " +
         base::percent(c.noise.chance) + ".";
}

inline std::string figures_table(const changes& c) {
  std::vector<std::vector<std::string>> rows = {{"", "before", "after", "change", ""}};
  for (const figure& f : c.figures)
    rows.push_back({figure_words(f.name), value_text(f, f.values.before), value_text(f, f.values.after), change_text(f),
                    f.what == change::same ? "" : name_of(f.what)});
  std::vector<std::size_t> widths(5, 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i != row.size(); ++i) widths[i] = std::max(widths[i], base::display_width(row[i]));
  std::string out;
  for (const auto& row : rows) {
    std::string line = "    " + base::pad_right(row[0], widths[0]);
    for (std::size_t i = 1; i != 4; ++i) line += "  " + base::pad_left(row[i], widths[i]);
    if (!row[4].empty()) line += "  " + row[4];
    out += line + "\n";
  }
  return out;
}

}  // namespace detail

/// The comparison for a terminal, lines of at most `columns` where names allow it.
inline std::string text_of(const changes& c, std::size_t columns = 80) {
  using namespace detail;
  const auto paragraph = [columns](const std::string& text, const char* first, const char* rest) {
    return base::wrap(text, columns, first, rest);
  };
  std::string out = "whywait compare: " + outcome_word(c) + " (" + sides_text(c) + ")\n";
  if (!c.program.empty()) out += "  " + base::printable(c.program) + "\n";
  for (const std::string& s : sentences(c)) out += paragraph(s, "  ", "  ");
  out += "\n" + figures_table(c);
  for (const wait_change& w : c.waits) {
    out += "\n " + base::pad_right(name_of(w.what), 8) + reports::pattern_words(w.wait.pattern) + "  " +
           base::duration(w.seconds.before) + " -> " + base::duration(w.seconds.after) + " per rank, " +
           base::counted(std::llround(w.count_before), "wait") + " -> " + base::count(std::llround(w.count_after)) + "\n";
    out += paragraph(base::call_text(w.wait.operation), "         ", "         ");
    out += paragraph("<- " + base::call_text(w.wait.cause), "           ", "           ");
    if (!w.why.empty()) out += "         the late side ran\n";
    for (const block_change& b : w.why) {
      const std::string how = reason_text(b);
      out += paragraph(block_text(b.block) + "  " + (b.seconds.change() < 0 ? "-" : "+") +
                           base::duration(std::fabs(b.seconds.change())) + (how.empty() ? "" : "  " + how),
                       "           ", "             ");
    }
    if (w.rank >= 0)
      out += std::string("         ") + (w.what == change::shifted ? "more than before" : "mostly") + " for rank " +
             std::to_string(w.rank) + "\n";
  }
  if (!c.path.empty()) out += "\n    critical path\n";
  for (const block_change& b : c.path) {
    const std::string how = visits_text(b);
    out += paragraph(block_text(b.block) + "  " + base::duration(b.seconds.before) + " -> " + base::duration(b.seconds.after) +
                         (how.empty() ? "" : "  " + how),
                     (" " + base::pad_right(name_of(b.what), 8)).c_str(), "           ");
  }
  if (c.same_waits != 0)
    out += "\n    " + base::counted(static_cast<std::int64_t>(c.same_waits), "kind of waits is", "kinds of waits are") +
           " the same or too small to matter\n";
  if (!c.savings.empty()) out += "\n    predicted and real\n";
  for (const saving_check& s : c.savings) out += paragraph(saving_text(c, s), "      ", "        ");
  out += "\n";
  for (const std::string& note : c.notes) out += paragraph("note: " + note, "    ", "      ");
  out += paragraph(rule_text(c), "    ", "    ");
  return out;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
