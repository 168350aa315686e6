#ifndef WHYWAIT_MPI_COMMUNICATOR_CALLS_HPP
#define WHYWAIT_MPI_COMMUNICATOR_CALLS_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls that make and free communicators.

namespace detail {

/// A call of all ranks of `over` that makes something; `made(call)` reads it and gives the communicator of the record.
template <class What, class Pass, class Made>
__attribute__((cold)) inline int make_together(What what, caller from, Pass& pass, MPI_Comm over, const Made& made) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(bits_of(over), -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const uint32_t comm = made(here);
  if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
    r->comm = comm;
    here.finish();
  }
  return code;
}

}  // namespace detail

/// Calls that make a communicator, collective over `parent`; `made_by_members` if only the new members take
/// part (MPI_Comm_create_group) or two groups do (MPI_Intercomm_create, MPI_Intercomm_merge): then the record names the new
/// one.
template <class What, class Pass>
__attribute__((cold)) inline int create(What what, caller from, Pass& pass, MPI_Comm parent, MPI_Comm* made,
                                        bool made_by_members = false) {
  return detail::make_together(what, from, pass, parent, [&](call& here) {
    const uint32_t index = made_communicator(here.thread(), *made);
    return made_by_members ? index : index_of(here.thread(), parent);
  });
}

/// MPI_Comm_free, MPI_Comm_disconnect.
template <class What, class Pass>
__attribute__((cold)) inline int release(What what, caller from, Pass& pass, MPI_Comm* comm) {
  call here(what, from);
  if (!here || comm == nullptr) return pass();
  const uint64_t handle = bits_of(*comm);
  uint32_t index;
  {
    guard_if guard(here.process().lock, here.process().multiple);
    index = here.process().communicators.find(handle);
  }
  forget_communicator(here.thread(), handle);  // first: once it is freed another thread may get the handle
  here.begin();
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    guard_if guard(here.process().lock, here.process().multiple);
    if (index != communicator_table::none) here.process().communicators.bind(handle, index);
    here.refuse();
    return code;
  }
  if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
    r->comm = index;
    here.finish();
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
