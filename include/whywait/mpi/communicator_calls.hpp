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

using made_index = uint32_t (*)(const void* made, call& here);

template <class What, class Pass>
__attribute__((cold, noinline)) inline int make_together(What what, caller from, Pass& pass, uint64_t over, made_index read,
                                                         const void* made) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(over, -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const uint32_t comm = read(made, here);
  if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
    r->comm = comm;
    here.finish();
  }
  return code;
}

/// A call of all ranks of the communicator, window or file whose key is `over`; `made(call)` reads what it made, and gives the
/// communicator of the record.
template <class What, class Pass, class Made>
int make_together(What what, caller from, Pass& pass, uint64_t over, const Made& made) {
  const made_index read = [](const void* m, call& here) -> uint32_t { return (*static_cast<const Made*>(m))(here); };
  return detail::make_together(what, from, pass, over, read, &made);
}

}  // namespace detail

/// Calls that make a communicator, collective over `parent`; `made_by_members` if only the new members take
/// part (MPI_Comm_create_group) or two groups do (MPI_Intercomm_create, MPI_Intercomm_merge): then the record names the new
/// one.
template <class What, class Pass>
__attribute__((cold)) inline int create(What what, caller from, Pass& pass, MPI_Comm parent, MPI_Comm* made,
                                        bool made_by_members = false) {
  return detail::make_together(what, from, pass, bits_of(parent), [&](call& here) {
    const uint32_t index = made_communicator(here.thread(), *made);
    return made_by_members ? index : index_of(here.thread(), parent);
  });
}

namespace detail {

/// A call of all members that frees the communicator, window or file whose key is `handle`. `freed(whether it succeeded)` is
/// called under state::lock.
template <class What, class Pass, class Freed>
__attribute__((cold)) inline int free_together(What what, caller from, Pass& pass, uint64_t handle, const Freed& freed) {
  call here(what, from);
  if (!here) return pass();
  state& process = here.process();
  uint32_t index;
  {
    guard_if guard(process.lock, process.multiple);
    index = process.communicators.find(handle);
  }
  forget_communicator(here.thread(), handle);  // first: once it is freed another thread may get the handle
  here.begin();
  here.about(handle, -1, -1);
  const uint32_t posting = process.take_posting();
  const int code = pass();
  here.leave();
  {
    guard_if guard(process.lock, process.multiple);
    freed(code == MPI_SUCCESS);
    if (code != MPI_SUCCESS && index != communicator_table::none) process.communicators.bind(handle, index);
  }
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
    r->comm = index;
    here.finish();
  }
  return code;
}

}  // namespace detail

/// MPI_Comm_set_info, MPI_Win_set_info: `handle` is the key of the communicator or window.
__attribute__((cold)) inline int set_together(core::mpi_call what, caller from, passed_call& pass, uint64_t handle) {
  return detail::make_together(what, from, pass, handle, [&](call& here) {
    guard_if guard(here.process().lock, here.process().multiple);
    return here.process().communicators.find(handle);
  });
}

/// MPI_Comm_free, MPI_Comm_disconnect.
template <class What, class Pass>
__attribute__((cold)) inline int release(What what, caller from, Pass& pass, MPI_Comm* comm) {
  if (comm == nullptr) return pass();
  return detail::free_together(what, from, pass, bits_of(*comm), [](bool) {});
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
