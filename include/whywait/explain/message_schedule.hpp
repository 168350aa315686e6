#ifndef WHYWAIT_EXPLAIN_MESSAGE_SCHEDULE_HPP
#define WHYWAIT_EXPLAIN_MESSAGE_SCHEDULE_HPP

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

// The message-driven schedule of all passes through recorded events: each location advances from event to event, sends
// what others need from an event, and is stuck until everything that the event itself needs has arrived.

/// The position of one location in a pass.
enum class progress : std::uint8_t { between_events, at_event, finished };

/// Advances one location until it is stuck or finished. Returns whether it has done anything. `location` offers
///   begin_next() -> bool   goes to the next event; false at the end
///   send(moved) -> bool    sends what others need from the event and sets `moved` if it sent anything; false if flow
///                          control holds the rest back, and then `send` is called again
///   ready() -> bool        whether everything that the event needs has arrived
///   finish()               completes the event
template <class Location>
bool run_until_stuck(progress& at, Location&& location) {
  if (at == progress::finished) return false;
  bool moved = false;
  for (;;) {
    if (at == progress::between_events) {
      moved = true;
      if (!location.begin_next()) {
        at = progress::finished;
        return true;
      }
      at = progress::at_event;
    }
    if (!location.send(moved) || !location.ready()) return moved;
    location.finish();
    at = progress::between_events;
    moved = true;
  }
}

/// Advances the locations of one rank in turn until all are stuck; `run(i)` returns whether location i has done
/// anything. A single location needs no second turn, because only others can send it what it is stuck for.
template <class Run>
void run_all_until_stuck(std::size_t locations, Run&& run) {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i != locations; ++i) moved = run(i) || moved;
    moved = moved && locations > 1;
  }
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
