#ifndef WHYWAIT_SYNC_MPI_CALL_HPP
#define WHYWAIT_SYNC_MPI_CALL_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/sync/mpi/state.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace sync {
namespace mpi {

namespace flag = core::sync_flag;

/// Who called a wrapper: return address, and the wrapper's own stack frame.
struct caller {
  const void* address;
  const void* frame;
};

/// One MPI call of the program while it is being recorded. False: pass it straight through (before MPI_Init,
/// after MPI_Finalize, recording off, or made inside another MPI call: error handlers, user operations,
/// attribute callbacks). Order of use: `begin`, the call, `leave`, then `store` once for each record.
class call {
 public:
  __attribute__((always_inline)) call(core::mpi_call what, const caller& from) noexcept
      : thread_(recording_thread()), what_(what), from_(from.address) {
    if (__builtin_expect(thread_ == nullptr, 0)) return;
    if (__builtin_expect(thread_->open.frame != nullptr, 0) && is_inside(thread_->open, from.frame)) {
      thread_ = nullptr;
      return;
    }
    thread_->open.frame = from.frame;
    thread_->open.address = from.address;
    thread_->open.call = what;
    ++thread_->calls[static_cast<size_t>(what)];
  }
  __attribute__((always_inline)) ~call() {
    if (__builtin_expect(thread_ == nullptr, 0)) return;
    if (__builtin_expect(begun_ && !left_, 0)) leave();  // an error handler threw
    thread_->open.frame = nullptr;
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  explicit operator bool() const noexcept { return thread_ != nullptr; }
  thread_state& thread() const noexcept { return *thread_; }
  state& process() const noexcept { return *thread_->process; }
  record::location& where() const noexcept { return *thread_->location; }
  /// Whether other threads may post at the same time: then ordinal and posting are under process().lock.
  bool several() const noexcept { return __atomic_load_n(&process().several, __ATOMIC_RELAXED); }

  /// Reads the clock and closes the path segment. Makes room for the first record.
  void begin() noexcept {
    begun_ = true;
    begin_ = core::cycle_clock::now();
    thread_->open.begin = begin_;
    close_segment();
    if (__builtin_expect(process().closed, 0)) return;
    steps_ = static_cast<uint32_t>(where().steps.size());
    if (__builtin_expect((where().syncs.size() & (decltype(where().syncs)::chunk_events - 1)) == 0, 0)) fresh_chunk();
    place_ = where().syncs.claim();
  }

  /// Reads the clock; from here on time belongs to the program again.
  void leave() noexcept {
    left_ = true;
    duration_ = core::cycle_clock::now() - begin_;
    where().path.resume(begin_ + duration_);
    site_ = thread_->sites.find_or_add(from_, what_, where().path);
    call_site& site = thread_->sites[site_];
    ++site.count;
    site.ticks += duration_;
  }

  /// A call that is told from the clock only once it is known to matter: successful polls.
  void happened_now() noexcept {
    begin();
    leave_at_once();
  }

  /// Index that the next stored record will have.
  uint32_t next_index() const noexcept { return static_cast<uint32_t>(where().syncs.size()); }

  /// Makes the next record, common facts filled in; `finish` publishes it. Null if there is no memory, or if
  /// there was none before. `posting`: the ordinal taken for it, or 0.
  __attribute__((always_inline)) core::sync_record* store(unsigned flags, uint32_t posting) noexcept {
    if (__builtin_expect(place_ == nullptr, 0) && !claim_again(posting)) return nullptr;
    core::sync_record* const r = place_;
    r->begin = begin_;
    r->duration = duration_;
    r->bytes = 0;
    r->overhead = overhead_;
    r->site = site_;
    r->steps = steps_;
    r->posting = posting;
    r->completion = 0;
    r->completed_by = 0;
    r->peer = -1;
    r->tag = -1;
    r->comm = 0;
    r->call = what_;
    r->flags = static_cast<uint16_t>(flags);
    return r;
  }
  __attribute__((always_inline)) void finish() noexcept {
    where().syncs.publish();
    place_ = nullptr;
    overhead_ = 0;
  }
  /// A posting that is its own completion (blocking calls).
  __attribute__((always_inline)) void finish_completed(core::sync_record* r) noexcept {
    r->completion = next_index();
    r->completed_by = where().index;
    r->flags = static_cast<uint16_t>(r->flags | flag::complete);
    finish();
  }

  /// What a call that MPI refused leaves: time spent, no message.
  void refuse() noexcept {
    if (core::sync_record* r = store(flag::failed, 0)) finish_completed(r);
  }

  uint64_t begun_at() const noexcept { return begin_; }
  uint64_t duration() const noexcept { return duration_; }
  void duration(uint64_t ticks) noexcept { duration_ = ticks; }

 private:
  // Whether the open call is still on the stack: an error handler may have left it by longjmp. Then its frame is
  // not above this one, or somebody has written over its return address.
  static bool is_inside(const open_call& outer, const void* frame) noexcept {
    if (reinterpret_cast<uintptr_t>(outer.frame) <= reinterpret_cast<uintptr_t>(frame)) return false;
#if defined(__x86_64__)
    return *(static_cast<const void* const volatile*>(outer.frame) + 1) == outer.address;
#else
    return true;
#endif
  }

  void leave_at_once() noexcept {
    left_ = true;
    duration_ = 0;
    where().path.resume(begin_);
    site_ = thread_->sites.find_or_add(from_, what_, where().path);
    ++thread_->sites[site_].count;
  }

  void close_segment() noexcept {
    record::location& here = where();
    if (__builtin_expect(process().closed, 0)) {
      here.path.close(begin_, [this](const core::path_step& step) { fold(step); });
      return;
    }
    here.path.close(begin_, [this, &here](const core::path_step& step) {
      if (core::path_step* const place = here.steps.claim()) {
        *place = step;
        here.steps.publish();
      } else {
        fold(step);
      }
    });
    if (__builtin_expect(here.steps.dropped() != 0, 0)) process().close(begin_, process().last_posting);
  }

  // Without memory for order only sums are kept.
  __attribute__((noinline, cold)) void fold(const core::path_step& step) noexcept {
    ++thread_->lost_steps;
    if (thread_->folded == nullptr)
      thread_->folded = static_cast<core::path_step*>(
          core::map_pages(sizeof(core::path_step) * core::site_table::capacity, false));
    if (thread_->folded == nullptr) return;
    core::path_step& sum = thread_->folded[step.block];
    sum.block = step.block;
    sum.within = step.within;
    sum.visits += step.visits;
    sum.ticks += step.ticks;
    sum.work += step.work;
  }

  // The kernel maps 64 KiB now and then: that pause is no time of the program.
  __attribute__((noinline, cold)) void fresh_chunk() noexcept {
    place_ = where().syncs.claim();
    const uint64_t now = core::cycle_clock::now();
    const uint64_t pause = now - begin_;
    overhead_ = pause < ~uint32_t(0) ? static_cast<uint32_t>(pause) : ~uint32_t(0);
    begin_ = now;
  }

  __attribute__((noinline)) bool claim_again(uint32_t posting) noexcept {
    if (!process().closed) {
      place_ = where().syncs.claim();
      if (place_ != nullptr) return true;
      process().close(begin_, posting != 0 ? posting - 1 : process().last_posting);
    }
    ++thread_->lost_records;
    return false;
  }

  thread_state* thread_;
  core::sync_record* place_ = nullptr;
  uint64_t begin_ = 0;
  uint64_t duration_ = 0;
  const core::mpi_call what_;
  uint32_t site_ = 0;
  uint32_t steps_ = 0;
  uint32_t overhead_ = 0;
  bool begun_ = false;
  bool left_ = false;
  const void* const from_;
};

}  // namespace mpi
}  // namespace sync
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
