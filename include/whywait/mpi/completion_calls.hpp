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

// Calls that complete requests. Handles are looked up before MPI may free and reuse them where other threads
// could get them; otherwise only those that did complete are looked up, afterwards.

namespace detail {

/// Stores in a posting which call completed it. The caller holds the lock if there are several threads.
/// `index`: of the completing record; with `lost` the posting becomes its own completion.
inline void complete_posting(call& here, pending* p, uint32_t index, bool lost, const MPI_Status* status, int code) noexcept {
  state& process = here.process();
  core::sync_record* const r = p->record;
  if (__builtin_expect(p->twin != nullptr, 0) && !exchanges_have_status) status = nullptr;
  if (r != nullptr && !r->has(flag::complete)) {
    r->completion = lost ? p->index : index;
    r->completed_by = lost ? p->location : here.where().index;
    unsigned flags = flag::complete;
    if (p->cancel_seen && status != nullptr) {
      int cancelled = 0;
      PMPI_Test_cancelled(status, &cancelled);
      if (cancelled != 0) flags |= flag::cancelled;
    }
    if (code != MPI_SUCCESS && !took_message(code)) flags |= flag::failed;
    if (p->wildcard && status != nullptr && (flags & (flag::cancelled | flag::failed)) == 0) resolve(r, *status);
    else if (p->wildcard && p->twin != nullptr) flags |= flag::ambiguous;
    r->flags = static_cast<uint16_t>(r->flags | flags);
    if (__builtin_expect(p->watched, 0) && (flags & flag::cancelled) == 0)
      leave_received(here, *r, index, !lost, p->region->what, status);
  }
  if (p->needs_status()) {
    if (p->wildcard) --process.open_wildcards;
    if (p->cancel_seen) --process.open_wildcards;
    if (p->watched) --process.open_wildcards;
    p->wildcard = p->cancel_seen = p->watched = false;
  }
  if (__builtin_expect(p->twin != nullptr, 0)) complete_posting(here, p->twin, index, lost, nullptr, code);
  if (p->new_comm != nullptr) {  // MPI_Comm_idup: only now the handle exists
    process.communicators.bind(bits_of(*static_cast<MPI_Comm*>(p->new_comm)), p->comm);
    __atomic_add_fetch(&process.communicator_generation, 1u, __ATOMIC_RELAXED);
  }
}

/// The request is gone (or inactive, if it is persistent).
inline void finish_request(call& here, pending* p, uint32_t index, bool lost, const MPI_Status* status, int code) noexcept {
  complete_posting(here, p, index, lost, status, code);
  p->record = nullptr;
  if (p->persistent) return;
  if (__builtin_expect(p->twin != nullptr, 0)) here.process().requests.drop_twin(p);
  if (__builtin_expect(p->region != nullptr, 0)) drop_region(here.process(), p->region);
  here.process().requests.unlink(p);
  if (p->holders == 0) here.process().requests.recycle(p, here.several());
}

/// Whether statuses that the program ignores must be asked for after all.
inline bool any_needs_status(call& here, int count, const MPI_Request* requests) noexcept {
  if (__builtin_expect(here.process().open_wildcards == 0, 1)) return false;
  guard_if guard(here.process().lock, here.several());
  for (int i = 0; i < count; ++i) {
    const pending* const p = here.process().requests.find(bits_of(requests[i]));
    if (p != nullptr && p->needs_status()) return true;
  }
  return false;
}

/// The entries of an array of requests, found before the call. `certain`: the call completes all of them, so
/// they are taken out at once and MPI may hand out their handles again.
inline void hold(call& here, request_room& room, int count, const MPI_Request* requests, bool certain) noexcept {
  guard_if guard(here.process().lock, here.several());
  for (int i = 0; i < count; ++i) {
    pending* const p = here.process().requests.find(bits_of(requests[i]));
    room.entries[i] = p;
    if (p == nullptr) continue;
    ++p->holders;
    if (certain && !p->persistent) here.process().requests.unlink(p);
  }
}

/// Ends `hold` for one entry whose call succeeded, if nothing but the number of its completion has to be stored, as for
/// most. False: nothing was done. No other thread can reach an entry that was taken out and has one holder.
__attribute__((always_inline)) inline bool complete_plainly(call& here, pending* p, uint32_t index, bool lost) noexcept {
  core::sync_record* const r = p->record;
  if (p->persistent || p->holders != 1 || p->needs_status() || p->twin != nullptr || p->new_comm != nullptr ||
      p->region != nullptr || r == nullptr || lost || r->has(flag::complete))
    return false;
  r->completion = index;
  r->completed_by = here.where().index;
  r->flags = static_cast<uint16_t>(r->flags | flag::complete);
  here.process().requests.recycle(p, here.several());
  return true;
}

inline void let_go_under_lock(call& here, pending* p, bool done, uint32_t index, bool lost, const MPI_Status* status,
                              int code) noexcept {
  guard_if guard(here.process().lock, here.several());
  --p->holders;
  if (done) finish_request(here, p, index, lost, status, code);
  else if (!p->linked && p->holders == 0) here.process().requests.link(p);  // MPI_ERR_PENDING
}

/// Ends `hold` for one entry: done or still pending. `certain`: as it was held.
__attribute__((always_inline)) inline void let_go(call& here, pending* p, bool certain, bool done, uint32_t index, bool lost,
                                                  const MPI_Status* status, int code) noexcept {
  if (certain && done && code == MPI_SUCCESS && complete_plainly(here, p, index, lost)) return;
  let_go_under_lock(here, p, done, index, lost, status, code);
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
  const bool several = here.several();
  MPI_Status own;
  pending* p;
  {
    guard_if guard(here.process().lock, several);
    p = here.process().requests.find(bits_of(*request));
    if (p != nullptr) {
      ++p->holders;
      if (!p->persistent) here.process().requests.unlink(p);
      if (status == MPI_STATUS_IGNORE && p->needs_status()) status = &own;
    }
  }
  const int code = pass();
  here.leave();
  uint32_t index;
  const bool stored = detail::store_completion(here, detail::failed_if(code), index);
  if (p != nullptr)
    detail::let_go(here, p, true, code == MPI_SUCCESS || *request == MPI_REQUEST_NULL || p->persistent, index, !stored,
                   status != MPI_STATUS_IGNORE ? status : nullptr, code);
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
    if (statuses == MPI_STATUSES_IGNORE && detail::any_needs_status(here, count, requests)) statuses = room.statuses;
    detail::hold(here, room, count, requests, true);
  }
  const int code = pass();
  here.leave();
  uint32_t index;
  const bool stored = detail::store_completion(here, detail::failed_if(code), index);
  const bool told = statuses != MPI_STATUSES_IGNORE;
  for (int i = 0; room && i < count; ++i) {
    if (room.entries[i] == nullptr) continue;
    const int each = code != MPI_SUCCESS && told && code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS;
    const bool done = code == MPI_SUCCESS || (each != MPI_ERR_PENDING && (told || requests[i] == MPI_REQUEST_NULL));
    detail::let_go(here, room.entries[i], true, done, index, !stored, told ? &statuses[i] : nullptr, each);
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
    if (held_) {
      hold(here, room_, count, requests, false);
    } else {
      for (int i = 0; i < count; ++i) room_.handles[i] = bits_of(requests[i]);
    }
  }
  MPI_Status* statuses() const noexcept { return room_.statuses; }
  explicit operator bool() const noexcept { return static_cast<bool>(room_); }

  void done(int i, uint32_t index, bool lost, const MPI_Status* status, int code) noexcept {
    if (!room_ || i < 0 || i >= count_) return;
    if (held_) {
      if (room_.entries[i] == nullptr) return;
      let_go(here_, room_.entries[i], false, true, index, lost, status, code);
      room_.entries[i] = nullptr;
    } else if (pending* p = here_.process().requests.find(room_.handles[i])) {
      finish_request(here_, p, index, lost, status, code);
    }
  }
  /// Whether a call about them has nothing to do with any request that a wrapper created. False where none can be.
  bool others_only() noexcept { return __builtin_expect(here_.process().others_requests, 0) && !knows_any(); }
  /// Whether request `i` of the call is a posting that waits for its completion record.
  bool knows(int i) noexcept {
    if (!room_ || i < 0 || i >= count_) return false;
    const pending* const p = held_ ? room_.entries[i] : here_.process().requests.find(room_.handles[i]);
    return p != nullptr && (p->record != nullptr || p->new_comm != nullptr);
  }
  bool knows_any() noexcept {
    for (int i = 0; i < count_; ++i)
      if (knows(i)) return true;
    return false;
  }
  /// The rest is still pending.
  ~request_choice() {
    if (!held_ || !room_) return;
    for (int i = 0; i < count_; ++i)
      if (room_.entries[i] != nullptr) let_go(here_, room_.entries[i], false, false, 0, false, nullptr, MPI_SUCCESS);
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
  if (status == MPI_STATUS_IGNORE && detail::any_needs_status(here, count, requests)) status = &own;
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
  if (choice && statuses == MPI_STATUSES_IGNORE && detail::any_needs_status(here, count, requests))
    statuses = choice.statuses();
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
  if (choice && statuses == ignored && detail::any_needs_status(here, count, requests)) statuses = choice.statuses();
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
  if (status == MPI_STATUS_IGNORE && detail::any_needs_status(here, 1, &request)) status = &own;
  const int code = pass();
  bool known = false;
  pending* p = nullptr;
  if (code == MPI_SUCCESS && (*found != 0 || here.process().others_requests)) {
    guard_if guard(here.process().lock, here.several());
    p = here.process().requests.find(bits_of(request));
    known = p != nullptr;
    if (*found == 0 || !known || p->record == nullptr || p->record->has(flag::complete)) p = nullptr;
    else ++p->holders;
  }
  if (code != MPI_SUCCESS || *found == 0) {
    here.found_nothing(here.process().others_requests && !known);
    return code;
  }
  if (p == nullptr) {
    if (!known) here.found_unknown();
    return code;
  }
  uint32_t index;
  const bool stored = detail::store_poll(here, 0, index);
  guard_if guard(here.process().lock, here.several());
  detail::complete_posting(here, p, index, !stored, status != MPI_STATUS_IGNORE ? status : nullptr, code);
  if (--p->holders == 0 && !p->linked) here.process().requests.recycle(p);
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
