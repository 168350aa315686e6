#ifndef WHYWAIT_MPI_WORLD_CALLS_HPP
#define WHYWAIT_MPI_WORLD_CALLS_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/communicator_calls.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls that meet processes outside of MPI_COMM_WORLD. The records of these are elsewhere, so their part of a wait is only named.

/// MPI_Comm_spawn(_multiple), MPI_Comm_accept, MPI_Comm_connect: collective over `comm`.
__attribute__((cold)) inline int meet_world(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm,
                                            MPI_Comm* made) {
  return detail::make_together(what, from, pass, bits_of(comm), [&](call& here) {
    if (made != nullptr) made_communicator(here.thread(), *made);
    return index_of(here.thread(), comm);
  });
}

/// MPI_Comm_join, ports and names. `made`: a communicator that the call makes, else null.
__attribute__((cold)) inline int ask_world(core::mpi_call what, caller from, passed_call& pass, MPI_Comm* made) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  if (made != nullptr) made_communicator(here.thread(), *made);
  if (core::sync_record* const r = here.store(0, 0)) {
    r->comm = communicator_table::none;
    here.finish();
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
