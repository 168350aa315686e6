#ifndef WHYWAIT_MPI_REQUEST_ROOM_HPP
#define WHYWAIT_MPI_REQUEST_ROOM_HPP

#include <whywait/core/pages.hpp>
#include <whywait/mpi/process_state.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Arrays for the requests of one call: one set for each thread, which only grows. False: no pages, then the
/// call's requests complete unseen.
struct request_room {
  uint64_t* handles = nullptr;
  held_request* held = nullptr;
  MPI_Status* statuses = nullptr;

  request_room(thread_state& thread, int count) noexcept {
    const uint64_t n = count > 0 ? static_cast<uint64_t>(count) : 0;
    const uint64_t bytes = n * (sizeof(uint64_t) + sizeof(held_request) + sizeof(MPI_Status));
    if (__builtin_expect(bytes > thread.scratch_bytes, 0)) grow(thread, bytes);
    if (bytes > thread.scratch_bytes) return;
    handles = static_cast<uint64_t*>(thread.scratch);
    held = reinterpret_cast<held_request*>(handles + n);
    statuses = reinterpret_cast<MPI_Status*>(held + n);
  }
  explicit operator bool() const noexcept { return handles != nullptr; }

 private:
  __attribute__((noinline, cold)) static void grow(thread_state& thread, uint64_t bytes) noexcept {
    uint64_t fresh = 1u << 14;
    while (fresh < bytes) fresh *= 2;
    core::unmap_pages(thread.scratch, thread.scratch_bytes);
    thread.scratch = core::map_pages(fresh, true);
    thread.scratch_bytes = thread.scratch != nullptr ? fresh : 0;
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
