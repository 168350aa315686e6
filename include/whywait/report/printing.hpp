#ifndef WHYWAIT_REPORT_PRINTING_HPP
#define WHYWAIT_REPORT_PRINTING_HPP

#include <whywait/report/model.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

// What a program can do with a result, without the code that does it: text.hpp and json.hpp define these functions, and
// so does the observer of a program (<whywait/observer.hpp>).

/// Layout and length of the text report.
struct text_options {
  /// In place of a width: lines are not wrapped.
  static constexpr std::size_t unlimited = 10000;

  bool full = true;  ///< otherwise the short report
  std::size_t columns = 80;
  bool colour = false;
  std::size_t most_waits = 6;  ///< number of waits shown at most
  double cover = 0.95;  ///< stops after this share of all waiting, unless the next wait is above quiet_below
  double quiet_below = 0.01;  ///< waiting below this share of rank time is not reported
  double quiet_seconds = 1e-3;  ///< nor is waiting below this total time
  std::size_t most_blocks = 8;  ///< timed blocks per wait
  double small_blocks = 0.03;  ///< blocks below this share of the wait are not shown
  std::size_t most_steps = 8;  ///< untimed steps and lines per wait, under the enclosing block
  std::size_t most_problems = 6;  ///< problems that belong to no single wait

  const char* bold() const noexcept { return colour ? "\033[1m" : ""; }
  const char* red() const noexcept { return colour ? "\033[1;31m" : ""; }
  const char* green() const noexcept { return colour ? "\033[32m" : ""; }
  const char* faint() const noexcept { return colour ? "\033[2m" : ""; }
  const char* off() const noexcept { return colour ? "\033[0m" : ""; }
};

/// Prints the report with one write: in the width of the terminal and coloured, or, if the stream is not a terminal, in lines
/// that are not wrapped; in ASCII if the locale is not UTF-8 (terminal.hpp). An empty line comes before all reports of a process
/// but the first. Write errors are ignored.
void print_text(const result& r, std::FILE* stream, text_options options = {});

/// Writes the full text to a file, in UTF-8 and with lines that are not wrapped, complete or not at all. Returns an empty text on
/// success, otherwise a message such as "cannot write run.txt: Permission denied".
std::string write_text_file(const result& r, const std::string& path);

/// Writes the document to a file, complete or not at all. Returns an empty text on success, otherwise a message such as
/// "cannot write run.json: Permission denied".
std::string write_json_file(const result& r, const std::string& path);

/// Writes the page to a file, in the same way. It contains the lines of source that it names, as far as they can be read.
/// `program`: file of the executable; relative paths of sources are looked for beside it.
std::string write_page_file(const result& r, const std::string& path, const char* program = "/proc/self/exe");

/// Writes prefix.json, prefix.txt with the full text, and prefix.html. Returns an empty text, or what went wrong; `lost` follows
/// it if that is the JSON file.
std::string write_files(const result& r, const std::string& prefix, const char* lost = "",
                        const char* program = "/proc/self/exe");

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
