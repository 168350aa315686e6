#ifndef WHYWAIT_MPI_PARTITIONED_HPP
#define WHYWAIT_MPI_PARTITIONED_HPP

#include <whywait/mpi/completion_calls.hpp>
#include <whywait/mpi/poll_call.hpp>
#include <whywait/mpi/posting.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Partitioned messages. A receive is posted by its start, a send by the call that makes its last partition ready: before
// that the whole message cannot arrive. They match only each other, in the order in which they were made (MPI 4.0, 4.2), so
// that they have a communicator of their own, and each request beyond the first of a peer and tag a tag of its own.

/// MPI_Psend_init, MPI_Precv_init: `flags` is posts_send or posts_receive.
__attribute__((noinline, cold)) inline int prepare_partitioned(core::mpi_call what, caller from, passed_call& pass,
                                                               unsigned flags, const void* buffer, int partitions,
                                                               MPI_Count count, MPI_Datatype type, envelope e,
                                                               MPI_Request* request) {
  const int code = prepare(what, from, pass, flags, buffer, count * partitions, type, e, request);
  thread_state* const thread = recording_thread();
  if (code != MPI_SUCCESS || thread == nullptr || thread->open.frame != nullptr) return code;
  state& process = *thread->process;
  guard_if guard(process.lock, process.multiple);
  pending* const p = process.requests.find(bits_of(*request));
  if (p == nullptr || !p->persistent) return code;
  p->partitions = partitions > 0 ? partitions : 1;
  if (p->comm == communicator_table::none || e.peer < 0 || e.tag < 0) return code;
  const uint32_t number = process.communicators.count_partitioned(p->comm, e.peer, e.tag, (flags & flag::posts_send) != 0);
  p->comm = process.communicators.partitioned(p->comm);
  constexpr int32_t own = 1 << 30;
  if (number != 1)
    p->tag = static_cast<int32_t>(core::combine(static_cast<uint64_t>(e.tag), number) & static_cast<uint64_t>(own - 1)) | own;
  return code;
}

/// MPI_Pready, MPI_Pready_range, MPI_Pready_list.
__attribute__((noinline, cold)) inline int make_ready(core::mpi_call what, caller from, passed_call& pass, int count,
                                                      MPI_Request request) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const bool several = here.several();
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  guard_if guard(here.process().lock, several);
  pending* const p = here.process().requests.find(bits_of(request));
  const bool known = p != nullptr && p->partitions != 0 && p->unready > 0;
  if (known) p->unready -= count;
  if (!known || p->unready > 0) {
    if (here.store(0, 0) != nullptr) here.finish();
    return code;
  }
  core::sync_record* const r = here.store(p->flags, posting);
  if (r == nullptr) return code;
  r->bytes = p->bytes;
  r->comm = p->comm;
  r->peer = p->peer;
  r->tag = p->tag;
  const uint32_t index = here.next_index();
  detail::file_request(here, p, r, index);
  here.finish();
  if (p->region != nullptr) detail::leave_sent(here.summary(), *r, index, p->region->what);
  return code;
}

/// MPI_Parrived: a poll. Where all partitions arrive at once, as with MPICH 4.0, the one that finds the first of them completes the
/// message. A single partition has no partner that is known.
__attribute__((noinline, cold)) inline int test_partition(core::mpi_call what, caller from, passed_call& pass,
                                                          MPI_Request request, const int* found) {
  poll_call here(what, from);
  if (!here || found == nullptr) return pass();
  here.ask();
  const int code = pass();
  if (code != MPI_SUCCESS || *found == 0) {
    here.found_nothing(false);
    return code;
  }
  pending* const p = here.process().requests.find(bits_of(request));
  if (p != nullptr && p->record != nullptr && p->record->has(flag::complete)) return code;  // another partition found it
  int all = 0;
  if (p == nullptr || p->record == nullptr || PMPI_Request_get_status(request, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      all == 0) {
    here.process().others_requests = true;
    here.found_unknown();
    return code;
  }
  held_request held;
  held.hold(p);
  uint32_t index;
  const bool stored = detail::store_poll(here, 0, index);
  detail::complete_posting(here.summary(), held, index, !stored, nullptr, code);
  if (!held.plain) {
    detail::complete_more(here.summary(), held, index, !stored, code);
    detail::needs_no_status(held);
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
