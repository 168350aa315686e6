#ifndef WHYWAIT_COMPARISON_COMPARE_MARKDOWN_HPP
#define WHYWAIT_COMPARISON_COMPARE_MARKDOWN_HPP

#include <whywait/comparison/compare_text.hpp>
#include <whywait/report/words.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

/// Names of a program as text: what Markdown or HTML would read as markup is escaped.
inline std::string markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '|' || c == '*' || c == '_' || c == '`' || c == '[' || c == ']' || c == '\\' || c == '#' || c == '~')
      (out += '\\') += c;
    else out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace detail

/// The comparison as Markdown, as short as a comment on a pull request or the summary of a job should be.
inline std::string markdown_of(const changes& c) {
  using namespace detail;
  std::string out = "### whywait: " + outcome_word(c) + "\n\n";
  for (const std::string& s : sentences(c)) out += markdown(s) + "\n";
  out += "\n| | before | after | change | |\n|---|---:|---:|---:|---|\n";
  for (const figure& f : c.figures) {
    std::string name = figure_words(f.name);
    name.erase(0, name.find_first_not_of(' '));
    const std::string emphasis = f.what == change::same ? "" : "**";
    out += "| " + name + " | " + value_text(f, f.values.before) + " | " + value_text(f, f.values.after) + " | " +
           change_text(f) + " | " + emphasis + (f.what == change::same ? "" : name_of(f.what)) + emphasis + " |\n";
  }
  if (!c.waits.empty()) out += "\n| waits, per rank | before | after | why |\n|---|---:|---:|---|\n";
  for (const wait_change& w : c.waits) {
    std::string why;
    for (const block_change& b : w.why)
      why += (why.empty() ? "" : "; ") + markdown(block_text(b.block)) + " " + (b.seconds.change() < 0 ? "-" : "+") +
             base::duration(std::fabs(b.seconds.change()));
    if (w.rank >= 0) why += (why.empty() ? "rank " : ", rank ") + std::to_string(w.rank);
    out += "| **" + std::string(name_of(w.what)) + "**: " + reports::pattern_words(w.wait.pattern) + ", " +
           markdown(base::call_text(w.wait.operation)) + " &larr; " + markdown(base::call_text(w.wait.cause)) + " | " +
           base::duration(w.seconds.before) + " | " + base::duration(w.seconds.after) + " | " + why + " |\n";
  }
  if (!c.path.empty()) out += "\n| critical path | before | after | |\n|---|---:|---:|---|\n";
  for (const block_change& b : c.path)
    out += "| **" + std::string(name_of(b.what)) + "**: " + markdown(block_text(b.block)) + " | " +
           base::duration(b.seconds.before) + " | " + base::duration(b.seconds.after) + " | " + visits_text(b) + " |\n";
  if (!c.savings.empty()) out += "\n";
  for (const saving_check& s : c.savings) out += "* " + markdown(saving_text(c, s)) + "\n";
  out += "\n<details><summary>" + sides_text(c) + "</summary>\n\n";
  for (const std::string& note : c.notes) out += "* " + markdown(note) + "\n";
  out += "* " + rule_text(c) + "\n\n</details>\n";
  return out;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
