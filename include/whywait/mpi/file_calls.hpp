#ifndef WHYWAIT_MPI_FILE_CALLS_HPP
#define WHYWAIT_MPI_FILE_CALLS_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/communicator_calls.hpp>
#include <whywait/mpi/posting.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls on files. A file is a communicator of its own with the members of the one that opened it, so that collective calls are
// matched like other collectives. Independent calls leave a record of their time only.

/// The key of a file in the table of communicators, in which neither a communicator nor a window has it.
inline uint64_t handle_of(MPI_File file) noexcept { return core::combine(bits_of(file), 0x66696c65u); }

/// MPI_File_open: collective over `comm`.
__attribute__((cold)) inline int open_file(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm, MPI_File* made) {
  return detail::make_together(what, from, pass, bits_of(comm), [&](call& here) {
    if (made != nullptr) made_like(here.thread(), comm, handle_of(*made));
    return index_of(here.thread(), comm);
  });
}

/// MPI_File_close.
__attribute__((cold)) inline int close_file(core::mpi_call what, caller from, passed_call& pass, MPI_File* file) {
  if (file == nullptr) return pass();
  return detail::free_together(what, from, pass, handle_of(*file), [](bool) {});
}

/// All other calls. Collective ones are those of the role `file_all`, `file_in_turn` or `initiate`. `request`: of a call that
/// only begins; the one that completes it waits.
__attribute__((cold)) inline int call_file(core::mpi_call what, caller from, passed_call& pass, MPI_File file,
                                           MPI_Count count = 0, MPI_Datatype type = MPI_DATATYPE_NULL,
                                           MPI_Request* request = nullptr) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const bool together = core::is_collective(what);
  if (together) here.about(handle_of(file), -1, -1);
  const uint32_t posting = together ? here.process().take_posting() : 0;
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const uint32_t place = here.next_index();
  core::sync_record* const r = here.store(together ? flag::contributes | flag::consumes : 0, posting);
  if (r == nullptr) return code;
  r->bytes = bytes_of(here.thread(), count, type);
  {
    guard_if guard(here.process().lock, here.process().multiple);
    r->comm = together ? here.process().communicators.find(handle_of(file)) : communicator_table::none;
  }
  pending* const p =
      request != nullptr && !detail::complete_at_once(here, *request) ? detail::add_request(here, *request) : nullptr;
  if (p != nullptr) {
    p->record = r;
    p->index = place;
    p->location = here.where().index;
  }
  if (request == nullptr || p != nullptr) here.finish();
  else here.finish_completed(r);
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
