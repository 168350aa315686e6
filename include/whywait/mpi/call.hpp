#ifndef WHYWAIT_MPI_CALL_HPP
#define WHYWAIT_MPI_CALL_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/script_place.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/mpi/binding_frames.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/record/close_segment.hpp>
#include <whywait/record/counted_code.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

namespace flag = core::sync_flag;

/// Which call a role function serves. As a type: hot calls have a role function each, in which it is a constant. Rare calls
/// share one, which receives it as a core::mpi_call.
template <core::mpi_call C>
struct fixed_call {
  constexpr operator core::mpi_call() const noexcept { return C; }
};

/// The MPI call that a wrapper passes on, without its type: role functions of rare calls are compiled once.
class passed_call {
 public:
  template <class Pass>
  __attribute__((always_inline)) explicit passed_call(Pass& pass) noexcept : pass_(&pass), run_(&run<Pass>) {}
  int operator()() const { return run_(pass_); }

 private:
  template <class Pass>
  static int run(void* pass) {
    return (*static_cast<Pass*>(pass))();
  }

  void* pass_;
  int (*run_)(void*);
};

/// What is known of a call. Functions that are not inlined receive a copy, because a reference to the call would force all of
/// its fields into memory.
class call_summary {
 public:
  thread_state& thread() const noexcept { return *thread_; }
  state& process() const noexcept { return *thread_->process; }
  record::location& where() const noexcept { return *thread_->location; }
  /// Index that the next stored record will have.
  uint32_t next_index() const noexcept { return static_cast<uint32_t>(where().syncs.size()); }
  uint64_t begun_at() const noexcept { return begin_; }
  uint64_t duration() const noexcept { return duration_; }
  /// Number of its call site, once it has left.
  uint32_t site() const noexcept { return site_; }

 protected:
  __attribute__((always_inline)) explicit call_summary(thread_state* thread) noexcept : thread_(thread) {}

  thread_state* thread_;
  uint64_t begin_ = 0, duration_ = 0;
  uint32_t site_ = 0;
};

/// One MPI call of the program while it is being recorded. False: pass it straight through (before MPI_Init,
/// after MPI_Finalize, recording off, or made inside another MPI call: error handlers, user operations,
/// attribute callbacks). Order of use: `begin`, the call, `leave`, then `store` once for each record. Polls: poll_call.
class call : public call_summary {
 public:
  __attribute__((always_inline)) call(core::mpi_call what, const caller& from) noexcept
      : call_summary(recording_thread()), from_(from.address), what_(what) {
    if (__builtin_expect(thread_ == nullptr, 0)) return;
    if (__builtin_expect(thread_->open.frame != nullptr, 0)) {
      if (is_inside(thread_->open, from.frame)) {
        thread_ = nullptr;
        return;
      }
      thread_->release_posting_locks();
    }
    thread_->open.frame = from.frame;
    thread_->open.address = from.address;
    thread_->open.call = what;
    const uint64_t turn = ++thread_->calls[static_cast<size_t>(what)];
    if (__builtin_expect(turn % self_timing::every == 0, 0)) entered_ = begin_timing(what, turn);
  }
  __attribute__((always_inline)) ~call() {
    if (__builtin_expect(thread_ == nullptr, 0)) return;
    if (__builtin_expect(open_, 0)) leave_late(*thread_, begin_, what_, from());  // an error handler threw
    thread_->open.frame = nullptr;
    if (__builtin_expect(entered_ != 0, 0))
      time_itself(*thread_, what_, entered_, begin_, open_ ? 0 : given_, begin_ + duration_);
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  explicit operator bool() const noexcept { return thread_ != nullptr; }
  __attribute__((always_inline)) call_summary summary() const noexcept { return *this; }
  /// Whether other threads may post at the same time: then ordinal and posting are under a lock.
  bool several() const noexcept { return __atomic_load_n(&process().several, __ATOMIC_RELAXED); }

  /// Reads the clock and closes the path segment. Makes room for the first record.
  __attribute__((always_inline)) void begin() noexcept {
    open_ = true;
    begin_ = core::cycle_clock::now();
    thread_->open.begin = begin_;
    make_room();
    if (__builtin_expect(thread_->counter.is_due(begin_), 0)) read_counter();
    if (__builtin_expect(entered_ != 0, 0)) given_ = read_clock();
  }

  /// Stores communicator, peer and tag of the open call for readers of another thread: what it may be waiting for.
  __attribute__((always_inline)) void about(uint64_t comm, int peer, int tag) noexcept {
    thread_->open.comm = comm;
    thread_->open.peer = peer;
    thread_->open.tag = tag;
  }

  /// Reads the clock; from here on time belongs to the program again.
  __attribute__((always_inline)) void leave() noexcept {
    open_ = false;
    const uint64_t now = core::cycle_clock::now();
    duration_ = now - begin_;
    thread_->left = now;
    if (__builtin_expect(thread_->counter.is_long(duration_), 0)) record::end_counted_call(where(), *thread_, process(), now);
    where().path.resume(now);
    site_ = thread_->sites.count(from(), what_, where().path, duration_);
  }

  /// Makes the next record, common facts filled in; `finish` publishes it. Null if there is no memory, or if
  /// there was none before. `posting`: the ordinal taken for it, or 0.
  __attribute__((always_inline)) core::sync_record* store(unsigned flags, uint32_t posting) noexcept {
    core::sync_record* r = place_;
    if (__builtin_expect(r == nullptr, 0)) {
      r = record::claim_again(where(), *thread_, process(), begin_, posting);
      if (r == nullptr) return nullptr;
    }
    r->begin = alone(begin_);
    r->duration = alone(duration_);
    r->bytes = 0;
    r->overhead = alone(overhead_);
    r->site = alone(site_);
    r->steps = alone(steps_);
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

  using call_summary::duration;
  void duration(uint64_t ticks) noexcept { duration_ = ticks; }

 protected:
  // Closes the path segment and makes room for the first record.
  __attribute__((always_inline)) void make_room() noexcept {
    record::location& here = where();
    if (!here.path.close_if_outside(begin_) || __builtin_expect(thread_->registry->sources != nullptr, 0))
      pause_until(close_segment(*thread_, begin_));
    if (__builtin_expect(process().closed, 0)) return;
    steps_ = static_cast<uint32_t>(here.steps.size());
    place_ = here.syncs.claim_at_once();
    if (__builtin_expect(place_ == nullptr, 0)) {
      pause_until(fresh_chunk(*thread_));
      place_ = here.syncs.claim_at_once();
    }
  }
  __attribute__((always_inline)) caller from() const noexcept { return {from_, thread_->open.frame}; }

 private:
  // Whether the open call is still on the stack. An error handler may have left it by longjmp; then its frame is
  // not above this one, or its return address has been overwritten, or it is in a part of the stack that is not in use.
  static __attribute__((noinline, cold)) bool is_inside(const open_call& outer, const void* frame) noexcept {
    if (reinterpret_cast<uintptr_t>(outer.frame) <= reinterpret_cast<uintptr_t>(frame)) return false;
#if defined(__x86_64__)
    if (*(static_cast<const void* const volatile*>(outer.frame) + 1) != outer.address &&
        core::script_site_of(outer.address) == 0)
      return false;
#endif
    return caller{outer.address, outer.frame}.is_on_stack();
  }

  // The kernel maps memory now and then: that pause is no time of the program, nor of MPI.
  __attribute__((always_inline)) void pause_until(uint64_t now) noexcept {
    if (__builtin_expect(now == 0, 1)) return;
    const uint64_t pause = overhead_ + (now - begin_);
    overhead_ = pause < ~uint32_t(0) ? static_cast<uint32_t>(pause) : ~uint32_t(0);
    if (entered_ != 0) entered_ += now - begin_;
    begin_ = now;
    thread_->open.begin = now;
  }

  // A field in a register of its own: else g++ fetches neighbours with one load, which has to wait until the stores
  // that have just written them are through (about 5 ns).
  template <class Number>
  static __attribute__((always_inline)) Number alone(Number field) noexcept {
    __asm__("" : "+r"(field));
    return field;
  }

  // Static, and what they need by value: else every field of every call would have to stay in memory.

  static __attribute__((noinline)) uint64_t close_segment(thread_state& thread, uint64_t now) noexcept {
    return record::close_segment(*thread.location, thread, *thread.process, *thread.process->registry, now);
  }

  static __attribute__((noinline, cold)) uint64_t begin_timing(core::mpi_call what, uint64_t turn) noexcept {
    return self_timing::wanted(what, turn) ? core::cycle_clock::now() : 0;
  }
  static __attribute__((noinline, cold)) uint64_t read_clock() noexcept { return core::cycle_clock::now(); }

  // Runs for one of many calls. Its record has the cost of the four clock readings that other calls skip.
  static __attribute__((noinline, cold)) void time_itself(thread_state& thread, core::mpi_call what, uint64_t entered,
                                                          uint64_t begin, uint64_t given, uint64_t leave) noexcept {
    const uint64_t now = core::cycle_clock::now();
    if (given == 0) return;  // it left no record, or an error handler threw
    const uint64_t usual = thread.timing.last_reading(what), reading = core::cycle_clock::now() - now;
    thread.timing.note(what, begin - entered, given - begin, now - leave, reading);
    auto& records = thread.location->syncs;
    const uint64_t stored = records.size();
    if (stored == 0 || records[stored - 1].begin != begin) return;
    uint32_t& overhead = records[stored - 1].overhead;
    const uint64_t more = overhead + 4 * (usual != 0 && usual < reading ? usual : reading);
    overhead = more < ~uint32_t(0) ? static_cast<uint32_t>(more) : ~uint32_t(0);
  }

  __attribute__((always_inline)) void read_counter() noexcept {
    pause_until(end_code(*thread_, begin_));
    steps_ = static_cast<uint32_t>(where().steps.size());
  }
  static __attribute__((noinline, cold)) uint64_t end_code(thread_state& thread, uint64_t begin) noexcept {
    record::end_counted_code(*thread.location, thread, *thread.process, begin, begin - thread.left);
    return core::cycle_clock::now();
  }

  static __attribute__((noinline, cold)) uint64_t fresh_chunk(thread_state& thread) noexcept {
    record::detail::claim_uncounted(thread.location->syncs, thread);
    return core::cycle_clock::now();
  }

  static __attribute__((noinline, cold)) void leave_late(thread_state& thread, uint64_t begin, core::mpi_call what,
                                                         const caller& from) noexcept {
    const uint64_t now = core::cycle_clock::now();
    thread.location->path.resume(now);
    thread.sites.count(from, what, thread.location->path, now - begin);
  }

 protected:
  core::sync_record* place_ = nullptr;
  uint64_t entered_ = 0;  // of a call that times itself: first instruction,
  uint64_t given_ = 0;  // and when MPI had it
  const void* const from_;
  uint32_t steps_ = 0;
  uint32_t overhead_ = 0;
  const core::mpi_call what_;
  bool open_ = false;  // between begin and leave
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
