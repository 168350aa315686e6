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
  guard_if guard(here.process().lock, here.several());
  pending* const p = here.process().requests.find(bits_of(*request));
  if (p != nullptr && p->record != nullptr && !p->cancel_seen) {
    p->cancel_seen = true;
    ++here.process().open_wildcards;
  }
  return code;
}

/// MPI_Request_free: what is still pending will complete unseen. A wildcard's source is then never known.
template <class What, class Pass>
inline int free_request(What what, caller from, Pass& pass, MPI_Request* request) {
  call here(what, from);
  if (!here || request == nullptr) return pass();
  const uint64_t handle = bits_of(*request);
  pending* p;
  {
    guard_if guard(here.process().lock, here.several());
    p = here.process().requests.find(handle);
    if (p != nullptr) {
      ++p->holders;
      here.process().requests.unlink(p);
    }
  }
  const int code = pass();
  if (p == nullptr) return code;
  guard_if guard(here.process().lock, here.several());
  --p->holders;
  if (code != MPI_SUCCESS) {
    here.process().requests.link(p);
    return code;
  }
  core::sync_record* const r = p->record;
  if (r != nullptr && !r->has(flag::complete) && (p->wildcard || p->cancel_seen))
    r->flags = static_cast<uint16_t>(r->flags | flag::ambiguous);
  if (p->wildcard) --here.process().open_wildcards;
  if (p->cancel_seen) --here.process().open_wildcards;
  if (p->watched) --here.process().open_wildcards;
  if (p->twin != nullptr) here.process().requests.drop_twin(p);
  if (p->region != nullptr) detail::drop_region(here.process(), p->region);
  if (p->needs != nullptr) core::unmap_pages(p->needs, detail::bytes_of_needs(p->needs[0]));
  if (p->holders == 0) here.process().requests.recycle(p);
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
