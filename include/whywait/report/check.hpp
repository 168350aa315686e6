#ifndef WHYWAIT_REPORT_CHECK_HPP
#define WHYWAIT_REPORT_CHECK_HPP

#include <whywait/core/version.hpp>
#include <whywait/report/result_since.hpp>
#include <whywait/report/run_result.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace testing {

namespace detail {

/// The part of the run that checks are about.
class part {
 public:
  void begin(result before) {
    before_ = std::move(before);
    ended_ = false;
  }
  const result& end(const result& now, bool prints) {
    // Without a result the part keeps the reason.
    part_ = now && before_ ? now.since(before_) : now;
    prints_ = prints;
    ended_ = true;
    return part_;
  }
  bool ended() const noexcept { return ended_; }
  const result& last() const noexcept { return part_; }
  /// Whether this process is the one that prints.
  bool prints() const noexcept { return prints_; }

 private:
  result before_, part_;
  bool ended_ = false, prints_ = true;
};

inline part& the_part() {
  static part one;
  return one;
}

inline double unknown() noexcept { return std::numeric_limits<double>::quiet_NaN(); }
inline double if_known(const result& r, double value) noexcept { return r ? value : unknown(); }

struct totals {
  int checks = 0, failures = 0;
  void (*on_failure)(const char* file, int line, const std::string& message) = nullptr;
};
inline totals& the_totals() {
  static totals all;
  return all;
}

template <class T>
std::string shown(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
inline std::string shown(const std::string& value) { return '"' + value + '"'; }
inline std::string shown(const char* value) { return shown(std::string(value)); }
template <std::size_t N>
std::string shown(const char (&value)[N]) {
  return shown(std::string(value));
}
inline std::string shown(bool value) { return value ? "true" : "false"; }

}  // namespace detail

/// What the last question explained.
inline const result& look_at() noexcept { return detail::the_part().last(); }

/// How many checks were made in this process, and how many failed. The same on all ranks.
inline int checks() noexcept { return detail::the_totals().checks; }
inline int failures() noexcept { return detail::the_totals().failures; }
/// The status of a test program: 0, or 1 if a check failed.
inline int status() noexcept { return failures() == 0 ? 0 : 1; }

/// Calls `tell` on every rank for each check that fails, in addition to the line of rank 0, for other test frameworks:
///
///     whywait::testing::on_failure([](const char* file, int line, const std::string& message) {
///       ADD_FAILURE_AT(file, line) << message;   // Google Test
///     });
inline void on_failure(void (*tell)(const char* file, int line, const std::string& message)) noexcept {
  detail::the_totals().on_failure = tell;
}

/// A condition with the texts of its sides.
struct compared {
  bool good;
  std::string values;
};

/// The left side of a condition: `split() << a < b` is the comparison of a and b, with both values.
template <class Left>
struct left_side {
  const Left& left;
  operator compared() const { return {static_cast<bool>(left), detail::shown(left)}; }  // a condition without comparison
#define WHYWAIT_DETAIL_COMPARE(op)                                                                       \
  template <class Right>                                                                                 \
  compared operator op(const Right& right) const {                                                       \
    return {static_cast<bool>(left op right), detail::shown(left) + " " #op " " + detail::shown(right)}; \
  }
  WHYWAIT_DETAIL_COMPARE(<)
  WHYWAIT_DETAIL_COMPARE(<=)
  WHYWAIT_DETAIL_COMPARE(>)
  WHYWAIT_DETAIL_COMPARE(>=)
  WHYWAIT_DETAIL_COMPARE(==)
  WHYWAIT_DETAIL_COMPARE(!=)
#undef WHYWAIT_DETAIL_COMPARE
};
struct split {
  template <class Left>
  left_side<Left> operator<<(const Left& left) const {
    return {left};
  }
};

/// The outcome of a check.
struct judgement {
  bool good;
  std::string message;
};

/// Counts a check; a failure is printed on rank 0.
inline judgement judge(const compared& c, const char* expression, const char* file, int line) {
  detail::totals& totals = detail::the_totals();
  const result& part = look_at();
  const char* const enabled = std::getenv("WHYWAIT_ENABLE");
  if (!part && enabled != nullptr && std::string_view(enabled) == "0") return {true, {}};
  ++totals.checks;
  if (c.good) return {true, {}};
  ++totals.failures;
  std::string message = std::string("WHYWAIT_CHECK(") + expression + ") is false: " + c.values;
  if (!part) {
    message += "\n  there is no result: " + part.reason;
  } else if (!part.waits.empty()) {
    const result::wait* most = &part.waits.front();
    for (const result::wait& w : part.waits)
      if (w.seconds > most->seconds) most = &w;
    const std::string why = part.cause_of(most->operation.text);
    message += "\n  most waiting is in " + most->operation.text + (why.empty() ? "" : ", because of " + why);
  }
  if (detail::the_part().prints()) std::fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str());
  if (totals.on_failure != nullptr) totals.on_failure(file, line, message);
  return {false, std::move(message)};
}

}  // namespace testing
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
