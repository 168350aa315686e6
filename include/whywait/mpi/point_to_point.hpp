#ifndef WHYWAIT_MPI_POINT_TO_POINT_HPP
#define WHYWAIT_MPI_POINT_TO_POINT_HPP

#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/data_regions.hpp>
#include <whywait/mpi/next_tool.hpp>
#include <whywait/mpi/posting_guard.hpp>

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

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

// MPI's form for `count`: only calls with large counts receive one that does not fit an int, and every library that has them
// has the nonblocking ones.
#if MPI_VERSION >= 4
#define WHYWAIT_MPI_POST_BY_COUNT(name)                                                       \
  if (count > INT_MAX || count < INT_MIN) {                                                   \
    return WHYWAIT_MPI_NEXT(name##_c, (buffer, count, type, e.peer, e.tag, e.comm, request)); \
  }                                                                                           \
  return WHYWAIT_MPI_NEXT(name, (buffer, static_cast<int>(count), type, e.peer, e.tag, e.comm, request))
#else
#define WHYWAIT_MPI_POST_BY_COUNT(name) \
  return WHYWAIT_MPI_NEXT(name, (buffer, static_cast<int>(count), type, e.peer, e.tag, e.comm, request))
#endif
/// Posts the nonblocking form of MPI_Send, MPI_Bsend, MPI_Ssend or MPI_Rsend.
inline int post_send(core::mpi_call what, const void* buffer, MPI_Count count, MPI_Datatype type, const envelope& e,
                     MPI_Request* request) {
  switch (core::plain_form(what)) {
    case core::mpi_call::Bsend: WHYWAIT_MPI_POST_BY_COUNT(Ibsend);
    case core::mpi_call::Ssend: WHYWAIT_MPI_POST_BY_COUNT(Issend);
    case core::mpi_call::Rsend: WHYWAIT_MPI_POST_BY_COUNT(Irsend);
    default: WHYWAIT_MPI_POST_BY_COUNT(Isend);
  }
}
inline int post_receive(void* buffer, MPI_Count count, MPI_Datatype type, const envelope& e, MPI_Request* request) {
  WHYWAIT_MPI_POST_BY_COUNT(Irecv);
}
#undef WHYWAIT_MPI_POST_BY_COUNT

/// Ordinal and posting in one step, the wait outside: post(MPI_Request*) is the nonblocking twin.
template <class Post>
inline int post_and_wait(call& here, MPI_Comm comm, uint32_t& posting, Post&& post, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    posting_guard guard(here, comm, true);
    posting = guard.take();
    const int code = post(&request);
    if (code != MPI_SUCCESS) return code;
  }
  return WHYWAIT_MPI_NEXT(Wait, (&request, status));
}

/// MPI_Mprobe while several threads call MPI. It polls, for nothing else gives ordinal and match in one step.
inline int match_in_order(call& here, const envelope& e, uint32_t& posting, MPI_Message* message, MPI_Status* status) {
  for (int found = 0;;) {
    {
      posting_guard guard(here, e.comm, true);
      const int code = PMPI_Improbe(e.peer, e.tag, e.comm, &found, message, status);
      if (code == MPI_SUCCESS && found != 0) posting = guard.take();
      if (code != MPI_SUCCESS || found != 0) return code;
    }
    sched_yield();
  }
}

#ifdef MPICH_VERSION
/// Receives a message that is longer than the buffer, and raises the error where MPI_Recv does.
__attribute__((noinline, cold)) inline int receive_truncated(void* buffer, uint64_t room, MPI_Count count, MPI_Datatype type,
                                                             const envelope& e, MPI_Count arriving, MPI_Message* message,
                                                             MPI_Status* status) noexcept {
  void* const whole = arriving <= INT_MAX && count <= INT_MAX ? malloc(static_cast<size_t>(arriving)) : nullptr;
  if (whole == nullptr) return PMPI_Mrecv(buffer, static_cast<int>(count), type, message, status);
  PMPI_Mrecv(whole, static_cast<int>(arriving), MPI_BYTE, message, status);
  int taken = 0;
  if (room != 0) PMPI_Unpack(whole, static_cast<int>(room), &taken, buffer, static_cast<int>(count), type, e.comm);
  free(whole);
  if (status != MPI_STATUS_IGNORE) PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(room));
  PMPI_Comm_call_errhandler(e.comm, MPI_ERR_TRUNCATE);
  return MPI_ERR_TRUNCATE;
}
#endif

/// MPI_Recv while several threads call MPI. MPICH raises errors of MPI_Wait and MPI_Mrecv on MPI_COMM_WORLD, whose handler may
/// be another one than that of the communicator.
inline int receive_in_order(call& here, void* buffer, MPI_Count count, MPI_Datatype type, const envelope& e, uint32_t& posting,
                            MPI_Status* status) {
#ifdef MPICH_VERSION
  if (e.comm != MPI_COMM_WORLD) {
    MPI_Request nothing = MPI_REQUEST_NULL;  // checks the arguments, because a probe would wait first
    int code = post_receive(buffer, count, type, {MPI_PROC_NULL, e.tag, e.comm}, &nothing);
    if (code != MPI_SUCCESS) return code;
    PMPI_Wait(&nothing, MPI_STATUS_IGNORE);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status matched;
    code = match_in_order(here, e, posting, &message, &matched);
    if (code != MPI_SUCCESS) return code;
    const uint64_t room = bytes_of(here.thread(), count, type);
    MPI_Count arriving = 0;
    PMPI_Get_elements_x(&matched, MPI_BYTE, &arriving);
    if (arriving > 0 && static_cast<uint64_t>(arriving) > room)
      return receive_truncated(buffer, room, count, type, e, arriving, &message, status);
#if MPI_VERSION >= 4
    if (count > INT_MAX) return PMPI_Mrecv_c(buffer, count, type, &message, status);
#endif
    return PMPI_Mrecv(buffer, static_cast<int>(count), type, &message, status);
  }
#endif
  return post_and_wait(
      here, e.comm, posting, [&](MPI_Request* request) { return post_receive(buffer, count, type, e, request); }, status);
}

#ifdef MPICH_VERSION
/// MPI_Sendrecv while several threads call MPI, for the reason given at `receive_in_order`. The two ordinals need not follow one
/// another.
__attribute__((noinline, cold)) inline int exchange_in_order(call& here, const void* send_buffer, MPI_Count send_count,
                                                             MPI_Datatype send_type, const envelope& to, uint32_t& sent,
                                                             void* receive_buffer, MPI_Count receive_count,
                                                             MPI_Datatype receive_type, const envelope& source,
                                                             uint32_t& received, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;  // checks the arguments of the receive before the send
  int code = post_receive(receive_buffer, receive_count, receive_type, {MPI_PROC_NULL, source.tag, source.comm}, &request);
  if (code != MPI_SUCCESS) return code;
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  {
    posting_guard guard(here, to.comm, true);
    sent = guard.take();
    code = post_send(core::mpi_call::Send, send_buffer, send_count, send_type, to, &request);
  }
  if (code != MPI_SUCCESS) return code;
  code = receive_in_order(here, receive_buffer, receive_count, receive_type, source, received, status);
  const int completed = WHYWAIT_MPI_NEXT(Wait, (&request, MPI_STATUS_IGNORE));
  return code != MPI_SUCCESS ? code : completed;
}
#endif

/// A call that began alone may have been overtaken by a thread that appeared meanwhile.
inline unsigned if_overtaken(const call& here, bool several) noexcept {
  return __builtin_expect(!several && here.several(), 0) ? unsigned(flag::ambiguous) : 0u;
}

}  // namespace detail

/// MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend.
template <class What, class Pass>
inline int send(What what, caller from, Pass& pass, const void* buffer, MPI_Count count, MPI_Datatype type, envelope e) {
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
  if (core::plain_form(what) == core::mpi_call::Ssend) flags |= flag::synchronous;
  if (core::sync_record* r = here.store(flags, posting)) {
    detail::describe(here, r, e, bytes_of(here.thread(), count, type));
    here.finish_completed(r);
    if (watches_data(here)) detail::send_data(here.summary(), *r, buffer, count, type);
  }
  return code;
}

/// MPI_Recv.
template <class What, class Pass>
inline int receive(What what, caller from, Pass& pass, void* buffer, MPI_Count count, MPI_Datatype type, envelope e,
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
    code = detail::receive_in_order(here, buffer, count, type, e, posting, status);
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
      detail::receive_data(here.summary(), *r, here.next_index() - 1, buffer, count, type, status);
  }
  return code;
}

/// MPI_Sendrecv, MPI_Sendrecv_replace: two postings of no duration, then the call that completes both.
/// `post(MPI_Request*)`: posts receive and send, for the case of several threads; the one buffer of
/// MPI_Sendrecv_replace does not allow that, so there the order is not known then.
template <class What, class Pass, class Post>
inline int exchange(What what, caller from, Pass& pass, Post&& post, const void* send_buffer, MPI_Count send_count,
                    MPI_Datatype send_type, envelope to, void* receive_buffer, MPI_Count receive_count,
                    MPI_Datatype receive_type, envelope source, MPI_Status*& status) {
  call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && (detail::is_wildcard(source) || watches_data(here))) status = &own;
  here.begin();
  here.about(bits_of(source.comm), source.peer, source.tag);
  const bool several = here.several();
  const bool has_twin = core::plain_form(what) == core::mpi_call::Sendrecv;
  uint32_t posting = 0, receiving = 0;
  int code = MPI_SUCCESS;
#ifdef MPICH_VERSION
  const bool by_probe = source.comm != MPI_COMM_WORLD;
  if (__builtin_expect(has_twin && several && by_probe, 0)) {
    code = detail::exchange_in_order(here, send_buffer, send_count, send_type, to, posting, receive_buffer, receive_count,
                                     receive_type, source, receiving, status);
  } else
#endif
      if (__builtin_expect(has_twin && several, 0)) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};  // receive, send
    {
      posting_guard guard(here, source.comm, true);
      posting = guard.take(2);
      code = post(requests);
    }
    if (__builtin_expect(code != MPI_SUCCESS, 0) && requests[0] != MPI_REQUEST_NULL) PMPI_Cancel(&requests[0]);
    const int sent = WHYWAIT_MPI_NEXT(Wait, (&requests[1], MPI_STATUS_IGNORE));
    const int received = WHYWAIT_MPI_NEXT(Wait, (&requests[0], status));
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
  if (receiving == 0) receiving = posting + 1;
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
    if (watches_data(here)) detail::send_data(here.summary(), *sent, send_buffer, send_count, send_type);
  }
  core::sync_record* const received = here.store(common | flag::posts_receive, receiving);
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
      detail::receive_data(here.summary(), *received, whole, receive_buffer, receive_count, receive_type, status);
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
