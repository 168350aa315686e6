#ifndef WHYWAIT_MPI_KEPT_FACTS_HPP
#define WHYWAIT_MPI_KEPT_FACTS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/mpi/call_sites.hpp>
#include <whywait/mpi/clock_start.hpp>
#include <whywait/mpi/communicators.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

// The part of the wrappers' state that a reader in another process can use, after a crash for example: free of
// types of the MPI library.

/// The MPI call in which a thread is right now; `frame` null: none. A handler of a fatal signal reads it.
struct open_call {
  const void* frame;    ///< stack frame of the wrapper
  const void* address;  ///< return address
  uint64_t begin;       ///< clock ticks
  uint64_t comm;        ///< of calls that name one: its handle
  int32_t peer;         ///< of calls that name one: rank in `comm`; negative: any or none
  int32_t tag;
  core::mpi_call call;
};

/// What a thread's MPI calls left besides its records.
struct thread_facts {
  open_call open;
  call_site_table sites;
  uint64_t calls[static_cast<size_t>(core::mpi_call::count_)];  ///< how often each function was called
  uint64_t failed_polls;    ///< MPI_Test*, MPI_Iprobe ... that found nothing
  uint64_t lost_records;    ///< records for which there was no memory
  uint64_t lost_steps;      ///< path steps for which there was no memory, folded into `folded`
  core::path_step* folded;  ///< per block, that for which there was no memory; null: nothing
  core::path_step* earlier; ///< per block, what was recorded before this epoch; null: nothing
  uint64_t lost_before;     ///< of `lost_records` and `lost_steps` together: before this epoch
};

/// What the process's MPI calls left.
struct process_facts {
  uint64_t layout;          ///< sizeof(state)
  bool running;             ///< between MPI_Init and MPI_Finalize, and recording is on
  bool closed;              ///< memory ran out: nothing more is recorded, totals go on
  uint32_t closed_posting;  ///< the last ordinal that is recorded on all locations; valid if `closed`
  uint64_t closed_ticks;    ///< when memory ran out
  uint64_t closings;        ///< how often it did in earlier epochs
  uint64_t first_closed_ticks;  ///< the first of those times; valid if `closings` is not 0
  uint64_t begin_ticks;     ///< leave of MPI_Init
  uint64_t end_ticks;       ///< enter of MPI_Finalize; 0 before
  int32_t rank;
  int32_t size;
  core::clock_anchor start_anchor;
  clock_start compared;
  communicator_table communicators;
};

inline core::stable_key layout_of_facts() noexcept {
  return core::combine(core::combine(core::layout_of<thread_facts>(), core::layout_of<process_facts>()),
                       core::layout_of<call_site>());
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
