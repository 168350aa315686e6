#ifndef WHYWAIT_MPI_POINT_TO_POINT_HPP
#define WHYWAIT_MPI_POINT_TO_POINT_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/data_regions.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Blocking point-to-point calls. `from` is the caller, `pass` makes the
// call of the program, with the arguments as they are at that moment.
//
// Ordinals must follow the order in which MPI sees the operations (overhead.md 4.3). While one thread calls
// MPI, taking the ordinal just before the call does that. Once several do, a blocking call is posted by its
// nonblocking twin under the lock and waited for outside it.

/// The arguments of a send or a receive that MPI matches by.
struct envelope {
  int peer;
  int tag;
  MPI_Comm comm;
};

namespace detail {

/// Fills the fields of a posting that describe its message. `e` as the program passed it.
inline unsigned describe(call& here, core::sync_record* r, const envelope& e, uint64_t bytes) noexcept {
  const uint32_t comm = index_of(here.thread(), e.comm);
  r->bytes = bytes;
  r->comm = comm;
  unsigned flags = 0;
  if (e.peer == MPI_PROC_NULL) flags |= flag::proc_null;
  if (e.peer == MPI_ANY_SOURCE) flags |= flag::any_source;
  if (e.tag == MPI_ANY_TAG) flags |= flag::any_tag;
  r->peer = e.peer >= 0 ? e.peer : -1;
  r->tag = e.tag == MPI_ANY_TAG ? -1 : e.tag;
  r->flags = static_cast<uint16_t>(r->flags | flags);
  return flags;
}

inline bool is_wildcard(const envelope& e) noexcept { return e.peer == MPI_ANY_SOURCE || e.tag == MPI_ANY_TAG; }

/// The real source and tag of a wildcard, once its status is known.
inline void resolve(core::sync_record* r, const MPI_Status& status) noexcept {
  if (!r->has(flag::any_source | flag::any_tag)) return;
  r->peer = status.MPI_SOURCE >= 0 ? status.MPI_SOURCE : -1;
  r->tag = status.MPI_TAG;
}

/// Posts the nonblocking form of MPI_Send, MPI_Bsend, MPI_Ssend or MPI_Rsend.
inline int post_send(core::mpi_call what, const void* buffer, int count, MPI_Datatype type, const envelope& e,
                     MPI_Request* request) {
  if (what == core::mpi_call::Bsend) return PMPI_Ibsend(buffer, count, type, e.peer, e.tag, e.comm, request);
  if (what == core::mpi_call::Ssend) return PMPI_Issend(buffer, count, type, e.peer, e.tag, e.comm, request);
  if (what == core::mpi_call::Rsend) return PMPI_Irsend(buffer, count, type, e.peer, e.tag, e.comm, request);
  return PMPI_Isend(buffer, count, type, e.peer, e.tag, e.comm, request);
}

/// Ordinal and posting in one step, the wait outside: post(MPI_Request*) is the nonblocking twin.
template <class Post>
inline int post_and_wait(call& here, MPI_Comm comm, uint32_t& posting, Post&& post, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    guard_if guard(here.process().posting_lock_of(bits_of(comm)), true);
    posting = here.process().take_posting();
    const int code = post(&request);
    if (code != MPI_SUCCESS) return code;
  }
  return PMPI_Wait(&request, status);
}

/// A call that began alone may have been overtaken by a thread that appeared meanwhile.
inline unsigned if_overtaken(const call& here, bool several) noexcept {
  return __builtin_expect(!several && here.several(), 0) ? unsigned(flag::ambiguous) : 0u;
}

}  // namespace detail

/// MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend.
template <class What, class Pass>
inline int send(What what, caller from, Pass& pass, const void* buffer, int count, MPI_Datatype type, envelope e) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(bits_of(e.comm), e.peer, e.tag);
  const bool several = here.several();
  uint32_t posting = 0;
  int code;
  if (__builtin_expect(several, 0)) {
    code = detail::post_and_wait(
        here, e.comm, posting, [&](MPI_Request* request) { return detail::post_send(what, buffer, count, type, e, request); },
        MPI_STATUS_IGNORE);
  } else {
    posting = here.process().take_posting();
    code = pass();
  }
  here.leave();
  if (__builtin_expect(code != MPI_SUCCESS, 0)) {
    here.refuse();
    return code;
  }
  unsigned flags = flag::posts_send | detail::if_overtaken(here, several);
  if (what == core::mpi_call::Ssend) flags |= flag::synchronous;
  if (core::sync_record* r = here.store(flags, posting)) {
    detail::describe(here, r, e, bytes_of(here.thread(), count, type));
    here.finish_completed(r);
    if (watches_data(here)) detail::send_data(here, *r, buffer, count, type);
  }
  return code;
}

/// MPI_Recv.
template <class What, class Pass>
inline int receive(What what, caller from, Pass& pass, void* buffer, int count, MPI_Datatype type, envelope e,
                   MPI_Status*& status) {
  call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && (detail::is_wildcard(e) || watches_data(here))) status = &own;
  here.begin();
  here.about(bits_of(e.comm), e.peer, e.tag);
  const bool several = here.several();
  uint32_t posting = 0;
  int code;
  if (__builtin_expect(several, 0)) {
    code = detail::post_and_wait(
        here, e.comm, posting,
        [&](MPI_Request* request) { return PMPI_Irecv(buffer, count, type, e.peer, e.tag, e.comm, request); }, status);
  } else {
    posting = here.process().take_posting();
    code = pass();
  }
  here.leave();
  if (__builtin_expect(code != MPI_SUCCESS, 0) && !took_message(code)) {
    here.refuse();
    return code;
  }
  if (core::sync_record* r = here.store(flag::posts_receive | detail::if_overtaken(here, several), posting)) {
    detail::describe(here, r, e, bytes_of(here.thread(), count, type));
    if (status != MPI_STATUS_IGNORE) detail::resolve(r, *status);
    here.finish_completed(r);
    if (watches_data(here) && status != MPI_STATUS_IGNORE)
      detail::receive_data(here, *r, here.next_index() - 1, buffer, count, type, status);
  }
  return code;
}

/// MPI_Sendrecv, MPI_Sendrecv_replace: two postings of no duration, then the call that completes both.
/// `post(MPI_Request*)`: posts receive and send, for the case of several threads; the one buffer of
/// MPI_Sendrecv_replace does not allow that, so there the order is not known then.
template <class What, class Pass, class Post>
inline int exchange(What what, caller from, Pass& pass, Post&& post, const void* send_buffer, int send_count,
                    MPI_Datatype send_type, envelope to, void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                    envelope source, MPI_Status*& status) {
  call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && (detail::is_wildcard(source) || watches_data(here))) status = &own;
  here.begin();
  here.about(bits_of(source.comm), source.peer, source.tag);
  const bool several = here.several();
  const bool has_twin = what == core::mpi_call::Sendrecv;
  uint32_t posting = 0;
  int code = MPI_SUCCESS;
  if (__builtin_expect(has_twin && several, 0)) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};  // receive, send
    {
      guard_if guard(here.process().posting_lock_of(bits_of(source.comm)), true);
      posting = here.process().take_postings(2);
      code = post(requests);
    }
    if (__builtin_expect(code != MPI_SUCCESS, 0) && requests[0] != MPI_REQUEST_NULL) PMPI_Cancel(&requests[0]);
    const int sent = PMPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    const int received = PMPI_Wait(&requests[0], status);
    if (code == MPI_SUCCESS) code = sent != MPI_SUCCESS ? sent : received;
  } else {
    posting = here.process().take_postings(2);
    code = pass();
  }
  here.leave();
  if (__builtin_expect(code != MPI_SUCCESS, 0) && !took_message(code)) {
    here.refuse();
    return code;
  }
  const unsigned common = detail::if_overtaken(here, has_twin && several) | flag::complete;
  const uint64_t duration = here.duration();
  const uint32_t whole = here.next_index() + 2;
  here.duration(0);
  core::sync_record* const sent = here.store(common | flag::posts_send, posting);
  if (sent != nullptr) {
    detail::describe(here, sent, to, bytes_of(here.thread(), send_count, send_type));
    sent->completion = whole;
    sent->completed_by = here.where().index;
    here.finish();
    if (watches_data(here)) detail::send_data(here, *sent, send_buffer, send_count, send_type);
  }
  core::sync_record* const received = here.store(common | flag::posts_receive, posting + 1);
  if (core::sync_record* const r = received) {
    detail::describe(here, r, source, bytes_of(here.thread(), receive_count, receive_type));
    if (status != MPI_STATUS_IGNORE) detail::resolve(r, *status);
    r->completion = whole;
    r->completed_by = here.where().index;
    here.finish();
  }
  here.duration(duration);
  if (core::sync_record* r = here.store(0, 0)) {
    r->comm = index_of(here.thread(), to.comm);
    r->bytes = bytes_of(here.thread(), send_count, send_type);
    here.finish();
    if (watches_data(here) && received != nullptr && status != MPI_STATUS_IGNORE)
      detail::receive_data(here, *received, whole, receive_buffer, receive_count, receive_type, status);
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
