#ifndef WHYWAIT_RECORD_PATH_RECORDER_HPP
#define WHYWAIT_RECORD_PATH_RECORDER_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// Folds the path of one thread into a profile: block -> (visits, exclusive time, work). Entering and leaving
/// a region costs one clock reading each; time goes to the innermost open region, so nothing is subtracted
/// later. `close` ends a segment: it hands every block visited since the last `close` to a sink and starts
/// afresh. Memory is bounded by the number of distinct blocks. One thread only; nothing here locks,
/// allocates or fails after `open`. The exclusive ticks of all blocks, outside included, sum to the time since
/// `open` without the pauses, exactly. Blocks are numbers below site_table::capacity.
/// `Clock` needs a static uint64_t now(); `Segment` is only narrower in tests.
template <class Clock, class Segment = uint32_t>
class path_recorder {
 public:
  static constexpr uint32_t max_depth = 1024;

  /// Reserves the profile (address space; touched block by block) and starts outside any region at `now`.
  /// `keeper`: keeps it for a reader after a crash; null: nobody does.
  bool open(uint64_t now, core::kept_file* keeper = nullptr) noexcept {
    profile_ = static_cast<entry*>(core::map_pages(sizeof(entry) * core::site_table::capacity, false));
    touched_ = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * core::site_table::capacity, false));
    if (profile_ == nullptr || touched_ == nullptr) return false;
    if (keeper != nullptr) {
      keeper->keep_by_site(profile_, sizeof(entry));
      keeper->keep_by_site(touched_, sizeof(uint32_t));
    }
    segment_ = 1;
    current_ = profile_;
    touch(profile_, 0);
    last_ = now;
    return true;
  }
  void release() noexcept {
    core::unmap_pages(profile_, sizeof(entry) * core::site_table::capacity);
    core::unmap_pages(touched_, sizeof(uint32_t) * core::site_table::capacity);
  }

  /// Enters a timed region: one visit, time from now on. Beyond `max_depth` only visits are counted, the time
  /// stays with the region at that depth. Returns the new depth.
  uint32_t enter(uint32_t block) noexcept {
    const uint64_t now = Clock::now();
    entry* const outer = current_;
    outer->ticks += now - last_;
    last_ = now;
    entry* const next = profile_ + block;
    if (__builtin_expect(next->segment != segment_, 0)) touch(next, 0);
    ++next->visits;
    const uint32_t depth = depth_;
    if (__builtin_expect(depth < max_depth, 1)) {
      frame& level = stack_[depth];
      const uint64_t path = path_;
      level.outer = outer;
      level.path = path;
      path_ = extend(path, block);
      current_ = next;
    }
    return depth_ = depth + 1;
  }

  /// Leaves the innermost region. Without an open region: counted, nothing else.
  void leave() noexcept {
    const uint32_t depth = depth_ - 1;
    if (__builtin_expect(depth >= max_depth, 0)) return leave_none_or_deep();  // one comparison for both
    const uint64_t now = Clock::now();
    const frame& level = stack_[depth];
    current_->ticks += now - last_;
    last_ = now;
    depth_ = depth;
    entry* const outer = level.outer;
    current_ = outer;
    path_ = level.path;
    if (__builtin_expect(outer->segment != segment_, 0)) touch(outer, 0);
  }

  /// Leaves one region and enters the next at one clock reading (consecutive phases, loop iterations). Outside
  /// any region, or beyond `max_depth`, only the visit is counted.
  void next(uint32_t block) noexcept;

  /// Counts one visit of an untimed block.
  void visit(uint32_t block) noexcept {
    entry* const step = profile_ + block;
    if (__builtin_expect(step->segment != segment_, 0)) touch(step, innermost());
    ++step->visits;
  }

  /// Adds work units to the innermost region.
  void work(uint64_t units) noexcept { current_->work += units; }

  /// Site number of the innermost region; 0 outside any.
  uint32_t innermost() const noexcept { return static_cast<uint32_t>(current_ - profile_); }
  uint32_t depth() const noexcept { return depth_; }
  uint64_t unmatched_leaves() const noexcept { return unmatched_leaves_; }
  /// Names the stack of open regions, not only the innermost: changes whenever the stack does. For this process
  /// only: site numbers differ between ranks. One load; not mixed, so not every bit is a hash.
  core::stable_key path() const noexcept { return path_; }
  /// Site number of the open region at `level` (0: outermost), for level < depth().
  uint32_t open_region(uint32_t level) const noexcept {
    if (level >= max_depth) return 0;
    const entry* const region = level + 1 < depth_ && level + 1 < max_depth ? stack_[level + 1].outer : current_;
    return static_cast<uint32_t>(region - profile_);
  }

  /// Ends the segment at `now`: calls sink(const path_step&) once for each block visited or timed in it, code
  /// outside any region (block 0) left out, for its time is what the others leave. O(blocks of the segment).
  template <class Sink>
  void close(uint64_t now, Sink&& sink) noexcept {
    current_->ticks += now - last_;
    last_ = now;
    for (uint32_t i = 0; i < touched_count_; ++i) hand_over(touched_[i], 0, sink);
    if (__builtin_expect(++segment_ == 0, 0)) forget_segments();
    touched_count_ = 0;
    touch(current_, 0);
  }

  /// `close` for the case that it has nothing to tell: only code outside any region ran. False: call `close`.
  bool close_if_outside(uint64_t now) noexcept {
    if (touched_count_ != 1 || current_ != profile_) return false;  // the innermost region is always touched
    last_ = now;
    return true;
  }

  /// Shows the open segment as `close(now, sink)` would, and changes nothing. `now` not after the last event
  /// (0, or the begin of the MPI call that the thread is in): the innermost region gets no running time.
  /// For the thread itself, its signal handlers included, or while it stands still: from another thread the
  /// numbers may be torn, never the memory.
  template <class Sink>
  void peek(uint64_t now, Sink&& sink) const noexcept {
    const uint64_t running = now > last_ ? now - last_ : 0;
    const uint32_t inside = innermost();
    for (uint32_t i = 0; i < touched_count_; ++i)
      hand_over(touched_[i], touched_[i] == inside ? running : 0, sink);
  }

  /// The clock at the last event.
  uint64_t last() const noexcept { return last_; }

  /// For a copy of the recorder of a process that is gone: reads its profile where `memory` has it from now on. False:
  /// it is not there, or damaged.
  template <class Memory>
  bool adopt(const Memory& memory) noexcept {
    const uint64_t entries = memory.room(profile_), listed = memory.room(touched_);
    const entry* const profile = memory.find(profile_, entries);
    const uint32_t* const touched = memory.find(touched_, listed);
    if (entries == 0 || profile == nullptr || touched == nullptr || touched_count_ > listed) return false;
    const auto move = [&](entry*& at) noexcept {
      const uint64_t bytes = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(profile_);
      if (bytes % sizeof(entry) != 0 || bytes / sizeof(entry) >= entries) return false;
      at = const_cast<entry*>(profile) + bytes / sizeof(entry);
      return true;
    };
    if (!move(current_)) return false;
    for (uint32_t level = 0; level < depth_ && level < max_depth; ++level)
      if (!move(stack_[level].outer)) return false;
    for (uint32_t i = 0; i < touched_count_; ++i)
      if (touched[i] >= entries) return false;
    profile_ = const_cast<entry*>(profile);
    touched_ = const_cast<uint32_t*>(touched);
    return true;
  }

  /// Continues after a pause that belongs to no block (the inside of an MPI call).
  void resume(uint64_t now) noexcept { last_ = now; }

 private:
  struct entry {
    uint64_t visits;
    uint64_t ticks;
    uint64_t work;
    uint32_t within;
    Segment segment;  // entries of an older segment count as empty
  };
  struct frame {
    entry* outer;
    uint64_t path;
  };

  // A polynomial of the site numbers; mixed only where it is used as a hash.
  static uint64_t extend(uint64_t path, uint32_t block) noexcept { return path * 0x9e3779b97f4a7c15u + block; }

  __attribute__((noinline, cold)) void leave_none_or_deep() noexcept {
    if (depth_ == 0) ++unmatched_leaves_;
    else --depth_;  // beyond max_depth nothing changed at the enter: the time goes on with the region there
  }

  __attribute__((noinline)) void touch(entry* e, uint32_t within) noexcept {
    *e = entry{0, 0, 0, within, segment_};
    touched_[touched_count_++] = static_cast<uint32_t>(e - profile_);
  }

  template <class Sink>
  void hand_over(uint32_t block, uint64_t running, Sink& sink) const noexcept {
    const entry& e = profile_[block];
    uint64_t ticks = e.ticks + running;
    // Less than nothing: the counters of two processors differ by some ticks and the thread moved.
    if (static_cast<int64_t>(ticks) < 0) ticks = 0;
    if (block != 0 && (e.visits | ticks | e.work) != 0)
      sink(core::path_step{block, e.within, e.visits, ticks, e.work});
  }

  // After 2^32 segments their numbers begin again at 1; what was touched before must not look current.
  __attribute__((noinline, cold)) void forget_segments() noexcept {
    for (uint32_t block = 0; block < core::site_table::capacity; ++block)
      if (profile_[block].segment != 0) profile_[block].segment = 0;  // reading does not make pages
    segment_ = 1;
  }

  entry* current_ = nullptr;
  uint64_t last_ = 0;
  uint64_t path_ = 0;
  uint32_t depth_ = 0;
  Segment segment_ = 0;
  entry* profile_ = nullptr;
  uint32_t* touched_ = nullptr;
  uint32_t touched_count_ = 0;
  uint64_t unmatched_leaves_ = 0;
  frame stack_[max_depth];
};

template <class Clock, class Segment>
void path_recorder<Clock, Segment>::next(uint32_t block) noexcept {
  const uint64_t now = Clock::now();
  current_->ticks += now - last_;
  last_ = now;
  entry* const following = profile_ + block;
  if (__builtin_expect(following->segment != segment_, 0)) touch(following, 0);
  ++following->visits;
  const uint32_t depth = depth_ - 1;
  if (__builtin_expect(depth >= max_depth, 0)) return;
  path_ = extend(stack_[depth].path, block);
  current_ = following;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
