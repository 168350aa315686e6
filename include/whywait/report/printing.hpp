#ifndef WHYWAIT_REPORT_PRINTING_HPP
#define WHYWAIT_REPORT_PRINTING_HPP

#include <whywait/report/model.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

// What a program can do with a result, without the code that does it: text.hpp and json.hpp define these functions, and so
// does the observer of a program (<whywait/observer.hpp>).

/// How the text looks and how much of it there is.
struct text_options {
  std::size_t columns = 80;
  bool colour = false;
  std::size_t most_waits = 6;  ///< at most so many waits are shown
  double cover = 0.95;          ///< and no more than make up this share of all waiting, or matter by themselves
  double quiet_below = 0.01;    ///< waiting below this share of rank time does not matter,
  double quiet_seconds = 1e-3;  ///< and so is waiting below this time in all
  std::size_t most_blocks = 8;    ///< timed blocks per wait
  double small_blocks = 0.03;     ///< and none below this share of the wait
  std::size_t most_steps = 8;     ///< untimed steps and lines per wait, under the block around them
  std::size_t most_problems = 6;  ///< problems that belong to no single wait
};

/// Prints the report in one piece, coloured where the stream is a terminal. Ignores write errors: there is no one to
/// tell.
void print_text(const result& r, std::FILE* stream, text_options options = {});

/// Writes the document to a file, complete or not at all. Empty on success, else one line that says what went wrong and
/// why ("cannot write run.json: Permission denied").
std::string write_json_file(const result& r, const std::string& path);

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
