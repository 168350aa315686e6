#ifndef WHYWAIT_RULES_FINDING_HPP
#define WHYWAIT_RULES_FINDING_HPP

#include <whywait/base/vector.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// An action as a finding names it: a call and its place, or whatever `text` says.
struct action {
  std::string call;    ///< "MPI_Send"
  std::string region;  ///< innermost region, "calculate"
  std::string file;
  int line = 0;
  std::string text;    ///< "MPI_Send in calculate (jacobi.cpp:88)"

  bool operator<(const action& o) const {
    if (const int c = call.compare(o.call)) return c < 0;
    if (const int c = region.compare(o.region)) return c < 0;
    if (const int c = file.compare(o.file)) return c < 0;
    return line != o.line ? line < o.line : text < o.text;
  }

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  action() = default;
  action(std::string call_name, std::string region_name, std::string file_name, int line_number, std::string words)
      : call(std::move(call_name)), region(std::move(region_name)), file(std::move(file_name)), line(line_number), text(std::move(words)) {}
  [[gnu::noinline]] action(const action&) = default;
  [[gnu::noinline]] action(action&&) = default;
  [[gnu::noinline]] action& operator=(const action&) = default;
  [[gnu::noinline]] action& operator=(action&&) = default;
  [[gnu::noinline]] ~action() = default;
};

/// A problem found: all events for which one problem rule held, at the same actions.
struct finding {
  std::string problem;      ///< the name the rule gives it
  std::string description;
  std::string advice;
  base::vector<action> actions;  ///< what led to it: calls and their places, at most 8
  double seconds = 0;       ///< sum of the rule's duration
  double saving = 0;        ///< upper bound of what following the advice saves, at most `seconds`
  double share = 0;         ///< seconds of the time of all locations; 0 if that is not known
  double instances = 0;     ///< events for which the rule held
  std::int64_t wait = -1;   ///< number of the one wait that it explains; -1: none, or several
  bool matters = true;      ///< at or above the threshold
  std::uint32_t rule = 0;   ///< index in knowledge::problems

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  finding() = default;
  [[gnu::noinline]] finding(const finding&) = default;
  [[gnu::noinline]] finding(finding&&) = default;
  [[gnu::noinline]] finding& operator=(const finding&) = default;
  [[gnu::noinline]] finding& operator=(finding&&) = default;
  [[gnu::noinline]] ~finding() = default;
};

/// What rules say about one wait of an outcome.
struct wait_advice {
  bool known = false;         ///< an active problem is declared for its pattern: without one it is no finding
  base::vector<finding> list;  ///< most saving first
};

/// What all rules say about one run.
struct evaluation {
  base::vector<wait_advice> waits;     ///< one for each entry of outcome::waits, same order; empty: no rules were asked
  base::vector<finding> problems;      ///< those that belong to no single wait, most saving first
  base::vector<std::string> messages;  ///< what went wrong with rules at run time, each ready to print
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
