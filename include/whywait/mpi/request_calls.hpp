#ifndef WHYWAIT_MPI_REQUEST_CALLS_HPP
#define WHYWAIT_MPI_REQUEST_CALLS_HPP

#include <whywait/mpi/completion_calls.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls that end requests without completing them.

/// MPI_Cancel: counted; the completion of the request checks whether it was cancelled.
template <class What, class Pass>
inline int cancel(What what, caller from, Pass& pass, MPI_Request* request) {
  call here(what, from);
  if (!here) return pass();
  const int code = pass();
  if (code != MPI_SUCCESS) return code;
  pending* const p = here.process().requests.find(bits_of(*request));
  if (p != nullptr && p->record != nullptr && !p->cancel_seen) {
    p->cancel_seen = true;
    here.process().count_wildcard(1);
  }
  return code;
}

/// MPI_Grequest_start: the program completes the request itself, so that calls about it wait for nothing that is known.
__attribute__((cold)) inline int start_general(core::mpi_call what, caller from, passed_call& pass) {
  call here(what, from);
  if (!here) return pass();
  const int code = pass();
  if (code == MPI_SUCCESS) here.process().others_requests = true;
  return code;
}

/// MPI_Buffer_detach: completes the buffered sends of this thread since the last one.
__attribute__((cold)) inline int detach_buffer(core::mpi_call what, caller from, passed_call& pass) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  uint32_t index;
  if (!detail::store_completion(here, detail::failed_if(code), index) || code != MPI_SUCCESS) return code;
  for (uint32_t i = index; i-- != here.thread().carried;) {
    core::sync_record& r = here.where().syncs[i];
    const core::mpi_call call = core::plain_form(r.call);
    if (call == core::mpi_call::Buffer_detach) break;
    const bool buffered = call == core::mpi_call::Bsend || call == core::mpi_call::Ibsend;
    if (!buffered || !r.has(flag::complete) || r.has(flag::failed | flag::cancelled)) continue;
    r.completion = index;
    r.completed_by = here.where().index;
  }
  return code;
}

/// MPI_Request_free: what is still pending will complete unseen. A wildcard's source is then never known.
template <class What, class Pass>
inline int free_request(What what, caller from, Pass& pass, MPI_Request* request) {
  call here(what, from);
  if (!here || request == nullptr) return pass();
  held_request gone;
  gone.hold(here.process().requests.find(bits_of(*request)));
  int32_t* const needs = gone.entry != nullptr && !gone.plain ? gone.entry->needs : nullptr;
  if (gone.entry != nullptr) request_table::close(gone.entry);
  const int code = pass();
  if (gone.entry == nullptr) return code;
  if (code != MPI_SUCCESS) {
    request_table::keep(gone);
    return code;
  }
  if (gone.plain) return code;
  core::sync_record* const r = gone.record;
  if (r != nullptr && !r->has(flag::complete) && (gone.wildcard || gone.cancel_seen))
    r->flags = static_cast<uint16_t>(r->flags | flag::ambiguous);
  detail::release_status(here.process(), gone);
  detail::forget_request(here.process(), gone);
  if (needs != nullptr) core::unmap_pages(needs, detail::bytes_of_needs(needs[0]));
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
