#ifndef WHYWAIT_LEFT_BEHIND_HPP
#define WHYWAIT_LEFT_BEHIND_HPP

/// Reads what programs left behind that ran with WHYWAIT_CRASH=folder and were killed, by SIGKILL for example:
///
///     whywait::report_left_behind("folder");
///
/// The next MPI program that runs with the same setting does that by itself. Needs no MPI; link nothing.
/// docs/how-to/after-a-crash.md lists what is found after which end.

#include <whywait/core/version.hpp>

#include <whywait/postmortem/report_left_behind.hpp>

#ifdef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0_off {

/// With WHYWAIT_DISABLE no file is read.
struct left_behind_options {
  std::FILE* text = stderr;
  std::string output;
  bool remove = true;
};
inline int report_left_behind(const std::string&, const left_behind_options& = {}) { return 0; }

}  // namespace v0_off
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
