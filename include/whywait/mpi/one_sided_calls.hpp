#ifndef WHYWAIT_MPI_ONE_SIDED_CALLS_HPP
#define WHYWAIT_MPI_ONE_SIDED_CALLS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/communicator_calls.hpp>
#include <whywait/mpi/poll_call.hpp>
#include <whywait/mpi/windows.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Calls on windows. A window is a communicator of its own with the members of its parent, so that fences and posts are matched
// like collectives and messages. MPI_Win_post and its relatives leave a posting for each member of their group.

/// The groups of the open epochs of a window, as ranks of the window. MPI_Win_complete and MPI_Win_wait do not name them.
struct window_groups {
  uint64_t handle;  ///< handle_of(window); 0: the entry is free
  int32_t* ranks;   ///< room for twice the window's size: targets, then origins
  int32_t room, targets, origins;
};

/// Those of a process, written under state::lock.
struct open_groups {
  static constexpr uint32_t capacity = 1024;
  uint32_t size;
  window_groups list[capacity];

  window_groups* find(uint64_t handle) noexcept {
    for (uint32_t i = size; i-- != 0;)
      if (list[i].handle == handle) return &list[i];
    return nullptr;
  }
};

namespace detail {

/// The entry of a window, made if there is none; null without memory. The caller holds the lock.
__attribute__((noinline, cold)) inline window_groups* groups_of(state& process, MPI_Win window, int32_t members) noexcept {
  if (process.groups == nullptr) process.groups = static_cast<open_groups*>(core::map_pages(sizeof(open_groups), false));
  if (process.groups == nullptr) return nullptr;
  open_groups& all = *process.groups;
  window_groups* entry = all.find(handle_of(window));
  if (entry == nullptr) entry = all.find(0);
  if (entry == nullptr && all.size != open_groups::capacity) entry = &all.list[all.size++];
  if (entry == nullptr) return nullptr;
  if (entry->handle == 0) entry->targets = entry->origins = 0;
  if (entry->room < members) {
    core::unmap_pages(entry->ranks, sizeof(int32_t) * 2 * static_cast<uint64_t>(entry->room));
    entry->ranks = static_cast<int32_t*>(core::map_pages(sizeof(int32_t) * 2 * static_cast<uint64_t>(members), false));
    entry->room = entry->ranks != nullptr ? members : 0;
  }
  if (entry->ranks == nullptr) return nullptr;
  entry->handle = handle_of(window);
  return entry;
}

/// Keeps the members of a group until the epoch ends. MPI has accepted the group.
__attribute__((noinline, cold)) inline void keep_group(state& process, MPI_Win window, MPI_Group group, bool targets) noexcept {
  MPI_Group members = MPI_GROUP_NULL;
  int size = 0, count = 0;
  if (PMPI_Win_get_group(window, &members) != MPI_SUCCESS) return;
  PMPI_Group_size(members, &size);
  PMPI_Group_size(group, &count);
  guard_if guard(process.lock, process.multiple);
  window_groups* const entry = count <= size ? groups_of(process, window, size) : nullptr;
  if (entry != nullptr) {
    int32_t* const into = entry->ranks + (targets ? 0 : entry->room);
    int32_t kept = 0;
    for (int i = 0; i < count; ++i) {
      int at = MPI_UNDEFINED;
      PMPI_Group_translate_ranks(group, 1, &i, members, &at);
      if (at >= 0) into[kept++] = at;
    }
    (targets ? entry->targets : entry->origins) = kept;
  }
  PMPI_Group_free(&members);
}

/// Leaves one posting of no duration per member of the group and tag; all of them are complete with the record `whole`. The
/// first record of the call follows, unless it is `whole` already.
inline void store_postings(call& here, MPI_Win window, bool targets, unsigned flags, int32_t first_tag, int32_t last_tag,
                           uint32_t* whole) noexcept {
  state& process = here.process();
  const uint32_t comm = window_index(here.thread(), window);
  int32_t count = 0;
  const int32_t* ranks = nullptr;
  {
    guard_if guard(process.lock, process.multiple);
    const window_groups* const entry = process.groups != nullptr ? process.groups->find(handle_of(window)) : nullptr;
    if (entry != nullptr) {
      count = targets ? entry->targets : entry->origins;
      ranks = entry->ranks + (targets ? 0 : entry->room);
    }
  }
  const uint32_t over =
      whole != nullptr ? *whole : here.next_index() + static_cast<uint32_t>(count * (last_tag - first_tag + 1));
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t tag = first_tag; tag <= last_tag; ++tag) {
      core::sync_record* const r = here.store(flags | flag::complete, process.take_posting());
      if (r == nullptr) return;
      r->comm = comm;
      r->peer = ranks[i];
      r->tag = tag;
      r->completion = over;
      r->completed_by = here.where().index;
      here.finish();
    }
  }
}

constexpr int whole_window = INT32_MIN;  ///< a target that no MPI library uses; in MPICH -1 is MPI_PROC_NULL

inline core::sync_record* store_whole(call& here, MPI_Win window, int target = whole_window, uint64_t bytes = 0,
                                      int32_t tag = -1) noexcept {
  core::sync_record* const r = here.store(target == MPI_PROC_NULL ? flag::proc_null : 0, 0);
  if (r == nullptr) return nullptr;
  r->comm = window_index(here.thread(), window);
  r->peer = target >= 0 ? target : -1;
  r->bytes = bytes;
  r->tag = tag;
  here.finish();
  return r;
}

}  // namespace detail

/// MPI_Win_create, MPI_Win_allocate, MPI_Win_create_dynamic.
__attribute__((cold)) inline int create_window(core::mpi_call what, caller from, passed_call& pass, MPI_Comm comm,
                                               MPI_Win* made) {
  return detail::make_together(what, from, pass, bits_of(comm), [&](call& here) {
    made_like(here.thread(), comm, handle_of(*made));
    return index_of(here.thread(), comm);
  });
}

/// MPI_Win_free: collective over the window; its memory is shared no more.
__attribute__((cold)) inline int free_window(core::mpi_call what, caller from, passed_call& pass, MPI_Win* window) {
  if (window == nullptr) return pass();
  const MPI_Win gone = *window;
  return detail::free_together(what, from, pass, handle_of(gone), [gone](bool freed) {
    if (!freed) return;
    state& process = *the_state();
    detail::forget_memory(process, gone);
    window_groups* const groups = process.groups != nullptr ? process.groups->find(handle_of(gone)) : nullptr;
    if (groups != nullptr) groups->handle = 0;
  });
}

/// MPI_Win_fence.
inline int fence(core::mpi_call what, caller from, passed_call& pass, MPI_Win window) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  here.about(handle_of(window), -1, -1);
  const uint32_t posting = here.process().take_posting();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  if (core::sync_record* r = here.store(flag::contributes | flag::consumes, posting)) {
    r->comm = window_index(here.thread(), window);
    here.finish();
  }
  return code;
}

/// MPI_Put and relatives: `count` elements of `type` at the target. `request`: of MPI_Rput and relatives, which a later call
/// completes; else null.
inline int transfer(core::mpi_call what, caller from, passed_call& pass, MPI_Count count, MPI_Datatype type, int target,
                    MPI_Win window, MPI_Request* request = nullptr) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const uint32_t index = here.next_index();
  core::sync_record* const r = detail::store_whole(
      here, window, target,
      target != MPI_PROC_NULL && count > 0 ? bytes_of(here.thread(), 1, type) * static_cast<uint64_t>(count) : 0);
  if (request == nullptr || r == nullptr || here.process().closed || here.process().is_shared(bits_of(*request))) return code;
  pending* const p = here.process().requests.add(bits_of(*request), here.process().multiple);
  if (p == nullptr) return code;
  p->record = r;
  p->index = index;
  p->location = here.where().index;
  return code;
}

/// MPI_Win_post, MPI_Win_start.
inline int open_epoch(core::mpi_call what, caller from, passed_call& pass, MPI_Group group, MPI_Win window) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const bool access = what == core::mpi_call::Win_start;
  detail::keep_group(here.process(), window, group, access);
  const uint64_t duration = here.duration();
  here.duration(0);
  detail::store_postings(here, window, access, access ? flag::posts_receive : flag::posts_send, core::epoch_tag::post,
                         core::epoch_tag::post, nullptr);
  here.duration(duration);
  detail::store_whole(here, window);
  return code;
}

/// MPI_Win_complete, MPI_Win_wait.
inline int close_epoch(core::mpi_call what, caller from, passed_call& pass, MPI_Win window) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) {
    here.refuse();
    return code;
  }
  const bool access = what == core::mpi_call::Win_complete;
  const uint64_t duration = here.duration();
  here.duration(0);
  detail::store_postings(here, window, access, access ? flag::posts_send : flag::posts_receive, core::epoch_tag::done,
                         core::epoch_tag::last_operation, nullptr);
  here.duration(duration);
  detail::store_whole(here, window);
  return code;
}

/// MPI_Win_test: a poll, which ends the epoch like MPI_Win_wait if it succeeds.
inline int test_epoch(core::mpi_call what, caller from, passed_call& pass, MPI_Win window, const int* over) {
  poll_call here(what, from);
  if (!here) return pass();
  here.ask();
  const int code = pass();
  if (code != MPI_SUCCESS) return code;
  if (*over == 0) {
    here.found_nothing(false);
    return code;
  }
  uint32_t index = 0;
  core::sync_record* const r = here.found(0, 0, index);
  if (r == nullptr) return code;
  r->comm = window_index(here.thread(), window);
  const uint64_t end = r->begin + r->duration;
  here.finish_poll(index);
  here.ended(end);
  detail::store_postings(here, window, false, flag::posts_receive, core::epoch_tag::done, core::epoch_tag::last_operation,
                         &index);
  return code;
}

namespace detail {
/// A call that is a poll because it is repeated: the one before found nothing. `others`: as in poll_call.
__attribute__((noinline)) inline int repeat(core::mpi_call what, caller from, passed_call& pass, bool others) {
  poll_call here(what, from);
  if (!here) return pass();
  here.ask();
  const int code = pass();
  here.found_nothing(others);
  return code;
}
}  // namespace detail

/// MPI_Win_sync: waits for no rank, but loops that wait for memory to change call it. One that is called again directly is a poll
/// that found nothing.
inline int sync_window(core::mpi_call what, caller from, passed_call& pass) { return detail::repeat(what, from, pass, true); }

/// MPI_Win_lock to MPI_Win_unlock_all. `target`: -1: all.
inline int lock_window(core::mpi_call what, caller from, passed_call& pass, MPI_Win window, int target = detail::whole_window,
                       bool exclusive = false) {
  call here(what, from);
  if (!here) return pass();
  here.begin();
  const int code = pass();
  here.leave();
  if (code != MPI_SUCCESS) here.refuse();
  else detail::store_whole(here, window, target, 0, exclusive ? 1 : 0);
  return code;
}

/// Operations that read one place of a window: MPI_Get, MPI_Compare_and_swap and, if `reads`, MPI_Fetch_and_op. If the same call reads
/// the same place again, with nothing but MPI_Win_flush* in between, and the value did not change, it is a poll: the program waits for
/// another value.
__attribute__((noinline)) inline int read_window(core::mpi_call what, caller from, passed_call& pass, const void* result,
                                                 MPI_Count count, MPI_Datatype type, int target, MPI_Aint place, MPI_Win window,
                                                 bool reads = true) {
  thread_state* const thread = recording_thread();
  if (thread == nullptr) return pass();
  window_read& last = thread->last_read;
  const auto& records = thread->location->syncs;
  last.again = reads && count == 1 && last.type == bits_of(type) && last.from == from.address &&
               last.window == handle_of(window) && last.place == place && last.target == target &&
               last.records == records.size();
  const int code =
      last.again ? detail::repeat(what, from, pass, false) : transfer(what, from, pass, count, type, target, window);
  int numbers = 0, combiner = MPI_COMBINER_NAMED;
  reads = reads && count == 1 && code == MPI_SUCCESS;  // else the type may be none
  if (reads && !last.again) PMPI_Type_get_envelope(type, &numbers, &numbers, &numbers, &combiner);
  reads = reads && combiner == MPI_COMBINER_NAMED;
  last.from = reads ? from.address : nullptr;
  last.type = bits_of(type);
  last.window = handle_of(window);
  last.place = place;
  last.target = target;
  last.records = records.size();
  last.result = result;
  last.bytes = reads ? bytes_of(*thread, 1, type) : 0;
  return code;
}

/// MPI_Win_flush to MPI_Win_flush_local_all. After an operation that is a poll they are part of it.
__attribute__((noinline)) inline int flush_window(core::mpi_call what, caller from, passed_call& pass, MPI_Win window,
                                                  int target = detail::whole_window) {
  thread_state* const thread = recording_thread();
  if (thread == nullptr) return pass();
  window_read& last = thread->last_read;
  const auto& records = thread->location->syncs;
  const bool follows = last.from != nullptr && last.window == handle_of(window) && last.records == records.size();
  const int code =
      follows && last.again ? detail::repeat(what, from, pass, false) : lock_window(what, from, pass, window, target);
  if (!follows) return code;
  last.records = records.size();
  if (last.result == nullptr || (target >= 0 && target != last.target)) return code;
  uint64_t value = 0;  // the buffer is the program's until this call, and need not be there at the next one
  if (code == MPI_SUCCESS) __builtin_memcpy(&value, last.result, last.bytes < sizeof value ? last.bytes : sizeof value);
  last.result = nullptr;
  if (last.again && value != last.value) last.from = nullptr;
  last.value = value;
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
