#ifndef WHYWAIT_RECORD_TIMELINE_RECORDER_HPP
#define WHYWAIT_RECORD_TIMELINE_RECORDER_HPP

#include <whywait/core/event_buffer.hpp>
#include <whywait/core/timeline_event.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// The raw events of one thread, 8 bytes each, as long as its memory lasts: then the first or the last of them,
/// as it was opened. About 12 ns for each event of a region and
/// 8 ns for a step more than without. Written by its thread only; one reader at a time may drain.
class timeline {
 public:
  /// `keep_last`: when memory is short the oldest events make room for the newest, else the newest are lost.
  bool open(core::memory_budget& budget, bool keep_last) noexcept {
    keep_last_ = keep_last;
    return keep_last ? last_.open(budget) : first_.open(budget);
  }
  void release() noexcept {
    if (keep_last_) last_.release();
    else first_.release();
  }

  void enter(uint32_t number, uint64_t now) noexcept { put(core::timeline_event::enter, number, latest_ = now); }
  void leave(uint32_t number, uint64_t now) noexcept { put(core::timeline_event::leave, number, latest_ = now); }
  void visit(uint32_t number) noexcept { put(core::timeline_event::visit, number, latest_); }

  /// Reader: calls sink(const core::timeline_event* first, uint64_t count), oldest first, in runs of at most a chunk;
  /// what it got is gone. Each run begins with the clock, or goes on where the last one stopped. Returns how many.
  template <class Sink>
  uint64_t drain(Sink&& sink) {
    return keep_last_ ? last_.drain(sink) : first_.drain(sink);
  }

  /// Events that happened, kept or not, without those of the clock.
  uint64_t happened() const noexcept { return __atomic_load_n(&happened_, __ATOMIC_RELAXED); }
  bool keeps_last() const noexcept { return keep_last_; }
  /// Whether events have been lost.
  bool incomplete() const noexcept {
    const core::event_counts c = keep_last_ ? last_.counts() : first_.counts();
    return c.dropped != 0 || c.overwritten != 0;
  }

 private:
  void put(core::timeline_event::kind_t kind, uint32_t number, uint64_t ticks) noexcept {
    __atomic_store_n(&happened_, happened_ + 1, __ATOMIC_RELAXED);
    if (keep_last_) put(last_, kind, number, ticks);
    else put(first_, kind, number, ticks);
  }

  template <class Buffer>
  void put(Buffer& buffer, core::timeline_event::kind_t kind, uint32_t number, uint64_t ticks) noexcept {
    const uint32_t high = static_cast<uint32_t>(ticks >> 32);
    if (__builtin_expect(high != high_ || (buffer.size() & (Buffer::chunk_events - 1)) == 0, 0)) {
      if (!buffer.push(core::timeline_event::make(core::timeline_event::clock, 0, high)))
        return;  // nor is there room for the event
      high_ = high;
    }
    buffer.push(core::timeline_event::make(kind, number, ticks));
  }

  bool keep_last_ = false;
  uint32_t high_ = 0;
  uint64_t latest_ = 0;
  uint64_t happened_ = 0;
  core::event_buffer<core::timeline_event, core::drop_newest> first_;
  core::event_buffer<core::timeline_event, core::overwrite_oldest> last_;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
