#ifndef WHYWAIT_THREAD_FINALIZE_OWN_STACK_HPP
#define WHYWAIT_THREAD_FINALIZE_OWN_STACK_HPP

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace threads {

namespace detail {

// Bytes that are left of the calling thread's stack; 0: it runs on another one, as signal handlers may.
inline std::size_t stack_left() noexcept {
  pthread_attr_t about;
  if (pthread_getattr_np(pthread_self(), &about) != 0) return 0;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&about, &low, &size);
  pthread_attr_destroy(&about);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), end = reinterpret_cast<std::uintptr_t>(low);
  return here > end && here - end <= size ? here - end : 0;
}

struct stack_switch {
  ucontext_t before, own;
  void (*work)();
};
inline void run_work(unsigned high, unsigned low) { reinterpret_cast<stack_switch*>(std::uintptr_t{high} << 32 | low)->work(); }

}  // namespace detail

/// Calls work(), which must not throw, on a stack of its own if little of the caller's is left: a program may end in a thread with a
/// small stack, or in a signal handler, and reading debug information takes up to 200 KiB. If there is no memory, it is not called.
inline void on_large_stack(void (*work)()) noexcept {
  constexpr std::size_t least = std::size_t{1} << 20, bytes = std::size_t{8} << 20;
  if (detail::stack_left() >= least) return work();
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* const stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stack == MAP_FAILED) return;
  auto* const both = static_cast<detail::stack_switch*>(stack);  // at its far end: the contexts are too large for a small stack
  both->work = work;
  if (getcontext(&both->own) == 0) {
    both->own.uc_stack.ss_sp = static_cast<char*>(stack) + 4096;
    both->own.uc_stack.ss_size = bytes - 4096;
    both->own.uc_link = &both->before;
    const auto at = reinterpret_cast<std::uintptr_t>(both);
    makecontext(&both->own, reinterpret_cast<void (*)()>(&detail::run_work), 2, static_cast<unsigned>(at >> 32),
                static_cast<unsigned>(at));
    swapcontext(&both->before, &both->own);
  }
  munmap(stack, bytes);
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif
