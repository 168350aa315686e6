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
  posting_guard(const call& here, MPI_Comm comm, bool needed) noexcept : thread_(here.thread()), needed_(needed) {
    if (__builtin_expect(needed, 0)) lock(thread_, state::posting_lock_of(bits_of(comm)));
  }
  /// For operations on several communicators. `locks`: a bit for each posting lock.
  posting_guard(const call& here, uint64_t locks, bool needed) noexcept : thread_(here.thread()), needed_(needed) {
    for (uint64_t left = needed ? locks : 0; left != 0; left &= left - 1)
      lock(thread_, static_cast<uint32_t>(__builtin_ctzll(left)));  // always in this order
  }
  ~posting_guard() {
    if (__builtin_expect(needed_, 0)) thread_.release_posting_locks();
  }
  posting_guard(const posting_guard&) = delete;
  posting_guard& operator=(const posting_guard&) = delete;

  /// The ordinal of an operation that is handed to MPI while the guard lives. Within a communicator ordinals ascend.
  uint32_t take() noexcept { return __builtin_expect(needed_, 0) ? take_own(thread_) : thread_.process->take_posting(); }
  /// The first of several consecutive ones.
  uint32_t take(uint32_t count) noexcept {
    const uint32_t first = thread_.process->take_postings(count);
    for (uint64_t left = thread_.held; left != 0 && count != 0; left &= left - 1)
      thread_.process->posting_locks[__builtin_ctzll(left)].last = first + count - 1;
    return first;
  }

 private:
  static constexpr uint64_t patience_ns = 2000000000;
  static constexpr uint32_t most_at_once = 64;

  __attribute__((noinline)) static void lock(thread_state& thread, uint32_t number) noexcept {
    thread.process->posting_locks[number].lock.lock_or_take_over(patience_ns);
    thread.held |= uint64_t(1) << number;
  }

  // A thread takes many ordinals at once, for each step of the common counter brings its cache line from another core. If
  // another thread has posted a later one in the communicator meanwhile, the rest of them is void.
  __attribute__((noinline)) static uint32_t take_own(thread_state& thread) noexcept {
    uint32_t& last = thread.process->posting_locks[__builtin_ctzll(thread.held)].last;
    if (thread.next_posting == thread.end_posting || thread.next_posting <= last) {
      const bool used = thread.next_posting == thread.end_posting;
      uint32_t& block = thread.posting_block;
      block = used && block < most_at_once ? 2 * block + 1 : used ? block : block / 2;
      thread.next_posting = thread.process->take_postings(block + 1);
      thread.end_posting = thread.next_posting + block + 1;
    }
    return last = thread.next_posting++;
  }

  thread_state& thread_;
  const bool needed_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
