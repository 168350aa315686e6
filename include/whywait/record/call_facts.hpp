#ifndef WHYWAIT_RECORD_CALL_FACTS_HPP
#define WHYWAIT_RECORD_CALL_FACTS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/kept_modules.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/call_sites.hpp>
#include <whywait/record/code_counter.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace record {

// What observed calls (of MPI, of thread primitives) leave besides their records. A reader in another process can use it, after
// a crash for example.

/// The call in which a thread is right now; `frame` null: none. A handler of a fatal signal reads it.
struct open_call {
  const void* frame;  ///< stack frame of the wrapper
  const void* address;  ///< return address
  uint64_t begin;  ///< clock ticks
  uint64_t comm;  ///< of calls that name one: its handle
  int32_t peer;  ///< of calls that name one: rank in `comm`; negative: any or none
  int32_t tag;
  core::mpi_call call;
  uint32_t site;  ///< of thread primitives: sync_record::site
};

/// What a thread's calls left besides its records: location::calls.
struct thread_facts {
  open_call open;
  code_counter counter;  ///< of the thread that makes the calls
  call_site_table sites;
  uint64_t calls[static_cast<size_t>(core::mpi_call::count_)];  ///< how often each function was called
  uint64_t failed_polls;  ///< MPI_Test*, MPI_Iprobe ... that found nothing
  uint64_t lost_records;  ///< records for which there was no memory
  uint64_t lost_steps;  ///< path steps for which there was no memory, folded into `folded`
  core::path_step* folded;  ///< per block, that for which there was no memory; null: nothing
  core::path_step* earlier;  ///< per block, what was recorded before this epoch; null: nothing
  uint64_t lost_before;  ///< of `lost_records` and `lost_steps` together: before this epoch
  uint64_t carried;  ///< the first records: out of earlier epochs
  uint64_t primitives;  ///< thread primitives that waited, or ended a wait
  uint64_t short_waits;  ///< waits for threads that were too short for a record
  uint64_t short_ticks;  ///< their time
  uint64_t spent;  ///< ticks that whywait spent since the last record of a thread primitive
};

/// One recorded run of the process: registry::extension[3].
struct run_facts {
  uint64_t layout;  ///< sizeof of the struct that derives from it
  bool running;  ///< calls are recorded: with MPI between MPI_Init and MPI_Finalize
  bool uses_threads;  ///< thread primitives left records, on any location
  bool closed;  ///< nothing is recorded, totals go on: memory ran out, or the pauses of epochs took too long
  uint32_t closed_posting;  ///< the last ordinal that is recorded on all locations; valid if `closed`
  uint64_t closed_ticks;  ///< when that began
  uint64_t closings;  ///< how often memory ran out in earlier epochs
  uint64_t first_closed_ticks;  ///< the first of those times; valid if `closings` is not 0
  uint64_t begin_ticks;  ///< leave of MPI_Init
  uint64_t end_ticks;  ///< enter of MPI_Finalize; 0 before
  int32_t rank;
  int32_t size;
  core::clock_anchor start_anchor;
  core::kept_modules modules;  ///< modules of call sites, for a reader after a crash
  uint64_t least_ticks;  ///< shorter waits for threads leave no record; 0: not decided yet
  uint32_t epoch;  ///< number of the epoch, for core::record_name
  /// Explains the run so far into a whywait::result, from the call site of `address` and `frame`; null: at the end only.
  void (*explain)(run_facts& self, void* result, const void* address, const void* frame);
  const uint32_t* last_posted;  ///< ordinal of the last operation that was handed to MPI; null: none ever is
  core::spin_lock closing;  ///< protects what `close` writes

  uint32_t posted() const noexcept { return last_posted != nullptr ? __atomic_load_n(last_posted, __ATOMIC_RELAXED) : 0; }
  /// Recording stops: operations behind the ordinal `last_recorded` are recorded nowhere in this process.
  __attribute__((noinline, cold)) void close(uint64_t now, uint32_t last_recorded) noexcept {
    closing.lock();
    if (!closed || last_recorded < closed_posting) closed_posting = last_recorded;
    if (!closed || now < closed_ticks) closed_ticks = now;
    __atomic_store_n(&closed, true, __ATOMIC_RELEASE);
    closing.unlock();
  }
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
