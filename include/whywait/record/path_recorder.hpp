#ifndef WHYWAIT_RECORD_PATH_RECORDER_HPP
#define WHYWAIT_RECORD_PATH_RECORDER_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/path_head.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// Folds the path of one thread into a profile: block -> (visits, exclusive time, work). `close` ends a segment: it
/// hands every block visited since the last `close` to a sink and starts afresh. Memory is bounded by the number of
/// distinct blocks. One thread and its signal handlers only; nothing here locks, allocates or fails. The exclusive
/// ticks of all blocks, outside included, sum to the time since `open` without the pauses, exactly. Blocks are
/// numbers below site_table::capacity. About 2.4 MB of zeroed memory, touched block by block: make it in fresh pages.
///
/// An instant is subtracted from a region's `whole` when it begins and added when it ends; for the region around it the same
/// instants go to `rest`, with the opposite sign. All steps of a mark are additions to memory, one instruction each: there is
/// no chain of dependent loads, and a mark in a signal handler that comes between two steps loses nothing. What is in the
/// segment is seen from the sign of `visits`.
class path_recorder {
 public:
  static constexpr uint32_t max_depth = path_head::max_depth;

  using entry = path_entry;
  using frame = path_frame;

  path_recorder() noexcept {  // zero already; the arrays are too large to be written
    static_assert(offsetof(path_recorder, profile_) == offsetof(path_recorder, head_) + sizeof(path_head),
                  "the profile begins behind the head");
    static_assert(
        offsetof(path_recorder, head_) - offsetof(path_recorder, frames_) - sizeof(frame) == path_head::frames_before_head,
        "marks compute where the frames lie");
  }

  /// Starts outside any region at `now`.
  void open(uint64_t now) noexcept {
    frames_[0].region = &outside_;
    head_.top = head_.fast_end = frames_;
    opened_ = now;
    outside_.visits = visited;  // as if it were listed, which it never is
    outside_.rest = 0 - now;
  }

  path_head& head() noexcept { return head_; }
  const path_head& head() const noexcept { return head_; }
  /// Whether this is a block of this recorder.
  bool holds(const entry* block) const noexcept { return block >= profile_ && block < profile_ + core::site_table::capacity; }

  /// Where what belongs to single blocks begins; what is before has to be kept whole.
  char* arrays() noexcept { return reinterpret_cast<char*>(touched_); }
  /// Keeps the rest for a reader after a crash, as far as there are sites.
  void keep_arrays(core::kept_file& keeper) noexcept {
    keeper.keep_by_site(touched_, 0, sizeof touched_[0]);
    keeper.keep_by_site(apart_, sizeof apart_ + sizeof head_, sizeof profile_[0]);
  }

  /// Takes over what the recorder at `remote` of a process that is gone held, as far as `memory` has it; of this one
  /// everything up to `arrays` is a copy already, the rest zero. False: it is not there, or damaged.
  template <class Memory>
  bool adopt(const path_recorder* remote, const Memory& memory) noexcept {
    const uint64_t entries = least(memory.room(&remote->profile_[0]), core::site_table::capacity);
    const uint64_t listed = least(memory.room(&remote->touched_[0]), core::site_table::capacity);
    const entry* const profile = memory.find(&remote->profile_[0], entries);
    const uint32_t* const touched = memory.find(&remote->touched_[0], listed);
    const path_head* const head = memory.find(&remote->head_, 1);
    if (entries == 0 || profile == nullptr || touched == nullptr || head == nullptr || touched_count_ > listed) return false;
    const uint64_t levels =
        (reinterpret_cast<uintptr_t>(head->top) - reinterpret_cast<uintptr_t>(&remote->frames_[0])) / sizeof(frame);
    if (levels > max_depth) return false;
    frames_[0].region = &outside_;
    for (uint64_t level = 1; level <= levels; ++level) {
      const uint64_t bytes =
          reinterpret_cast<uintptr_t>(frames_[level].region) - reinterpret_cast<uintptr_t>(&remote->profile_[0]);
      if (bytes % sizeof(entry) != 0 || bytes / sizeof(entry) >= entries) return false;
      frames_[level].region = profile_ + bytes / sizeof(entry);
    }
    for (uint32_t i = 0; i < touched_count_; ++i)
      if (touched[i] >= entries) return false;
    head_.top = head_.fast_end = frames_ + levels;
    deeper_ = 0;
    memcpy(touched_, touched, listed * sizeof touched_[0]);
    memcpy(static_cast<void*>(profile_), profile, entries * sizeof(entry));
    return true;
  }

  // --- What the head does, for all threads and depths

  /// Enters a timed region: one visit, time from `now` on. Beyond `max_depth` only visits are counted, the time
  /// stays with the region at that depth. Returns the new depth.
  uint32_t enter(uint32_t block, uint64_t now) noexcept {
    entry* const e = profile_ + block;
    if (!e->arrive()) touch(e);
    if (__builtin_expect(!head_.enters_fast(), 0)) make_room();
    if (depth() < max_depth) head_.enter(e, now);
    else ++deeper_;
    return depth();
  }
  /// Leaves the innermost region. Without an open region: counted, nothing else.
  void leave(uint64_t now) noexcept {
    if (deeper_ != 0) --deeper_;
    else if (head_.top == frames_) ++unmatched_leaves_;
    else if (!head_.leave(head_.top, now)) touch_outer();
  }
  /// Leaves one region and enters the next at one instant. Outside any region, or beyond `max_depth`, only the visit
  /// is counted.
  void next(uint32_t block, uint64_t now) noexcept {
    entry* const e = profile_ + block;
    if (!e->arrive()) touch(e);
    if (deeper_ == 0 && head_.top != frames_) path_head::next(head_.top, e, now);
  }
  void work(uint64_t units) noexcept { detail::add(head_.top->region->work, units); }
  /// Counts one visit of an untimed block.
  void visit(uint32_t block) noexcept {
    entry* const e = profile_ + block;
    if (!e->arrive()) touch(e, true);
  }

  /// Follows path_head::leave where that returns true.
  void touch_outer() noexcept { touch(head_.top->region); }

  /// Site number of the innermost region; 0 outside any.
  uint32_t innermost() const noexcept { return number(head_.top->region); }
  /// The same as an address: to see whether it has changed.
  const entry* innermost_entry() const noexcept { return head_.top->region; }
  uint32_t depth() const noexcept { return static_cast<uint32_t>(head_.top - frames_) + deeper_; }
  /// What `path_head::enter` returned or would have returned at that depth, and back: for the slow way, where a frame is
  /// only a name. Its last bit is free.
  uintptr_t name_of(uint32_t depth) const noexcept {
    return reinterpret_cast<uintptr_t>(frames_) + uintptr_t(depth) * sizeof(frame);
  }
  uint32_t depth_of(uintptr_t entered) const noexcept {
    return static_cast<uint32_t>((entered - reinterpret_cast<uintptr_t>(frames_)) / sizeof(frame));
  }
  uint64_t unmatched_leaves() const noexcept { return unmatched_leaves_; }
  /// Site number of the open region at `level` (0: outermost), for level < depth().
  uint32_t open_region(uint32_t level) const noexcept { return level < max_depth ? number(frames_[level + 1].region) : 0; }
  /// Names the stack of open regions, not only the innermost: changes whenever the stack does. For this process
  /// only: site numbers differ between ranks. Not mixed, so not every bit is a hash. One load where it is known,
  /// else 1 ns for each region entered since.
  core::stable_key path() const noexcept { return __builtin_expect(knows_path(), 1) ? head_.top->path : find_path(); }
  /// Whether path() is one load.
  __attribute__((always_inline)) bool knows_path() const noexcept { return head_.top->path != 0 || head_.top == frames_; }

  /// Ends the segment at `now`: calls sink(const path_step&) once for each block visited or timed in it, code
  /// outside any region (block 0) left out, for its time is what the others leave. O(blocks of the segment).
  template <class Sink>
  void close(uint64_t now, Sink&& sink) noexcept {
    entry* const inside = head_.top->region;
    in_list_ = true;
    detail::add(inside->rest, now);
    for (uint32_t i = 0; i < touched_count_; ++i) {
      entry& e = profile_[touched_[i]];
      const uint64_t visits = e.visits, work = e.work, ticks = e.ticks();
      // not set to 0: a signal handler may have counted meanwhile
      detail::subtract(e.visits, visits & (visited | entry::most_visits));
      detail::subtract(e.rest, ticks);
      if (work != 0 && (visits & entry::untimed) == 0) detail::subtract(e.work, work);
      hand_over(touched_[i], visits, work, ticks, sink);
    }
    touched_count_ = 0;
    if (inside == &outside_) {
      inside->rest = 0 - now;
    } else {
      add_to_list(inside);
      detail::subtract(inside->rest, now);
    }
    in_list_ = false;
  }

  /// A cheap `close` for segments in which only code outside any region ran. False: call `close`.
  bool close_if_outside(uint64_t now) noexcept {
    if (touched_count_ != 0 || head_.top != frames_) return false;
    outside_.rest = 0 - now;
    return true;
  }

  /// Whether nothing was visited since the last `close`: only the innermost code went on.
  bool undisturbed() const noexcept {
    if (touched_count_ == 0) return head_.top == frames_;
    const entry* const inside = head_.top->region;
    return touched_count_ == 1 && inside != &outside_ && touched_[0] == number(inside) &&
           (inside->visits & (visited | entry::most_visits)) == visited && inside->work == 0;
  }

  /// Shows the open segment as `close(now, sink)` would, and changes nothing. `now` before the last event (0): the
  /// innermost region gets no time in this segment. For the thread itself, its signal handlers included, or while
  /// it stands still: from another thread the numbers may be torn, never the memory.
  template <class Sink>
  void peek(uint64_t now, Sink&& sink) const noexcept {
    const entry* const inside = head_.top->region;
    const uint64_t longest = now > opened_ ? now - opened_ : 0;
    for (uint32_t i = 0; i < touched_count_; ++i) {
      const entry& e = profile_[touched_[i]];
      uint64_t ticks = e.ticks() + (&e == inside ? now : 0);
      // Between two steps of a mark an instant is counted on one side only.
      if (static_cast<int64_t>(ticks) > 0 && ticks > longest && longest != 0) ticks -= now;
      hand_over(touched_[i], e.visits, e.work, ticks, sink);
    }
  }

  /// Copies the open segment as `peek` shows it, for another thread than its own: numbers of blocks that change meanwhile may be
  /// torn. Returns how many steps there are; of more than `room` none is copied.
  __attribute__((noinline, no_sanitize("thread"))) uint32_t glimpse(uint64_t now, core::path_step* into,
                                                                    uint32_t room) const noexcept {
    // Not atomic: ThreadSanitizer checks atomic operations here as well.
    const entry* const inside = (*const_cast<const frame* const volatile*>(&head_.top))->region;
    const uint32_t count = *const_cast<const volatile uint32_t*>(&touched_count_);
    if (count > room) return count;
    const uint64_t longest = now > opened_ ? now - opened_ : 0;
    uint32_t copied = 0;
    const auto copy = [&](const core::path_step& step) { into[copied++] = step; };
    for (uint32_t i = 0; i < count; ++i) {
      const entry& e = profile_[touched_[i]];
      uint64_t ticks = e.whole + e.rest + (&e == inside ? now : 0);
      if (static_cast<int64_t>(ticks) > 0 && ticks > longest) ticks -= now;
      hand_over(touched_[i], e.visits, e.work, static_cast<int64_t>(ticks) < 0 ? 0 : ticks, copy);
    }
    return copied;
  }

  /// When it was opened, in ticks.
  uint64_t opened() const noexcept { return opened_; }

  /// Continues after a pause that belongs to no block (the inside of an MPI call) and began at the last `close`.
  void resume(uint64_t now) noexcept {
    entry* const inside = head_.top->region;
    inside->rest = 0 - now - inside->whole;
  }

  /// The time of all visits of a region with everything inside, MPI calls included, up to `now` if it is open. Any thread.
  uint64_t whole_ticks(uint32_t block, uint64_t now) const noexcept {
    const entry& e = profile_[block];
    const uint64_t ticks = e.is_open() ? e.whole + now : e.whole;
    return static_cast<int64_t>(ticks) > 0 ? ticks : 0;
  }
  /// Whether a region was entered inside itself, so that `whole_ticks` counts a time twice.
  bool is_repeated(uint32_t block) const noexcept { return (profile_[block].visits & entry::repeated) != 0; }
  /// Takes a pause out of `whole_ticks` of all open regions. For the thread itself.
  void leave_out(uint64_t ticks) noexcept {
    for (frame* each = frames_ + 1; each <= head_.top; ++each) {
      bool again = false;
      for (const frame* outer = frames_ + 1; outer != each && !again; ++outer) again = outer->region == each->region;
      if (!again) move_begin(*each->region, ticks);
    }
  }
  /// Begins `whole_ticks` of all regions at `now`, at the begin of the run. For the thread itself. O(blocks).
  void begin_whole(uint32_t blocks, uint64_t now) noexcept {
    for (uint32_t i = 1; i < blocks; ++i) {
      entry& e = profile_[i];
      if (e.whole != 0) move_begin(e, whole_ticks(i, now));
    }
  }

 private:
  static constexpr uint64_t visited = entry::visited;

  // The next 64 levels: from now on they are entered the fast way, but for the very last, above which it is deep. A
  // signal handler may meet a frame that is not written yet: it must name some block.
  __attribute__((noinline, cold)) void make_room() noexcept {
    frame* const end = frames_ + max_depth - 1 - head_.fast_end > 64 ? head_.fast_end + 64 : frames_ + (max_depth - 1);
    for (frame* each = head_.fast_end + 1; each <= end + 1; ++each)
      if (each->region == nullptr) each->region = profile_;
    head_.fast_end = end;
  }

  // The time so far of a region is less by that, and its time in the segment as it was.
  static void move_begin(entry& e, uint64_t ticks) noexcept {
    detail::subtract(e.whole, ticks);
    detail::add(e.rest, ticks);
  }

  static uint64_t least(uint64_t a, uint64_t b) noexcept { return a < b ? a : b; }

  uint32_t number(const entry* block) const noexcept {
    return block == &outside_ ? 0 : static_cast<uint32_t>(block - profile_);
  }

  // In a signal handler that interrupts just this the block has to wait: what was counted stays, and is listed at
  // a later visit.
  __attribute__((noinline, cold)) void touch(entry* e, bool step = false) noexcept {
    if (in_list_) return;
    in_list_ = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (step) {
      if ((e->visits & entry::untimed) == 0 && e->whole == 0) detail::set(e->visits, entry::untimed);
      if ((e->visits & entry::untimed) != 0) e->work = innermost();
    }
    if (static_cast<int64_t>(e->visits) >= 0) add_to_list(e);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    in_list_ = false;
  }
  void add_to_list(entry* e) noexcept {
    touched_[touched_count_++] = number(e);
    detail::add(e->visits, visited);
  }

  // A polynomial of the site numbers; mixed only where it is used as a hash.
  __attribute__((noinline)) core::stable_key find_path() const noexcept {
    frame* known = head_.top;
    while (known != frames_ && known->path == 0) --known;
    while (known != head_.top) {
      ++known;
      known->path = known[-1].path * 0x9e3779b97f4a7c15u + number(known->region);
    }
    return head_.top->path;
  }

  template <class Sink>
  static void hand_over(uint32_t block, uint64_t counted, uint64_t worked, uint64_t ticks, Sink& sink) noexcept {
    // Less than nothing: the counters of two processors differ by some ticks and the thread moved.
    if (static_cast<int64_t>(ticks) < 0) ticks = 0;
    const uint64_t visits = counted & entry::most_visits;
    const bool untimed = (counted & entry::untimed) != 0;
    const uint64_t work = untimed ? 0 : worked;
    const auto within = static_cast<uint32_t>(untimed ? worked : 0);
    if ((visits | ticks | work) != 0) sink(core::path_step{block, within, visits, ticks, work});
  }

  uint32_t touched_count_ = 0;
  uint32_t deeper_ = 0;  // how many regions beyond max_depth are open
  bool in_list_ = false;  // the list of touched blocks is being changed
  uint64_t opened_ = 0;
  uint64_t unmatched_leaves_ = 0;
  mutable frame frames_[max_depth + 1];  // 0: outside any region
  alignas(4096) uint32_t touched_[core::site_table::capacity];  // pages of their own: kept as far as there are sites
  // Half a page further than the frames: a load waits for an earlier store whose address has the same last 12 bits.
  // The profile begins with a cache line.
  char apart_[2048 + 64 - sizeof(path_head)];
  path_head head_ = {};
  entry profile_[core::site_table::capacity];  // 0 is that of places that have no number yet
  entry outside_;  // of no region
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
