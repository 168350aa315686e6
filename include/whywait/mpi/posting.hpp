#ifndef WHYWAIT_MPI_POSTING_HPP
#define WHYWAIT_MPI_POSTING_HPP

#include <whywait/mpi/probes.hpp>
#include <whywait/mpi/request_room.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls that post operations and make requests: nonblocking and persistent ones.

namespace detail {

/// Files the posting `r` under its request, which only this thread has until the call returns.
inline void file_request(call& here, pending* p, core::sync_record* r, uint32_t index) noexcept {
  p->record = r;
  p->index = index;
  p->location = here.where().index;
  p->wildcard = r->has(flag::posts_receive) && r->has(flag::any_source | flag::any_tag);
  if (__builtin_expect(p->wildcard, 0)) here.process().count_wildcard(1);
  p->watched = p->region != nullptr && r->has(flag::posts_receive);
  if (__builtin_expect(p->watched, 0)) here.process().count_wildcard(1);
}
/// The entry of a request that MPI has just made; null without memory.
inline pending* add_request(call& here, MPI_Request request) noexcept {
  return here.process().requests.add(bits_of(request), here.process().multiple);
}

/// A posting of which there is no record: its handle may have been that of another one.
__attribute__((noinline, cold)) inline void lose_request(state& process, MPI_Request request) noexcept {
  if (pending* const p = process.requests.find(bits_of(request))) request_table::close(p);
}

/// The record of a posting, before MPI's request is filed. Null if it is lost.
inline core::sync_record* store_posting(call& here, unsigned flags, uint32_t posting, const envelope& e,
                                        uint64_t bytes) noexcept {
  core::sync_record* const r = here.store(flags, posting);
  if (r != nullptr) describe(here, r, e, bytes);
  return r;
}

/// A handle that MPI gives to many operations at once belongs to operations that are complete already: they
/// need no entry, their posting is their completion.
inline bool complete_at_once(call& here, MPI_Request request) noexcept { return here.process().is_shared(bits_of(request)); }

/// The posting locks of the communicators of persistent requests.
__attribute__((noinline, cold)) inline uint64_t posting_locks_of(call& here, int count, const MPI_Request* requests) noexcept {
  uint64_t locks = 0;
  for (int i = 0; i < count && requests != nullptr; ++i)
    if (const pending* const p = here.process().requests.find(bits_of(requests[i]))) locks |= uint64_t(1) << p->posting_lock;
  return locks;
}

/// Whether one message could match request `i` and another one of the same MPI_Startall. Many requests: yes.
inline bool has_twin(const held_request* entries, int count, int i) noexcept {
  if (count > 256) return true;
  const auto overlap = [](int32_t a, int32_t b) { return a == b || a < 0 || b < 0; };
  const unsigned direction = flag::posts_send | flag::posts_receive;
  const pending& p = *entries[i].entry;
  for (int j = 0; j < count; ++j) {
    const pending* const other = entries[j].entry;
    if (j != i && other != nullptr && other->persistent && other->comm == p.comm && (p.flags & direction) != 0 &&
        ((other->flags ^ p.flags) & direction) == 0 && overlap(other->peer, p.peer) && overlap(other->tag, p.tag) &&
        ((other->flags | p.flags) & flag::proc_null) == 0)
      return true;
  }
  return false;
}

}  // namespace detail

namespace detail {

/// Of pending::needs.
inline size_t bytes_of_needs(int32_t count) noexcept { return sizeof(int32_t) * (static_cast<size_t>(count) + 1); }

/// Fills in the posting of a persistent collective. Behind its instance number, a sparse one has a list of needs.
__attribute__((cold)) inline void describe_start(call& here, const pending& p, core::sync_record& r) noexcept {
  r.call = p.collective;
  r.tag = static_cast<int32_t>(p.instance);
  if (p.needs == nullptr) return;
  auto& needs = here.where().needs;
  r.tag = static_cast<int32_t>(needs.size() + 1);
  for (int32_t i = 0; i <= p.needs[0]; ++i) {
    int32_t* const place = needs.claim();
    if (place == nullptr) {
      r.comm = communicator_table::none;  // matches nothing
      r.flags = static_cast<uint16_t>(r.flags & ~flag::sparse);
      return;
    }
    *place = i == 0 ? static_cast<int32_t>(p.instance) : p.needs[i];
    needs.publish();
  }
}

}  // namespace detail

/// MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend, MPI_Irecv: `flags` is posts_send or posts_receive.
template <class What, class Pass>
inline int post(What what, caller from, Pass& pass, unsigned flags, const void* buffer, MPI_Count count, MPI_Datatype type,
                envelope e, MPI_Request* request) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const bool several = here.several();
  uint32_t posting;
  int code;
  {
    posting_guard guard(here, e.comm, several);
    posting = guard.take();
    code = pass();
  }
  here.leave();
  if (__builtin_expect(code != MPI_SUCCESS, 0)) {
    here.refuse();
    return code;
  }
  if (core::plain_form(what) == core::mpi_call::Issend) flags |= flag::synchronous;
  flags |= detail::if_overtaken(here, several);
  if (core::sync_record* r = detail::store_posting(here, flags, posting, e, bytes_of(here.thread(), count, type))) {
    pending* const entry = detail::complete_at_once(here, *request) ? nullptr : detail::add_request(here, *request);
    const bool watched = watches_data(here);
    message_region* const region = __builtin_expect(watched && entry != nullptr && (flags & flag::posts_receive) != 0, 0)
                                       ? detail::keep_region(here.summary(), buffer, count, type)
                                       : nullptr;
    if (entry == nullptr) {
      here.finish_completed(r);
    } else {
      if (__builtin_expect(region != nullptr, 0)) entry->region = region;
      detail::file_request(here, entry, r, here.next_index());
      here.finish();
    }
    if (__builtin_expect(watched && (flags & flag::posts_send) != 0, 0))
      detail::send_data(here.summary(), *r, buffer, count, type);
  } else {
    detail::lose_request(here.process(), *request);
  }
  return code;
}

/// MPI_Isendrecv, MPI_Isendrecv_replace: two postings, which one request completes. The first has no duration.
template <class What, class Pass>
__attribute__((cold)) inline int post_exchange(What what, caller from, Pass& pass, const void* send_buffer,
                                               MPI_Count send_count, MPI_Datatype send_type, envelope to,
                                               const void* receive_buffer, MPI_Count receive_count, MPI_Datatype receive_type,
                                               envelope source, MPI_Request* request) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const bool several = here.several();
  uint32_t posting;
  int code;
  {
    posting_guard guard(here, to.comm, several);
    posting = guard.take(2);
    code = pass();
  }
  pending* entry = nullptr;
  if (code == MPI_SUCCESS && !here.process().closed && !detail::complete_at_once(here, *request)) {
    entry = detail::add_request(here, *request);
    if (entry != nullptr) entry->twin = here.process().requests.add_twin(here.process().multiple);
  }
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const unsigned overtaken = detail::if_overtaken(here, several);
  const uint64_t duration = here.duration();
  const bool watched = watches_data(here);
  here.duration(0);
  if (core::sync_record* const r = detail::store_posting(here, flag::posts_send | overtaken, posting, to,
                                                         bytes_of(here.thread(), send_count, send_type))) {
    if (entry == nullptr || entry->twin == nullptr) {
      here.finish_completed(r);
    } else {
      detail::file_request(here, entry->twin, r, here.next_index());
      here.finish();
    }
    if (watched) detail::send_data(here.summary(), *r, send_buffer, send_count, send_type);
  }
  here.duration(duration);
  if (core::sync_record* const r = detail::store_posting(here, flag::posts_receive | overtaken, posting + 1, source,
                                                         bytes_of(here.thread(), receive_count, receive_type))) {
    if (entry == nullptr) {
      here.finish_completed(r);
    } else {
      if (watched) entry->region = detail::keep_region(here.summary(), receive_buffer, receive_count, receive_type);
      detail::file_request(here, entry, r, here.next_index());
      here.finish();
    }
  }
  return code;
}

/// MPI_Imrecv: the ordinal is that of the matched probe.
template <class What, class Pass>
inline int post_matched(What what, caller from, Pass& pass, const void* buffer, MPI_Count count, MPI_Datatype type,
                        MPI_Message* message, MPI_Request* request) {
  call here(what, from);
  if (!here || message == nullptr) return pass();
  const uint64_t handle = bits_of(*message);
  const bool null = *message == MPI_MESSAGE_NO_PROC;
  pending known{};
  const bool found = !null && detail::take_message(here, handle, known);
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    if (found) detail::restore_message(here, *message, handle, known);
    here.refuse();
    return code;
  }
  core::sync_record* const r = here.store(found  ? flag::posts_receive | flag::matched
                                          : null ? unsigned(flag::proc_null)
                                                 : 0u,
                                          known.posting);
  if (r == nullptr) return code;
  r->bytes = bytes_of(here.thread(), count, type);
  r->peer = found ? known.peer : -1;
  r->tag = found ? known.tag : -1;
  r->comm = found ? known.comm : 0;
  message_region* const region =
      watches_data(here) && found ? detail::keep_region(here.summary(), buffer, count, type) : nullptr;
  pending* const entry = detail::complete_at_once(here, *request) ? nullptr : detail::add_request(here, *request);
  if (entry == nullptr) {
    here.finish_completed(r);
  } else {
    entry->region = region;
    detail::file_request(here, entry, r, here.next_index());
    here.finish();
  }
  return code;
}

/// MPI_Send_init and its kin, MPI_Recv_init: no message yet, so no record; what each start will post is kept.
template <class What, class Pass>
inline int prepare(What what, caller from, Pass& pass, unsigned flags, const void* buffer, MPI_Count count, MPI_Datatype type,
                   envelope e, MPI_Request* request) {
  call here(what, from);
  if (!here) return pass();
  const int code = pass();
  if (code != MPI_SUCCESS) return code;
  const uint64_t bytes = bytes_of(here.thread(), count, type);
  const uint32_t comm = index_of(here.thread(), e.comm);
  if (core::plain_form(what) == core::mpi_call::Ssend_init) flags |= flag::synchronous;
  if (e.peer == MPI_PROC_NULL) flags |= flag::proc_null;
  if (e.peer == MPI_ANY_SOURCE) flags |= flag::any_source;
  if (e.tag == MPI_ANY_TAG) flags |= flag::any_tag;
  message_region* const region = watches_data(here) ? detail::keep_region(here.summary(), buffer, count, type) : nullptr;
  pending* const p = detail::add_request(here, *request);
  if (p == nullptr) return code;
  p->region = region;
  p->persistent = true;
  p->posting_lock = static_cast<uint8_t>(state::posting_lock_of(bits_of(e.comm)));
  p->flags = static_cast<uint16_t>(flags);
  p->bytes = bytes;
  p->comm = comm;
  p->peer = e.peer >= 0 ? e.peer : -1;
  p->tag = e.tag == MPI_ANY_TAG ? -1 : e.tag;
  return code;
}

/// MPI_Start, MPI_Startall: one posting for each request. The order in which MPI_Startall posts is not
/// defined, so requests of it that a message could confuse are marked ambiguous.
template <class What, class Pass>
inline int start(What what, caller from, Pass& pass, int count, MPI_Request* requests) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const bool several = here.several();
  uint32_t posting = 0;
  int code;
  {
    posting_guard guard(here, several ? detail::posting_locks_of(here, count, requests) : 0, several);
    posting = guard.take(static_cast<uint32_t>(count > 0 ? count : 0));
    code = pass();
  }
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  request_room room(here.thread(), count);
  if (!room) return code;
  for (int i = 0; i < count; ++i) room.held[i].entry = here.process().requests.find(bits_of(requests[i]));
  // All postings have the begin of the call; its time belongs to the last one, so that no two overlap.
  const uint64_t duration = here.duration();
  const unsigned overtaken = detail::if_overtaken(here, several);
  for (int i = 0; i < count; ++i) {
    pending* const p = room.held[i].entry;
    if (p == nullptr || !p->persistent) continue;
    here.duration(i + 1 == count ? duration : 0);
    if (__builtin_expect(p->partitions != 0 && (p->flags & flag::posts_send) != 0, 0)) {  // MPI_Pready will send it
      p->unready = p->partitions;
      if (here.store(0, 0) != nullptr) here.finish();
      continue;
    }
    unsigned flags = p->flags | overtaken;
    if (detail::has_twin(room.held, count, i)) flags |= flag::ambiguous;
    core::sync_record* const r = here.store(flags, posting + static_cast<uint32_t>(i));
    if (r == nullptr) continue;
    r->bytes = p->bytes;
    r->comm = p->comm;
    r->peer = p->peer;
    r->tag = p->tag;
    if (__builtin_expect(p->collective != core::mpi_call::none, 0)) detail::describe_start(here, *p, *r);
    detail::file_request(here, p, r, here.next_index());
    here.finish();
    if (__builtin_expect(p->region != nullptr && !p->watched, 0))
      detail::leave_sent(here.summary(), *r, here.next_index(), p->region->what);
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
