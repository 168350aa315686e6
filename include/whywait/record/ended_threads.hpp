#ifndef WHYWAIT_RECORD_ENDED_THREADS_HPP
#define WHYWAIT_RECORD_ENDED_THREADS_HPP

#include <whywait/core/event_buffer.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/mismatch.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

struct location;

/// What threads without observed calls did that ended in one gap between two records of the thread that calls MPI.
struct ended_group {
  uint64_t begin, end;  ///< of the first and of the last of them, ticks
  uint64_t used;        ///< how long at least one of them ran
  uint64_t gap;         ///< index of the record after them
  uint64_t first_step, steps;
  uint64_t threads;
};

/// The marked work of threads that ended, so that their locations can serve later threads. Memory is bounded by the number of
/// places, and by the places that threads visited in each gap between two MPI calls of an epoch. Everything is
/// protected by registry::mutex; only `sums` may be read without it, and may then miss the newest thread.
class ended_threads {
 public:
  static constexpr uint64_t no_gap = ~uint64_t(0);

  // Set by the room that records calls; null: there is none.
  location* caller = nullptr;  ///< the first thread that called MPI
  bool several = false;        ///< more than one did
  /// The gap of the calling thread in which an interval lies, or no_gap.
  uint64_t (*gap_of)(const location& caller, uint64_t begin, uint64_t end) noexcept = nullptr;
  /// Prepares what a thread kept for its MPI calls for the next one; false: it stays as it is.
  bool (*release_calls)(location&) noexcept = nullptr;
  /// A thread continues the MPI calls of one that ended; runs on that thread.
  void (*take_over_calls)(location&) noexcept = nullptr;

  bool open(core::memory_budget& budget) noexcept {
    sums_ = static_cast<core::path_step*>(core::map_pages(sizeof(core::path_step) * core::site_table::capacity, false));
    places_ = static_cast<uint64_t*>(core::map_pages(sizeof(uint64_t) * core::site_table::capacity, false));
    return sums_ != nullptr && places_ != nullptr && groups_.open(budget) && steps_.open(budget);
  }

  /// Adds a step of a thread to the sums.
  void add(const core::path_step& step) noexcept {
    if (step.block < core::site_table::capacity) add_to(sums_[step.block], step);
  }
  // A thread that called no MPI: `begin_thread`, its steps, `end_thread`. `gap`: where it lies, or no_gap. `begin`: ticks.
  void begin_thread(uint64_t gap, uint64_t begin) noexcept {
    gap_ = gap;
    begin_ = begin;
    worked_ = false;
  }
  void add_work(const core::path_step& step) noexcept {
    ticks_ += step.ticks;
    if (gap_ == no_gap || step.block >= core::site_table::capacity) return;
    if (groups_.size() == 0 || newest().gap != gap_) {
      if (!groups_.push({~uint64_t(0), 0, 0, gap_, steps_.size(), 0, 0})) return;
      intervals_ = 0;
      settled_ = 0;
    }
    ended_group& group = newest();
    if (!worked_) leave_time_from(group, begin_);
    worked_ = true;
    const uint64_t known = places_[step.block];
    if (known >= group.first_step && known < steps_.size() && steps_[known].block == step.block)
      return add_to(steps_[known], step);
    places_[step.block] = steps_.size();
    if (steps_.push(step)) ++group.steps;
  }
  void end_thread(uint64_t begin, uint64_t end) noexcept {
    ++count_;
    if (!worked_) return;
    ended_group& group = newest();
    group.begin = begin < group.begin ? begin : group.begin;
    group.end = end > group.end ? end : group.end;
    ++group.threads;
    cover(group, begin, end);
  }

  /// Takes over what did not pair in a thread.
  void add_mismatches(uint64_t count, const mismatch& first) noexcept {
    if (count != 0 && mismatches == 0) first_mismatch = first;
    mismatches += count;
  }
  uint64_t mismatches = 0;    ///< how often begin and end did not pair
  mismatch first_mismatch{};  ///< one of the first

  uint64_t count() const noexcept { return count_; }
  uint64_t ticks() const noexcept { return ticks_; }
  /// By site, site_table::capacity of them; of all threads that ended, MPI calls or not.
  const core::path_step* sums() const noexcept { return sums_; }
  core::chunked_view<const ended_group> groups() const noexcept { return groups_.view(); }
  core::chunked_view<const core::path_step> steps() const noexcept { return steps_.view(); }
  uint64_t used_bytes() const noexcept {
    return groups_.size() * sizeof(ended_group) + steps_.size() * sizeof(core::path_step);
  }
  /// The records after the groups are explained.
  void forget_groups() noexcept {
    groups_.rewind();
    steps_.rewind();
  }

 private:
  struct interval {
    uint64_t begin, end;
  };
  static constexpr uint32_t most_intervals = 64;
  static constexpr uint32_t chunk = 1u << 14;

  static void add_to(core::path_step& sum, const core::path_step& step) noexcept {
    sum.block = step.block;
    sum.within = step.within;
    sum.visits += step.visits;
    sum.ticks += step.ticks;
    sum.work += step.work;
  }
  ended_group& newest() noexcept { return groups_[groups_.size() - 1]; }

  // The thread at hand ends last: whatever waits for all waited for it since its begin. The others keep what they ran before.
  void leave_time_from(ended_group& group, uint64_t begin) noexcept {
    uint64_t after = 0;
    for (uint32_t i = 0; i != intervals_; ++i)
      if (recent_[i].end > begin) after += recent_[i].end - (recent_[i].begin > begin ? recent_[i].begin : begin);
    if (after == 0 || group.used == 0) return;
    const double part = after < group.used ? static_cast<double>(group.used - after) / static_cast<double>(group.used) : 0;
    for (uint64_t i = group.first_step; i != group.first_step + group.steps; ++i) {
      core::path_step& s = steps_[i];
      if (s.ticks != 0) s.ticks = 1 + static_cast<uint64_t>(static_cast<double>(s.ticks - 1) * part);
    }
  }

  // Adds what of an interval no other one covers. They come in the order of their ends. Of many separate ones the oldest
  // are settled: a thread that began before those counts from their end.
  void cover(ended_group& group, uint64_t begin, uint64_t end) noexcept {
    if (begin < settled_) begin = settled_;
    if (end <= begin) return;
    while (intervals_ != 0 && recent_[intervals_ - 1].begin >= begin) {
      --intervals_;
      group.used -= recent_[intervals_].end - recent_[intervals_].begin;
    }
    if (intervals_ != 0 && recent_[intervals_ - 1].end >= begin) {
      interval& last = recent_[intervals_ - 1];
      if (end <= last.end) return;
      group.used += end - last.end;
      last.end = end;
      return;
    }
    if (intervals_ == most_intervals) {
      settled_ = recent_[0].end;
      --intervals_;
      for (uint32_t i = 0; i < intervals_; ++i) recent_[i] = recent_[i + 1];
    }
    recent_[intervals_++] = {begin, end};
    group.used += end - begin;
  }

  core::event_buffer<ended_group, core::drop_newest, chunk> groups_;
  core::event_buffer<core::path_step, core::drop_newest, chunk> steps_;
  core::path_step* sums_ = nullptr;
  uint64_t* places_ = nullptr;  // by site: where its newest step may be
  uint64_t count_ = 0;  // threads that called no MPI
  uint64_t ticks_ = 0;  // their time in marked work
  uint64_t gap_ = no_gap;  // of the thread at hand
  uint64_t begin_ = 0;  // likewise
  bool worked_ = false;  // it is in the newest group
  interval recent_[most_intervals];  // of the newest group, ascending
  uint32_t intervals_ = 0;
  uint64_t settled_ = 0;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
