#ifndef WHYWAIT_REPORT_PROGRESS_HPP
#define WHYWAIT_REPORT_PROGRESS_HPP

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace report {

/// Shows how far an analysis is, on one line that it takes away again: "whywait: explaining  45 %". Silent for the
/// first second and where nobody looks (no terminal); at most five updates a second. Call it as often as you like with
/// the fraction done; about 30 ns. One thread.
class progress {
 public:
  using clock = std::function<std::int64_t()>;  ///< nanoseconds, never going back
  using print = std::function<void(const std::string& text)>;

  /// On `stream` if it is a terminal, else nowhere.
  explicit progress(std::FILE* stream, std::string what = "explaining")
      : progress(::isatty(::fileno(stream)) == 1, std::move(what), &steady_ns, [stream](const std::string& text) {
          std::fwrite(text.data(), 1, text.size(), stream);
          std::fflush(stream);
        }) {}

  progress(bool visible, std::string what, clock now, print out)
      : visible_(visible), what_(std::move(what)), now_(std::move(now)), out_(std::move(out)) {
    if (visible_) next_ns_ = now_() + 1000000000;
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// `fraction` of the work is done, 0 to 1. Never shows less than it showed before.
  void operator()(double fraction) {
    if (!visible_) return;
    const std::int64_t now_ns = now_();
    if (now_ns < next_ns_) return;
    next_ns_ = now_ns + 200000000;
    const double bounded = fraction > 0 ? std::min(fraction, 1.0) : 0.0;  // NaN is 0
    percent_ = std::max(percent_, static_cast<int>(bounded * 100));
    std::string number = std::to_string(percent_);
    number.insert(0, 3 - std::min<std::size_t>(number.size(), 3), ' ');
    out_("\rwhywait: " + what_ + " " + number + " %");
    shown_ = true;
  }

  /// Takes the line away, so that the report begins on a clean one. The destructor does it too.
  void clear() {
    if (shown_) out_("\r\033[K");
    shown_ = false;
  }

 private:
  static std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  bool visible_;
  bool shown_ = false;
  int percent_ = 0;
  std::int64_t next_ns_ = 0;
  std::string what_;
  clock now_;
  print out_;
};

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
