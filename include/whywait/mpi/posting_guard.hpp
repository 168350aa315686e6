#ifndef WHYWAIT_MPI_POSTING_GUARD_HPP
#define WHYWAIT_MPI_POSTING_GUARD_HPP

#include <whywait/mpi/call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Makes ordinal and posting one step while several threads call MPI; else it does nothing. MPI runs inside, and an error
/// handler may leave it by `longjmp`: the next call of the thread then releases the locks, or another thread takes them over.
class posting_guard {
 public:
  posting_guard(const call& here, MPI_Comm comm, bool needed) noexcept
      : posting_guard(here, here.process().posting_lock_of(bits_of(comm)), 1, needed) {}
  /// For operations on any communicators.
  posting_guard(const call& here, bool needed) noexcept : posting_guard(here, here.process().posting_locks[0], 16, needed) {}
  ~posting_guard() {
    if (thread_ != nullptr) thread_->release_posting_locks();
  }
  posting_guard(const posting_guard&) = delete;
  posting_guard& operator=(const posting_guard&) = delete;

 private:
  static constexpr uint64_t patience_ns = 2000000000;

  posting_guard(const call& here, posting_lock& first, uint32_t count, bool needed) noexcept
      : thread_(needed ? &here.thread() : nullptr) {
    if (thread_ == nullptr) return;
    thread_->held = &first;
    for (uint32_t i = 0; i != count; ++i) {
      thread_->held[i].lock.lock_or_take_over(patience_ns);
      thread_->held_count = i + 1;
    }
  }

  thread_state* const thread_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
