#ifndef WHYWAIT_MPI_COMPLETION_CALLS_HPP
#define WHYWAIT_MPI_COMPLETION_CALLS_HPP

#include <whywait/mpi/point_to_point.hpp>
#include <whywait/mpi/poll_call.hpp>
#include <whywait/mpi/request_room.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls that complete requests. What is known of the requests is read before MPI may free their handles and give them to other
// threads. With one thread, only those that did complete are looked up, afterwards.

namespace detail {

/// Stores in a posting which call completed it. `index`: of the completing record; with `lost` the posting becomes its own
/// completion.
inline void complete_posting(const call_summary& here, const held_request& h, uint32_t index, bool lost,
                             const MPI_Status* status, int code) noexcept {
  core::sync_record* const r = h.record;
  if (r != nullptr && !r->has(flag::complete)) {
    r->completion = lost ? h.index : index;
    r->completed_by = lost ? h.location : here.where().index;
    unsigned flags = flag::complete;
    if (code != MPI_SUCCESS && !took_message(code)) flags |= flag::failed;
    if (__builtin_expect(!h.plain, 0)) {
      if (h.twin != nullptr && !exchanges_have_status) status = nullptr;
      if (h.cancel_seen && status != nullptr) {
        int cancelled = 0;
        PMPI_Test_cancelled(status, &cancelled);
        if (cancelled != 0) flags |= flag::cancelled;
      }
      if (h.wildcard && status != nullptr && (flags & (flag::cancelled | flag::failed)) == 0) resolve(r, *status);
      else if (h.wildcard && h.twin != nullptr) flags |= flag::ambiguous;
    }
    r->flags = static_cast<uint16_t>(r->flags | flags);
    if (__builtin_expect(!h.plain, 0) && h.watched && (flags & flag::cancelled) == 0)
      leave_received(here, *r, index, !lost, h.region->what, status);
  }
}

/// The status of a request is not needed any more.
inline void release_status(state& process, const held_request& h) noexcept {
  if (h.needs_status()) process.count_wildcard(0u - h.wildcard - h.cancel_seen - h.watched);
}
/// The same in the entry of a request that still exists. That of one that is gone may be another thread's already.
inline void needs_no_status(const held_request& h) noexcept {
  h.entry->wildcard = h.entry->cancel_seen = h.entry->watched = false;
}

/// The rest of it, for the requests of which more is kept than their posting.
__attribute__((noinline)) inline void complete_more(const call_summary& here, const held_request& h, uint32_t index, bool lost,
                                                    int code) noexcept {
  state& process = here.process();
  release_status(process, h);
  if (h.twin != nullptr) {
    held_request sent{};
    sent.hold(h.twin);
    complete_posting(here, sent, index, lost, nullptr, code);
  }
  if (h.new_comm != nullptr) {  // MPI_Comm_idup: only now the handle exists
    guard_if guard(process.lock, process.multiple);
    process.communicators.bind(bits_of(*static_cast<MPI_Comm*>(h.new_comm)), h.comm);
    __atomic_add_fetch(&process.communicator_generation, 1u, __ATOMIC_RELAXED);
  }
}

/// Gives back what was kept of a request that is gone.
__attribute__((noinline)) inline void forget_request(state& process, const held_request& h) noexcept {
  if (h.twin != nullptr) process.requests.recycle(h.twin, process.multiple);
  message_region* region = h.region;
  if (region != nullptr) drop_region(process, region);
}

/// The request is gone (or inactive, if it is persistent). `closed`: its entry is closed already.
inline void finish_request(const call_summary& here, const held_request& h, bool closed, uint32_t index, bool lost,
                           const MPI_Status* status, int code) noexcept {
  complete_posting(here, h, index, lost, status, code);
  if (__builtin_expect(!h.plain, 0)) {
    complete_more(here, h, index, lost, code);
    if (h.persistent) {
      h.entry->record = nullptr;
      needs_no_status(h);
      return;
    }
    forget_request(here.process(), h);
  }
  if (!closed) request_table::close(h);
}

/// Whether statuses that the program ignores must be asked for after all.
inline bool any_needs_status(state& process, int count, const MPI_Request* requests) noexcept {
  if (__builtin_expect(__atomic_load_n(&process.open_wildcards, __ATOMIC_RELAXED) == 0, 1)) return false;
  for (int i = 0; i < count; ++i) {
    const pending* const p = process.requests.find(bits_of(requests[i]));
    if (p != nullptr && p->needs_status()) return true;
  }
  return false;
}

/// Reads what is known of a request before a call about it. `certain`: the call completes it, so its entry is closed at once:
/// MPI may give its handle to another thread.
__attribute__((always_inline)) inline void hold(call& here, held_request& h, MPI_Request request, bool certain) noexcept {
  h.hold(here.process().requests.find(bits_of(request)));
  if (h.entry == nullptr || (!h.plain && h.persistent)) return;
  if (certain) request_table::close(h.entry);
  else request_table::keep(h);
}

inline void let_go_specially(const call_summary& here, const held_request& h, bool certain, bool done, uint32_t index,
                             bool lost, const MPI_Status* status, int code) noexcept {
  if (done) finish_request(here, h, certain, index, lost, status, code);
  else if (certain && (h.plain || !h.persistent)) request_table::keep(h);  // MPI_ERR_PENDING
}

/// Ends `hold` for one request: done or still pending. `certain`: as it was held. Most need nothing but the number of their
/// completion.
__attribute__((always_inline)) inline void let_go(call& here, const held_request& h, bool certain, bool done, uint32_t index,
                                                  bool lost, const MPI_Status* status, int code) noexcept {
  core::sync_record* const r = h.record;
  if (!certain || !done || code != MPI_SUCCESS || !h.plain || r == nullptr || lost || r->has(flag::complete))
    return let_go_specially(here.summary(), h, certain, done, index, lost, status, code);
  r->completion = index;
  r->completed_by = here.where().index;
  r->flags = static_cast<uint16_t>(r->flags | flag::complete);
}

/// The record of a completion call; its index, and whether it is lost.
inline bool store_completion(call& here, unsigned flags, uint32_t& index) noexcept {
  index = here.next_index();
  if (here.store(flags, 0) == nullptr) return false;
  here.finish();
  return true;
}

/// The same for a poll that found something.
inline bool store_poll(poll_call& here, unsigned flags, uint32_t& index) noexcept {
  if (here.found(flags, 0, index) == nullptr) return false;
  here.finish_poll(index);
  return true;
}

inline unsigned failed_if(int code) noexcept { return code != MPI_SUCCESS ? unsigned(flag::failed) : 0u; }

}  // namespace detail

/// MPI_Wait.
template <class What, class Pass>
inline int wait(What what, caller from, Pass& pass, MPI_Request* request, MPI_Status*& status) {
  call here(what, from);
  if (!here || request == nullptr) return pass();
  here.begin();
  MPI_Status own;
  held_request held;
  detail::hold(here, held, *request, true);
  if (held.entry != nullptr && !held.plain && status == MPI_STATUS_IGNORE && held.needs_status()) status = &own;
  const int code = pass();
  here.leave();
  uint32_t index;
  const bool stored = detail::store_completion(here, detail::failed_if(code), index);
  if (held.entry != nullptr)
    detail::let_go(here, held, true, code == MPI_SUCCESS || *request == MPI_REQUEST_NULL || (!held.plain && held.persistent),
                   index, !stored, status != MPI_STATUS_IGNORE ? status : nullptr, code);
  return code;
}

/// MPI_Waitall.
template <class What, class Pass>
inline int wait_all(What what, caller from, Pass& pass, int count, MPI_Request* requests, MPI_Status*& statuses) {
  call here(what, from);
  if (!here || (requests == nullptr && count > 0)) return pass();
  here.begin();
  request_room room(here.thread(), count);
  if (room) {
    if (statuses == MPI_STATUSES_IGNORE && detail::any_needs_status(here.process(), count, requests)) statuses = room.statuses;
    for (int i = 0; i < count; ++i) detail::hold(here, room.held[i], requests[i], true);
  }
  const int code = pass();
  here.leave();
  uint32_t index;
  const bool stored = detail::store_completion(here, detail::failed_if(code), index);
  const bool told = statuses != MPI_STATUSES_IGNORE;
  for (int i = 0; room && i < count; ++i) {
    if (room.held[i].entry == nullptr) continue;
    const int each = code != MPI_SUCCESS && told && code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS;
    const bool done = code == MPI_SUCCESS || (each != MPI_ERR_PENDING && (told || requests[i] == MPI_REQUEST_NULL));
    detail::let_go(here, room.held[i], true, done, index, !stored, told ? &statuses[i] : nullptr, each);
  }
  return code;
}

namespace detail {

/// Calls that complete some of `count` requests: which ones is known afterwards only.
class request_choice {
 public:
  request_choice(call& here, int count, const MPI_Request* requests) noexcept
      : here_(here), room_(here.thread(), count), count_(count), held_(here.several()) {
    if (!room_) return;
    for (int i = 0; i < count; ++i) {
      if (held_) hold(here, room_.held[i], requests[i], false);
      else room_.handles[i] = bits_of(requests[i]);
    }
  }
  MPI_Status* statuses() const noexcept { return room_.statuses; }
  explicit operator bool() const noexcept { return static_cast<bool>(room_); }

  void done(int i, uint32_t index, bool lost, const MPI_Status* status, int code) noexcept {
    if (!room_ || i < 0 || i >= count_) return;
    held_request& h = room_.held[i];
    if (!held_) h.hold(here_.process().requests.find(room_.handles[i]));
    if (h.entry != nullptr) finish_request(here_.summary(), h, false, index, lost, status, code);
    h.entry = nullptr;
  }
  /// Whether statuses that the program ignores must be asked for after all.
  bool needs_status(const MPI_Request* requests) const noexcept {
    if (!held_ || !room_) return any_needs_status(here_.process(), count_, requests);
    for (int i = 0; i < count_; ++i) {
      const held_request& h = room_.held[i];
      if (h.entry != nullptr && !h.plain && h.needs_status()) return true;
    }
    return false;
  }
  /// Whether a call about them has nothing to do with any request that a wrapper created. False where none can be.
  bool others_only() noexcept { return __builtin_expect(here_.process().others_requests, 0) && !knows_any(); }
  /// Whether request `i` of the call is a posting that waits for its completion record.
  bool knows(int i) noexcept {
    if (!room_ || i < 0 || i >= count_) return false;
    if (held_) {
      const held_request& h = room_.held[i];
      return h.entry != nullptr && (h.record != nullptr || (!h.plain && h.new_comm != nullptr));
    }
    const pending* const p = here_.process().requests.find(room_.handles[i]);
    return p != nullptr && (p->record != nullptr || p->new_comm != nullptr);
  }
  bool knows_any() noexcept {
    for (int i = 0; i < count_; ++i)
      if (knows(i)) return true;
    return false;
  }
  request_choice(const request_choice&) = delete;
  request_choice& operator=(const request_choice&) = delete;

 private:
  call& here_;
  request_room room_;
  const int count_;
  const bool held_;
};

}  // namespace detail

/// MPI_Waitany, MPI_Testany. `found`: null for the blocking call, else the flag.
template <class What, class Pass>
inline int complete_any(What what, caller from, Pass& pass, int count, MPI_Request* requests, int* which, const int* found,
                        MPI_Status*& status) {
  poll_call here(what, from);
  if (!here || which == nullptr || (requests == nullptr && count > 0)) return pass();
  if (found == nullptr) here.begin();
  else here.ask();
  detail::request_choice choice(here, count, requests);
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && choice.needs_status(requests)) status = &own;
  const int code = pass();
  if (found == nullptr) {
    here.leave();
  } else {
    if (code == MPI_SUCCESS && (*found == 0 || *which == MPI_UNDEFINED)) {
      here.found_nothing(choice.others_only());
      return code;
    }
    if (!choice.knows(*which)) {
      here.found_unknown();
      return code;
    }
  }
  uint32_t index;
  const bool stored = found == nullptr ? detail::store_completion(here, detail::failed_if(code), index)
                                       : detail::store_poll(here, detail::failed_if(code), index);
  const bool freed = code != MPI_SUCCESS && *which >= 0 && *which < count && requests[*which] == MPI_REQUEST_NULL;
  if ((code == MPI_SUCCESS && *which != MPI_UNDEFINED) || freed)
    choice.done(*which, index, !stored, status != MPI_STATUS_IGNORE ? status : nullptr, code);
  return code;
}

/// MPI_Waitsome, MPI_Testsome.
template <class What, class Pass>
inline int complete_some(What what, caller from, Pass& pass, int count, MPI_Request* requests, int* done, int* indices,
                         bool blocking, MPI_Status*& statuses) {
  poll_call here(what, from);
  if (!here || done == nullptr || indices == nullptr || (requests == nullptr && count > 0)) return pass();
  if (blocking) here.begin();
  else here.ask();
  detail::request_choice choice(here, count, requests);
  if (choice && statuses == MPI_STATUSES_IGNORE && choice.needs_status(requests)) statuses = choice.statuses();
  const int code = pass();
  if (blocking) {
    here.leave();
  } else {
    if (code == MPI_SUCCESS && (*done == 0 || *done == MPI_UNDEFINED)) {
      here.found_nothing(choice.others_only());
      return code;
    }
    bool known = false;
    for (int i = 0; i < *done && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS); ++i)
      known = known || choice.knows(indices[i]);
    if (!known) {
      here.found_unknown();
      return code;
    }
  }
  uint32_t index;
  const bool stored = blocking ? detail::store_completion(here, detail::failed_if(code), index)
                               : detail::store_poll(here, detail::failed_if(code), index);
  if ((code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) || *done == MPI_UNDEFINED) return code;
  const bool told = statuses != MPI_STATUSES_IGNORE;
  for (int i = 0; i < *done; ++i)
    choice.done(indices[i], index, !stored, told ? &statuses[i] : nullptr,
                told && code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS);
  return code;
}

/// MPI_Test, MPI_Testall.
template <class What, class Pass>
inline int test_all(What what, caller from, Pass& pass, int count, MPI_Request* requests, const int* found,
                    MPI_Status*& statuses) {
  poll_call here(what, from);
  if (!here || found == nullptr || (requests == nullptr && count > 0)) return pass();
  here.ask();
  detail::request_choice choice(here, count, requests);
  MPI_Status* const ignored = what == core::mpi_call::Test ? MPI_STATUS_IGNORE : MPI_STATUSES_IGNORE;
  if (choice && statuses == ignored && choice.needs_status(requests)) statuses = choice.statuses();
  const int code = pass();
  if (code == MPI_SUCCESS && *found == 0) {
    here.found_nothing(choice.others_only());
    return code;
  }
  if (!choice.knows_any()) {
    here.found_unknown();
    return code;
  }
  uint32_t index;
  const bool stored = detail::store_poll(here, detail::failed_if(code), index);
  const bool told = statuses != ignored;
  for (int i = 0; i < count; ++i) {
    const int each = code == MPI_ERR_IN_STATUS && told ? statuses[i].MPI_ERROR : count == 1 ? code : MPI_SUCCESS;
    if (code != MPI_SUCCESS && (each == MPI_ERR_PENDING || requests[i] != MPI_REQUEST_NULL)) continue;
    choice.done(i, index, !stored, told ? &statuses[i] : nullptr, each);
  }
  return code;
}

/// MPI_Request_get_status: completes without freeing; leaves a record when it first reports completion.
template <class What, class Pass>
inline int get_status(What what, caller from, Pass& pass, MPI_Request request, const int* found, MPI_Status*& status) {
  poll_call here(what, from);
  if (!here) return pass();
  here.ask();
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE && detail::any_needs_status(here.process(), 1, &request)) status = &own;
  const int code = pass();
  pending* const p = here.process().requests.find(bits_of(request));
  const bool known = p != nullptr;
  if (code != MPI_SUCCESS || *found == 0) {
    here.found_nothing(here.process().others_requests && !known);
    return code;
  }
  if (!known) here.found_unknown();
  if (!known || p->record == nullptr || p->record->has(flag::complete)) return code;
  held_request held;
  held.hold(p);
  uint32_t index;
  const bool stored = detail::store_poll(here, 0, index);
  detail::complete_posting(here.summary(), held, index, !stored, status != MPI_STATUS_IGNORE ? status : nullptr, code);
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
