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
};

/// Prints the report with one write, coloured if the stream is a terminal. Write errors are ignored.
void print_text(const result& r, std::FILE* stream, text_options options = {});

/// Writes the document to a file, complete or not at all. Returns an empty text on success, otherwise a message such as
/// "cannot write run.json: Permission denied".
std::string write_json_file(const result& r, const std::string& path);

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
