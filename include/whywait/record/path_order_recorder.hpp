#ifndef WHYWAIT_RECORD_PATH_ORDER_RECORDER_HPP
#define WHYWAIT_RECORD_PATH_ORDER_RECORDER_HPP

#include <whywait/core/chunked_view.hpp>
#include <whywait/core/event_buffer.hpp>
#include <whywait/core/path_folder.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/sync_record.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// The order in which one thread ran its blocks between its sync records, folded while it runs. Adds about 47 ns to a
/// region and 8 ns to a block; 62 ns to a block in an order that does not fold. Written by its thread only;
/// finished segments may be read by any.
///
/// It receives no synchronisations: an event belongs to the segment before the next sync record, and the first
/// event after a record ends the segment before it, whose times are in that record. A segment without events is not
/// kept: its time belongs to the innermost region.
class path_order {
 public:
  static constexpr uint32_t most_nodes = 4096;  ///< in one segment; what is more is only counted

  bool open(core::memory_budget& budget) noexcept {
    return folder_.open(most_nodes) && nodes_.open(budget) && segments_.open(budget);
  }
  void release() noexcept {
    folder_.release();
    nodes_.release();
    segments_.release();
  }

  // Each is called before the same function of the path recorder. `here` is a location, with its open regions (`path`)
  // and its sync records (`syncs`).

  template <class Location>
  void enter(const Location& here, uint32_t number, uint64_t now) noexcept {
    begin(here);
    spend_until(now);
    folder_.enter(number);
  }
  template <class Location>
  void leave(const Location& here, uint64_t now) noexcept {
    if (here.path.depth() == 0) return;  // counted elsewhere
    begin(here);
    spend_until(now);
    folder_.leave();
  }
  template <class Location>
  void visit(const Location& here, uint32_t number) noexcept {
    begin(here);
    folder_.step(number);
  }

  /// Ends the segment that a sync record has ended. For the thread itself, or when it has ended.
  template <class Location>
  void flush(const Location& here) noexcept {
    if (started_ && record_ != here.syncs.size()) finish(here);
  }

  /// The sync records are gone but for those that `here` has again: forgets the segments. After `flush`, or while the
  /// thread stands still: its open segment goes on.
  template <class Location>
  void rewind(const Location& here) noexcept {
    nodes_.rewind();
    segments_.rewind();
    record_ = here.syncs.size();
  }
  /// Bytes of its budget that are in use.
  uint64_t used_bytes() const noexcept {
    return nodes_.size() * sizeof(core::order_node) + segments_.size() * sizeof(core::order_segment);
  }

  /// In the order of their records.
  core::chunked_view<const core::order_segment> segments() const noexcept { return segments_.view(); }
  core::chunked_view<const core::order_node> nodes() const noexcept { return nodes_.view(); }
  /// Segments for which there was no memory.
  uint64_t lost_segments() const noexcept { return __atomic_load_n(&lost_segments_, __ATOMIC_RELAXED); }

 private:
  template <class Location>
  void begin(const Location& here) noexcept {
    if (__builtin_expect(started_ && record_ == here.syncs.size(), 1)) return;
    start(here);
  }

  template <class Location>
  __attribute__((noinline)) void start(const Location& here) noexcept {
    if (started_) finish(here);
    started_ = true;
    const uint64_t record = here.syncs.size();
    record_ = record;
    if (record != 0) {
      const core::sync_record& last = here.syncs.view()[record - 1];
      last_ = last.begin + last.duration;
    }
    const uint32_t depth = here.path.depth();
    for (uint32_t level = 0; level < depth; ++level) {
      const uint32_t open = here.path.open_region(level);
      if (open == 0) break;  // deeper than the recorder keeps
      folder_.enter(open, core::order_flag::region | core::order_flag::continued);
    }
  }

  template <class Location>
  __attribute__((noinline)) void finish(const Location& here) noexcept {
    started_ = false;
    spend_until(here.syncs.view()[record_].begin);
    core::order_segment segment{nodes_.size(), 0, static_cast<uint32_t>(record_), folder_.lost()};
    bool kept = true;
    folder_.finish([&](const core::order_node& node) noexcept { kept = kept && nodes_.push(node); });
    segment.nodes = static_cast<uint32_t>(nodes_.size() - segment.first);
    if (!kept || !segments_.push(segment)) __atomic_store_n(&lost_segments_, lost_segments_ + 1, __ATOMIC_RELAXED);
  }

  void spend_until(uint64_t now) noexcept {
    folder_.spend(now - last_);
    last_ = now;
  }

  core::path_folder folder_;
  uint64_t record_ = 0;  // index of the sync record that will end this segment
  uint64_t last_ = 0;
  bool started_ = false;
  uint64_t lost_segments_ = 0;
  core::event_buffer<core::order_node> nodes_;
  core::event_buffer<core::order_segment> segments_;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
