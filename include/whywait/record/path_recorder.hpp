#ifndef WHYWAIT_RECORD_PATH_RECORDER_HPP
#define WHYWAIT_RECORD_PATH_RECORDER_HPP

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
/// allocates or fails after `open`.
template <class Clock>
class path_recorder {
 public:
  static constexpr uint32_t max_depth = 1024;

  /// Reserves the profile (address space; touched block by block) and starts outside any region at `now`.
  bool open(uint64_t now) noexcept {
    profile_ = static_cast<entry*>(core::map_pages(sizeof(entry) * core::site_table::capacity, false));
    touched_ = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * core::site_table::capacity, false));
    if (profile_ == nullptr || touched_ == nullptr) return false;
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

  /// Enters a timed region: one visit, time from now on. Beyond `max_depth` only visits are counted.
  void enter(uint32_t block) noexcept {
    const uint64_t now = Clock::now();
    current_->ticks += now - last_;
    last_ = now;
    entry* const next = profile_ + block;
    if (__builtin_expect(next->segment != segment_, 0)) touch(next, 0);
    ++next->visits;
    if (__builtin_expect(depth_ < max_depth, 1)) {
      stack_[depth_].outer = current_;
      stack_[depth_].path = path_;
      path_ = core::combine(path_, block);
      current_ = next;
    }
    ++depth_;
  }

  /// Leaves the innermost region. Without an open region: counted, nothing else.
  void leave() noexcept {
    if (__builtin_expect(depth_ == 0, 0)) {
      ++unmatched_leaves_;
      return;
    }
    const uint64_t now = Clock::now();
    current_->ticks += now - last_;
    last_ = now;
    if (__builtin_expect(--depth_ >= max_depth, 0)) return;
    current_ = stack_[depth_].outer;
    path_ = stack_[depth_].path;
    if (__builtin_expect(current_->segment != segment_, 0)) touch(current_, 0);
  }

  /// Leaves one region and enters the next at one clock reading (consecutive phases, loop iterations).
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
  /// Names the stack of open regions, not only the innermost: changes whenever the stack does.
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
    for (uint32_t i = 0; i < touched_count_; ++i) {
      const uint32_t block = touched_[i];
      const entry& e = profile_[block];
      if (block != 0 && (e.visits | e.ticks | e.work) != 0)
        sink(core::path_step{block, e.within, e.visits, e.ticks, e.work});
    }
    ++segment_;
    touched_count_ = 0;
    touch(current_, current_->within);
  }

  /// Continues after a pause that belongs to no block (the inside of an MPI call).
  void resume(uint64_t now) noexcept { last_ = now; }

 private:
  struct entry {
    uint64_t visits;
    uint64_t ticks;
    uint64_t work;
    uint32_t within;
    uint32_t segment;  // entries of an older segment count as empty
  };
  struct frame {
    entry* outer;
    core::stable_key path;
  };

  __attribute__((noinline)) void touch(entry* e, uint32_t within) noexcept {
    *e = entry{0, 0, 0, within, segment_};
    touched_[touched_count_++] = static_cast<uint32_t>(e - profile_);
  }

  entry* current_ = nullptr;
  uint64_t last_ = 0;
  core::stable_key path_ = 0;
  uint32_t depth_ = 0;
  uint32_t segment_ = 0;
  entry* profile_ = nullptr;
  uint32_t* touched_ = nullptr;
  uint32_t touched_count_ = 0;
  uint64_t unmatched_leaves_ = 0;
  frame stack_[max_depth];
};

template <class Clock>
void path_recorder<Clock>::next(uint32_t block) noexcept {
  const uint64_t now = Clock::now();
  current_->ticks += now - last_;
  last_ = now;
  entry* const following = profile_ + block;
  if (__builtin_expect(following->segment != segment_, 0)) touch(following, 0);
  ++following->visits;
  if (depth_ == 0 || depth_ > max_depth) return;
  path_ = core::combine(stack_[depth_ - 1].path, block);
  current_ = following;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
