#ifndef WHYWAIT_MPI_PROBES_HPP
#define WHYWAIT_MPI_PROBES_HPP

#include <whywait/mpi/point_to_point.hpp>
#include <whywait/mpi/poll_call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Probes, and receives of messages that a probe has taken out of the queue.

namespace detail {

/// The ordinal of a call that takes no message.
inline uint32_t take_ordinal(const call& here, MPI_Comm comm) noexcept {
  return posting_guard(here, comm, here.several()).take();
}

/// Remembers the ordinal of a matched probe for the receive of its message.
inline void keep_message(call& here, MPI_Message message, uint32_t posting, const MPI_Status& status, MPI_Comm comm) noexcept {
  const uint32_t index = index_of(here.thread(), comm);
  pending* const p = here.process().messages.add(bits_of(message), here.process().multiple);
  if (p == nullptr) return;
  p->posting = posting;
  p->peer = status.MPI_SOURCE;
  p->tag = status.MPI_TAG;
  p->comm = index;
}

/// The result of the matched probe of a message; false if no wrapper saw it. Removes the entry.
inline bool take_message(call& here, uint64_t handle, pending& found) noexcept {
  pending* const p = here.process().messages.find(handle);
  if (p == nullptr) return false;
  found.posting = p->posting;
  found.peer = p->peer;
  found.tag = p->tag;
  found.comm = p->comm;
  request_table::close(p);
  return true;
}

/// MPI refused to receive the message and has left its handle: a later call may receive it.
__attribute__((cold)) inline void restore_message(call& here, MPI_Message message, uint64_t handle,
                                                  const pending& known) noexcept {
  if (bits_of(message) != handle) return;
  pending* const p = here.process().messages.add(handle, here.process().multiple);
  if (p == nullptr) return;
  p->posting = known.posting;
  p->peer = known.peer;
  p->tag = known.tag;
  p->comm = known.comm;
}

inline void store_probe(call& here, unsigned flags, uint32_t posting, const envelope& e, const MPI_Status& status) noexcept {
  core::sync_record* const r = here.store(flags, posting);
  if (r == nullptr) return;
  describe(here, r, e, 0);
  resolve(r, status);
  here.finish_completed(r);
}

/// The same for a poll that found a message.
inline void store_found(poll_call& here, unsigned flags, uint32_t posting, const envelope& e,
                        const MPI_Status& status) noexcept {
  uint32_t index;
  core::sync_record* const r = here.found(flags, posting, index);
  if (r == nullptr) return;
  describe(here, r, e, 0);
  resolve(r, status);
  here.finish_poll(index);
}

}  // namespace detail

/// MPI_Probe. Its ordinal identifies the later receive that takes the same message.
template <class What, class Pass>
inline int probe(What what, caller from, Pass& pass, envelope e, MPI_Status*& status) {
  call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  here.begin();
  here.about(bits_of(e.comm), e.peer, e.tag);
  const uint32_t posting = detail::take_ordinal(here, e.comm);
  const int code = pass();
  here.leave();
  if (code == MPI_SUCCESS) detail::store_probe(here, 0, posting, e, *status);
  else here.refuse();
  return code;
}

/// MPI_Mprobe: takes the message out of the queue, so it takes the receive's place in the posting order. With
/// several threads it polls, for nothing else gives ordinal and match in one step.
template <class What, class Pass>
inline int matched_probe(What what, caller from, Pass& pass, envelope e, MPI_Message* message, MPI_Status*& status) {
  call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  here.begin();
  here.about(bits_of(e.comm), e.peer, e.tag);
  uint32_t posting = 0;
  int code = MPI_SUCCESS;
  if (__builtin_expect(here.several(), 0)) {
    code = detail::match_in_order(here, e, posting, message, status);
  } else {
    posting = here.process().take_posting();
    code = pass();
  }
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  if (*message != MPI_MESSAGE_NO_PROC) detail::keep_message(here, *message, posting, *status, e.comm);
  detail::store_probe(here, flag::matched, posting, e, *status);
  return code;
}

/// MPI_Iprobe.
template <class What, class Pass>
inline int test_probe(What what, caller from, Pass& pass, envelope e, int* found, MPI_Status*& status) {
  poll_call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  here.ask();
  const int code = pass();
  if (code != MPI_SUCCESS || *found == 0) {
    here.found_nothing(false);
    return code;
  }
  detail::store_found(here, 0, detail::take_ordinal(here, e.comm), e, *status);
  return code;
}

/// MPI_Improbe.
template <class What, class Pass>
inline int test_matched_probe(What what, caller from, Pass& pass, envelope e, int* found, MPI_Message* message,
                              MPI_Status*& status) {
  poll_call here(what, from);
  if (!here) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  uint32_t posting = 0;
  int code;
  here.ask();
  {
    posting_guard guard(here, e.comm, here.several());
    code = pass();
    if (code == MPI_SUCCESS && *found != 0) posting = guard.take();
  }
  if (posting == 0) {
    here.found_nothing(false);
    return code;
  }
  if (*message != MPI_MESSAGE_NO_PROC) detail::keep_message(here, *message, posting, *status, e.comm);
  detail::store_found(here, flag::matched, posting, e, *status);
  return code;
}

/// MPI_Mrecv: the posting is that of the probe which matched the message.
template <class What, class Pass>
inline int matched_receive(What what, caller from, Pass& pass, void* buffer, MPI_Count count, MPI_Datatype type,
                           MPI_Message* message, MPI_Status*& status) {
  call here(what, from);
  if (!here || message == nullptr) return pass();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && watches_data(here)) status = &own;
  const uint64_t handle = bits_of(*message);
  const bool null = *message == MPI_MESSAGE_NO_PROC;
  pending known{};
  const bool found = !null && detail::take_message(here, handle, known);
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS && !took_message(code)) {
    if (found) detail::restore_message(here, *message, handle, known);
    here.refuse();
    return code;
  }
  const unsigned flags = found ? flag::posts_receive | flag::matched : null ? unsigned(flag::proc_null) : 0u;
  if (core::sync_record* r = here.store(flags, known.posting)) {
    r->bytes = bytes_of(here.thread(), count, type);
    r->peer = found ? known.peer : -1;
    r->tag = found ? known.tag : -1;
    r->comm = found ? known.comm : 0;
    here.finish_completed(r);
    if (watches_data(here) && status != MPI_STATUS_IGNORE)
      detail::receive_data(here.summary(), *r, here.next_index() - 1, buffer, count, type, status);
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
