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

/// A window was freed: its memory is shared no more. The caller holds the lock.
inline void forget_memory(state& process, MPI_Win window) noexcept {
  if (process.windows == nullptr) return;
  for (uint32_t i = 0; i < process.windows->size; ++i) {
    shared_memory& m = process.windows->list[i];
    if (m.window == bits_of(window) + 1) m.window = 0;
  }
}

}  // namespace detail

/// The key of a window in the table of communicators, in which no communicator has it.
inline uint64_t handle_of(MPI_Win window) noexcept { return ~bits_of(window); }

/// Index of a window among the communicators; `none` if no wrapper saw how it was made.
inline uint32_t window_index(thread_state& thread, MPI_Win window) noexcept {
  state& process = *thread.process;
  const uint32_t generation = __atomic_load_n(&process.communicator_generation, __ATOMIC_RELAXED);
  if (thread.window_handle == handle_of(window) && thread.window_generation == generation) return thread.window_index;
  guard_if guard(process.lock, process.multiple);
  thread.window_handle = handle_of(window);
  thread.window_generation = generation;
  return thread.window_index = process.communicators.find(handle_of(window));
}

/// MPI_Win_allocate_shared: collective, and what memory it is is remembered.
template <class What, class Pass>
__attribute__((cold)) inline int allocate_shared(What what, caller from, Pass& pass, MPI_Comm comm, MPI_Win* made) {
  return detail::make_together(what, from, pass, bits_of(comm), [&](call& here) {
    const uint32_t over = index_of(here.thread(), comm);
    detail::note_window(here, over, *made);
    made_like(here.thread(), comm, handle_of(*made));
    return over;
  });
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
