#ifndef WHYWAIT_MPI_PROCESS_STATE_HPP
#define WHYWAIT_MPI_PROCESS_STATE_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/output_path.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/mpi/clock_sync.hpp>
#include <whywait/mpi/communicators.hpp>
#include <whywait/mpi/epoch_schedule.hpp>
#include <whywait/mpi/failure.hpp>
#include <whywait/mpi/kept_facts.hpp>
#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/requests.hpp>
#include <whywait/mpi/self_timing.hpp>
#include <whywait/mpi/signal_stack.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/recycling.hpp>

#include <pthread.h>
#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

using core::guard_if;
using core::spin_lock;

struct state;
struct message_data;    // data_regions.hpp
struct open_groups;     // one_sided_calls.hpp
struct shared_windows;  // windows.hpp
struct thread_state;

/// Why a process leaves without MPI_Finalize; or from there, but without an explanation.
enum class end_reason : uint8_t { abort, exit, signal, unexplained };

/// An operation at which all processes met, as this one saw it: what was before can be explained and forgotten.
struct meeting_point {
  uint64_t begin;  ///< clock ticks: enter and leave of the call
  uint64_t leave;
  uint32_t site;   ///< of this thread
};

/// What the umbrella header hangs into the life of the process; each may be null. Called on the thread that
/// calls MPI; MPI calls made inside pass straight through.
struct hooks {
  void (*on_start)(state&);     ///< end of MPI_Init*, not collective
  void (*on_recording)(state&);  ///< later in MPI_Init*: the time of the run begins
  void (*on_finalize)(state&);  ///< in MPI_Finalize, before PMPI_Finalize: collective over state.tool_comm
  /// MPI_Abort, exit() without MPI_Finalize, or a fatal signal (`signal`: its number, else 0). Once in a process,
  /// not collective. After a signal only async-signal-safe calls are allowed.
  void (*on_end)(state&, end_reason, int signal);
  /// After an operation at which all processes met: collective over state.tool_comm. False: nothing was explained.
  bool (*on_epoch)(state&, thread_state&, const meeting_point&);
};

namespace detail {
// Constant initialisation; read when MPI starts.
__attribute__((visibility("default"))) inline hooks installed_hooks = {nullptr, nullptr, nullptr, nullptr, nullptr};
}  // namespace detail

/// Call before MPI_Init, from a static initialiser for instance.
inline void install(const hooks& h) noexcept { detail::installed_hooks = h; }

/// The last polls of a thread, while others may still follow them (poll_call.hpp). All times in ticks.
struct poll_run {
  core::sync_record* record;  ///< null: none
  uint64_t left;         ///< end of the last poll
  uint64_t usual_pause;  ///< a pause before the next one that is not longer is part of polling
  uint64_t least_pause;  ///< limit of `usual_pause`
  uint64_t inside;       ///< time in MPI
  uint64_t earlier;      ///< duration of the records before `record` that polled for the same, and of the sleep between them
  uint64_t inside_earlier;  ///< time in MPI of these records
  uint64_t unjudged;     ///< the pause of which only the next one can tell whether the thread slept; not in `earlier`
  uint64_t unread;       ///< pauses in `earlier` too short to read the processor time
  uint32_t chain;        ///< number of these records
  uint32_t pauses;       ///< number of pauses in `earlier`
  uint32_t index;        ///< of `record`
  uint32_t worked;       ///< how often the thread was found to work since it slept last
  bool many;             ///< there was a pause after many polls, which counts as code
  const void* from;      ///< call of the first poll of `record`
  const void* sleeps_from;  ///< where the thread slept between two polls last
  uint64_t usual_sleep;  ///< and for how long
  uint64_t read_at;      ///< when the kernel was asked for what follows; 0: never
  double spent_us;       ///< processor time of the process
  long sleeps;           ///< how often the thread gave up the processor to wait
  uint64_t reading;      ///< how long that took
};

/// The last operation that read one place of a window.
struct window_read {
  const void* from;  ///< its call; null: none
  uint64_t window;   ///< handle_of
  int64_t place;
  uint64_t type;     ///< bits_of
  uint64_t records;  ///< of the thread, behind it and the MPI_Win_flush* that follow it
  const void* result;  ///< valid when it is flushed
  uint64_t bytes;   ///< of `value`, up to 8
  uint64_t value;   ///< what it found
  int32_t target;
  bool again;  ///< it followed another one of the same place and call
};

/// Order of posting in some communicators.
struct alignas(64) posting_lock {
  spin_lock lock;
  uint32_t last;  ///< the last ordinal taken while it was held
};

/// What a thread keeps for the wrappers: record::location::extension[0].
struct thread_state : thread_facts {
  // What each call reads, in one cache line: between two calls the program has used the cache for other things.
  alignas(64) state* process;
  record::location* location;
  core::registry* registry;
  uint64_t left;  ///< end of the last call
  uint64_t communicator_handle;  // cache of one look-up
  uint32_t communicator_generation;
  uint32_t communicator_index;
  uint64_t window_handle;  // the same for windows
  uint32_t window_generation;
  uint32_t window_index;
  struct {
    uint64_t handle;
    int64_t bytes;  // -1: derived, queried each time, because its handle may be reused for another type
  } types[16];
  poll_run polls;
  window_read last_read;
  uint64_t recorded_polls;  ///< of `failed_polls`, those that began a record
  void* scratch;  // for arrays of requests; grows outside the common case
  uint64_t scratch_bytes;
  self_timing timing;  ///< what the wrappers cost here
  uint64_t held;  ///< the posting locks that this thread holds, a bit each
  uint32_t next_posting;  ///< ordinals that this thread has taken for itself, up to `end_posting`
  uint32_t end_posting;
  uint32_t posting_block;  ///< how many it takes next
  signal_stack signals;  ///< for fatal signals
  bool began_run;  ///< called MPI_Init*, or made the first communicator of all processes

  /// Also of a call that an error handler left by `longjmp`, which ran no destructor.
  void release_posting_locks() noexcept;
};

/// What the wrappers of a process share: core::registry::extension[0].
struct state : process_facts {
  // What each call reads, in two cache lines, which no thread writes all the time.
  alignas(64) bool multiple;  ///< MPI_THREAD_MULTIPLE was granted
  bool several;  ///< and more than one thread has called MPI: posting is under a lock
  bool catches_faults;  ///< SIGSEGV is caught, so that threads need a stack for it
  bool ended;  ///< on_end has run or must not run any more
  bool any_multiple;  ///< MPI_THREAD_MULTIPLE was granted to some process
  bool spawned;  ///< MPI_Comm_spawn started this process
  bool others_requests;  ///< requests may exist that no wrapper created, or that have no known partner
  uint32_t open_wildcards;  ///< requests whose completion needs a status
  uint32_t communicator_generation;
  uint32_t last_posting;  ///< ordinal of the last operation handed to MPI; threads take many at once
  uint32_t shared_handle_count;
  request_table requests;
  uint64_t shared_handles[8];  ///< requests that MPI hands out many times: complete at once
  request_table messages;
  alignas(64) spin_lock lock;  ///< communicators
  posting_lock posting_locks[64];  ///< order of posting, by communicator: within one, ordinals are in MPI's order
  MPI_Comm tool_comm;  ///< duplicate of MPI_COMM_WORLD for whywait alone; errors return
  MPI_Comm self_comm;  ///< MPI_COMM_SELF; in a program that only has sessions, one that whywait made
  MPI_Group world_group;
  shared_windows* windows;  ///< null until one is allocated
  open_groups* groups;  ///< null until an epoch of a window begins
  message_data* data;  ///< null until a message is looked for in a registered array
  int32_t thread_level;
  int64_t init_called_ns;  ///< when MPI_Init was called, CLOCK_BOOTTIME; 0: never, or not known
  int64_t init_ns;  ///< how long MPI itself was in it
  clock_sync<core::cycle_clock> clocks;
  calibration calibrated;
  record::code_counter* counter;  ///< of the thread that started MPI; null before
  epoch_schedule schedule;
  uint64_t unrecorded_until;  ///< ticks: no earlier meeting ends an epoch (WHYWAIT_PAUSES); 0: all is recorded
  uint64_t compared_ticks;  ///< spent comparing how full the memory is, with the wait for other ranks there
  void* so_far;  ///< what the hooks keep from epoch to epoch; null: nothing
  failure failed;  ///< why the run is not explained, or only its beginning; the same on all ranks
  hooks hook;
  core::registry* registry;
  char output[core::most_output_path];  ///< WHYWAIT_OUTPUT of rank 0, expanded, on all ranks; empty: no files

  /// The ordinal of an operation handed to MPI now. Messages: posting_guard::take.
  uint32_t take_posting() noexcept { return take_postings(1); }
  /// The first of several consecutive ones.
  uint32_t take_postings(uint32_t count) noexcept {
    if (multiple) return __atomic_fetch_add(&last_posting, count, __ATOMIC_RELAXED) + 1;
    last_posting += count;
    return last_posting - count + 1;
  }
  /// Number of the posting lock of a communicator's handle.
  static uint32_t posting_lock_of(uint64_t comm) noexcept { return static_cast<uint32_t>((comm * 0x9e3779b97f4a7c15u) >> 58); }

  /// One request more, or less, whose completion needs a status.
  void count_wildcard(uint32_t more) noexcept {
    if (multiple) __atomic_fetch_add(&open_wildcards, more, __ATOMIC_RELAXED);
    else open_wildcards += more;
  }

  bool is_shared(uint64_t handle) const noexcept {
    for (uint32_t i = 0; i < shared_handle_count; ++i)
      if (shared_handles[i] == handle) return true;
    return false;
  }
};

inline void thread_state::release_posting_locks() noexcept {
  for (; held != 0; held &= held - 1) process->posting_locks[__builtin_ctzll(held)].lock.unlock();
}

/// The state of this process; null before MPI_Init and when recording is off. Any thread.
inline state* the_state() noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr) return nullptr;
  state* const known = static_cast<state*>(__atomic_load_n(&registry->extension[0], __ATOMIC_ACQUIRE));
  return known != nullptr && known->layout == sizeof(state) ? known : nullptr;
}

namespace detail {

/// For record::ended_threads.
inline uint64_t gap_of(const record::location& caller, uint64_t begin, uint64_t end) noexcept {
  const thread_state& thread = *static_cast<const thread_state*>(caller.extension[0]);
  const auto records = caller.syncs.view();
  uint64_t next = records.size();
  while (next > thread.carried && records[next - 1].begin >= end) --next;
  uint64_t left = 0;  // end of the call before the gap
  if (next != thread.carried) left = records[next - 1].begin + records[next - 1].duration;
  else if (next == 0) left = thread.process->begin_ticks;
  if (left == 0 || begin < left) return record::ended_threads::no_gap;
  const bool is_inside = next == records.size() && thread.open.frame != nullptr && thread.open.begin < end;
  return is_inside ? record::ended_threads::no_gap : next;
}
inline bool release_calls(record::location& ended) noexcept {
  thread_state& thread = *static_cast<thread_state*>(ended.extension[0]);
  if (thread.began_run) return false;
  thread.open.frame = nullptr;
  thread.polls.record = nullptr;
  thread.signals.reset();
  return true;
}

inline void take_over_calls(record::location& at) noexcept {
  thread_state& thread = *static_cast<thread_state*>(at.extension[0]);
  thread.location = &at;
  if (thread.process->catches_faults) thread.signals.set();
}

/// The state of a thread that has none. Null without memory.
__attribute__((noinline, cold)) inline thread_state* make_thread(state* process, record::location* location) noexcept {
  pthread_mutex_lock(&process->registry->mutex);
  record::ended_threads* const ended = process->registry->ended;
  record::detail::continue_calls(*process->registry, *location);
  thread_state* const before = static_cast<thread_state*>(location->extension[0]);
  pthread_mutex_unlock(&process->registry->mutex);
  if (before != nullptr) return before;
  void* pages = core::map_pages(sizeof(thread_state), true);
  if (pages == nullptr) return nullptr;
  process->registry->kept.keep(pages, sizeof(thread_state));
  thread_state* const made = new (pages) thread_state();
  if (location->calls != nullptr) static_cast<thread_facts&>(*made) = *location->calls;  // of other calls than those of MPI
  else if (!made->sites.open(&process->registry->kept, &process->modules)) return nullptr;
  made->process = process;
  made->registry = process->registry;
  made->location = location;
  made->communicator_index = communicator_table::none;
  pthread_mutex_lock(&process->registry->mutex);
  bool first = true;
  for (core::location_base* l = process->registry->locations; l != nullptr; l = l->next)
    if (static_cast<record::location*>(l)->extension[0] != nullptr) first = false;
  if (ended != nullptr) {
    ended->gap_of = &gap_of;
    ended->release_calls = &release_calls;
    ended->take_over_calls = &take_over_calls;
    if (first) ended->caller = location;
    else ended->several = true;
  }
  if (!first && process->multiple) __atomic_store_n(&process->several, true, __ATOMIC_SEQ_CST);
  __atomic_store_n(&location->calls, static_cast<thread_facts*>(made), __ATOMIC_RELEASE);
  __atomic_store_n(&location->extension[0], static_cast<void*>(made), __ATOMIC_RELEASE);
  pthread_mutex_unlock(&process->registry->mutex);
  return made;
}

/// First MPI call of a thread. Null if nothing is recorded.
__attribute__((noinline, cold)) inline thread_state* open_thread(record::location* location) noexcept {
  state* const process = the_state();
  if (process == nullptr || !__atomic_load_n(&process->running, __ATOMIC_ACQUIRE)) return nullptr;
  thread_state* const made = make_thread(process, location);
  if (made != nullptr && process->catches_faults) made->signals.set();
  return made;
}

}  // namespace detail

/// The state of the calling thread if its MPI calls are to be recorded now, else null. About 2 ns.
inline thread_state* recording_thread() noexcept {
  record::location* const location = record::this_location();
  if (__builtin_expect(location == nullptr, 0)) return nullptr;
  thread_state* thread = static_cast<thread_state*>(location->extension[0]);
  if (__builtin_expect(thread == nullptr, 0)) thread = detail::open_thread(location);
  if (__builtin_expect(thread == nullptr, 0)) return nullptr;
  return __builtin_expect(__atomic_load_n(&thread->process->running, __ATOMIC_RELAXED), 1) ? thread : nullptr;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
