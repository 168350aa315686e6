#ifndef WHYWAIT_MPI_WINDOWS_HPP
#define WHYWAIT_MPI_WINDOWS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/mpi/argument_facts.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/collective_calls.hpp>
#include <whywait/mpi/communicator_calls.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Memory that this process shares with others, as it sees it: of MPI_Win_allocate_shared.
struct shared_memory {
  uint64_t begin;
  uint64_t end;
  core::stable_key key;   ///< the same in all processes that share it
  core::stable_key comm;
  uint64_t window;        ///< handle + 1; 0: freed, and its memory may be something else by now
};

/// The last `capacity` of them, the newest last. Written under state::lock.
struct shared_windows {
  static constexpr uint32_t capacity = 1024;
  uint32_t size;
  shared_memory list[capacity];

  /// The memory that holds all of [begin, end), the newest; null: none. `now`: it is not freed. What was there before may
  /// have been in one that is.
  const shared_memory* find(uint64_t begin, uint64_t end, bool now) const noexcept {
    for (uint32_t i = size; i-- != 0;)
      if (list[i].begin <= begin && end <= list[i].end && (list[i].window != 0 || !now)) return &list[i];
    return nullptr;
  }
};

namespace detail {

inline void add_memory(shared_windows& all, const shared_memory& m) noexcept {
  if (all.size == shared_windows::capacity) {  // the oldest goes
    for (uint32_t i = 1; i < all.size; ++i) all.list[i - 1] = all.list[i];
    --all.size;
  }
  all.list[all.size++] = m;
}

/// Where the segments of all ranks are here: one memory if they follow each other, else one each.
__attribute__((noinline, cold)) inline void note_window(call& here, uint32_t comm, MPI_Win window) noexcept {
  state& process = here.process();
  if (comm == communicator_table::none) return;
  const known_communicator& known = process.communicators[comm];
  uint64_t begin = ~uint64_t(0), end = 0, sum = 0;
  const auto segment = [&](int rank, uint64_t& at) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* base = nullptr;
    if (PMPI_Win_shared_query(window, rank, &bytes, &unit, static_cast<void*>(&base)) != MPI_SUCCESS) return uint64_t(0);
    at = reinterpret_cast<uintptr_t>(base);
    return bytes > 0 ? static_cast<uint64_t>(bytes) : uint64_t(0);
  };
  for (int i = 0; i < known.size; ++i) {
    uint64_t at = 0;
    const uint64_t bytes = segment(i, at);
    if (bytes == 0) continue;
    if (at < begin) begin = at;
    if (at + bytes > end) end = at + bytes;
    sum += bytes;
  }
  if (sum == 0) return;
  guard_if guard(process.lock, process.multiple);
  if (process.windows == nullptr)
    process.windows = static_cast<shared_windows*>(core::map_pages(sizeof(shared_windows), false));
  if (process.windows == nullptr) return;
  const uint64_t handle = bits_of(window) + 1;
  // All members make windows over one communicator in the same order.
  uint64_t number = 1;
  for (uint32_t i = 0; i < process.windows->size; ++i)
    if (process.windows->list[i].comm == known.id) ++number;
  const core::stable_key key = core::combine(known.id, number << 32);
  if (end - begin == sum) return add_memory(*process.windows, {begin, end, key, known.id, handle});
  for (int i = 0; i < known.size; ++i) {
    uint64_t at = 0;
    if (const uint64_t bytes = segment(i, at))
      add_memory(*process.windows, {at, at + bytes, core::combine(key, static_cast<uint64_t>(i) + 1), known.id, handle});
  }
}

}  // namespace detail

/// MPI_Win_allocate_shared: collective, and what memory it is is remembered.
template <class What, class Pass>
__attribute__((cold)) inline int allocate_shared(What what, caller from, Pass& pass, MPI_Comm comm, MPI_Win* made) {
  return detail::make_together(what, from, pass, comm, [&](call& here) {
    const uint32_t over = index_of(here.thread(), comm);
    detail::note_window(here, over, *made);
    return over;
  });
}

/// MPI_Win_free: counted; its memory is shared no more.
template <class What, class Pass>
__attribute__((cold)) inline int free_window(What what, caller from, Pass& pass, MPI_Win* window) {
  call here(what, from);
  if (!here || window == nullptr) return pass();
  const uint64_t handle = bits_of(*window) + 1;
  const int code = pass();
  if (code != MPI_SUCCESS || here.process().windows == nullptr) return code;
  guard_if guard(here.process().lock, here.process().multiple);
  for (uint32_t i = 0; i < here.process().windows->size; ++i) {
    shared_memory& m = here.process().windows->list[i];
    if (m.window == handle) m.window = 0;
  }
  return code;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
