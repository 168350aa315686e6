#ifndef WHYWAIT_THREAD_DEADLINES_HPP
#define WHYWAIT_THREAD_DEADLINES_HPP

#include <whywait/thread/observe.hpp>

#include <time.h>

#include <chrono>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {
namespace threads {

/// An instant of a clock of the C++ library for the system: CLOCK_MONOTONIC for steady_clock, CLOCK_REALTIME for system_clock;
/// of other clocks as far from now.
struct deadline {
  clockid_t clock;
  timespec at;

  template <class Duration>
  static deadline of(const std::chrono::time_point<std::chrono::steady_clock, Duration>& t) {
    return {CLOCK_MONOTONIC, spec(t.time_since_epoch())};
  }
  template <class Duration>
  static deadline of(const std::chrono::time_point<std::chrono::system_clock, Duration>& t) {
    return {CLOCK_REALTIME, spec(t.time_since_epoch())};
  }
  template <class Clock, class Duration>
  static deadline of(const std::chrono::time_point<Clock, Duration>& t) {
    return after(t - Clock::now());
  }
  template <class Rep, class Period>
  static deadline after(const std::chrono::duration<Rep, Period>& wait) {
    using steady = std::chrono::steady_clock;
    const steady::time_point now = steady::now();
    const auto most =
        std::chrono::duration_cast<std::chrono::seconds>(steady::time_point::max() - now) - std::chrono::seconds(1);
    if (wait >= most) return of(now + most);
    return of(now + std::chrono::ceil<steady::duration>(wait));
  }

 private:
  template <class Duration>
  static timespec spec(const Duration& since) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds);
    if (seconds.count() < 0) return {0, 0};
    return {static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
  }
};

}  // namespace threads
}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
