#ifndef WHYWAIT_CLOCKS_CLOCK_STAMP_HPP
#define WHYWAIT_CLOCKS_CLOCK_STAMP_HPP

#include <whywait/base/packet.hpp>
#include <whywait/clocks/delay_rule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The maximum number of hypotheses of one pass; more are answered in further passes. All that a report of a run on one machine
/// asks by itself fit into one, also with maps, because a pass over ranks that wait for each other in turn costs a message per
/// wait: compensation, an ideal network, 12 blocks, 2 moved sends, 6 balanced blocks, and 26 further speeds.
constexpr std::size_t most_clocks = 48;

/// The time stamp of a needed event: when it happened, and when it would have happened under each hypothesis. Stamps
/// that are needed together are joined to the latest of them.
struct clock_stamp {
  std::int64_t ready_ns = INT64_MIN;  ///< in the measured run
  std::int64_t bound_ns = 0;  ///< overhead on the measured critical path into it
  std::int64_t error_ns = 0;  ///< possible error of its delay
  clock_bank<most_clocks> at;  ///< under each hypothesis

  static clock_stamp never() noexcept {
    clock_stamp s;
    s.at.clock.fill(-never_ns);
    return s;
  }
  /// Copies the first `clocks` hypotheses.
  void set(const clock_stamp& o, std::size_t clocks) noexcept {
    ready_ns = o.ready_ns;
    bound_ns = o.bound_ns;
    error_ns = o.error_ns;
    std::memcpy(at.clock.data(), o.at.clock.data(), clocks * sizeof(std::int64_t));
  }
  /// Joins the first `clocks` hypotheses.
  void join(const clock_stamp& o, std::size_t clocks) noexcept {
    if (o.ready_ns == ready_ns) bound_ns = std::min(bound_ns, o.bound_ns);
    if (o.ready_ns > ready_ns) {
      ready_ns = o.ready_ns;
      bound_ns = o.bound_ns;
    }
    error_ns = std::max(error_ns, o.error_ns);
    for (std::size_t h = 0; h != clocks; ++h) at[h] = std::max(at[h], o.at[h]);
  }
};

/// Only the clocks in use are sent.
inline std::size_t stamp_bytes(std::size_t clocks) noexcept { return (3 + clocks) * sizeof(std::int64_t); }
inline void put_stamp(unsigned char* to, const clock_stamp& s, std::size_t clocks) {
  const std::int64_t head[] = {s.ready_ns, s.bound_ns, s.error_ns};
  std::memcpy(to, head, sizeof head);
  std::memcpy(to + sizeof head, s.at.clock.data(), clocks * sizeof(std::int64_t));
}
inline void get_stamp(base::packet_reader& in, std::size_t clocks, clock_stamp& s) {
  s.ready_ns = in.get<std::int64_t>();
  s.bound_ns = in.get<std::int64_t>();
  s.error_ns = in.get<std::int64_t>();
  const std::size_t bytes = clocks * sizeof(std::int64_t);
  std::memcpy(s.at.clock.data(), in.skip(bytes), bytes);
}

/// The instruction to send a stamp when `record` begins; also the format in which needs are requested.
struct clock_give {
  std::uint32_t record;
  std::int32_t rank;  ///< the receiver
  std::uint32_t target;  ///< its record, or its meeting
  std::uint32_t slot;  ///< location of the need; with `to_meeting`: place in the meeting
  static constexpr std::uint32_t to_meeting = 0x80000000u;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
