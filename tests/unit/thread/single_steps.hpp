#ifndef WHYWAIT_TESTS_UNIT_THREAD_SINGLE_STEPS_HPP
#define WHYWAIT_TESTS_UNIT_THREAD_SINGLE_STEPS_HPP

// Stops code before any of its machine instructions, with the trap flag of x86-64, so that other code runs there. For code whose
// steps are not atomic operations of a template parameter, as interleaving.hpp needs them. Steps are sequentially consistent. A trap
// takes 10 to 100 us in a virtual machine.

#include "../../sanitizers.hpp"

#if defined(__x86_64__) && defined(__linux__) && !WHYWAIT_TEST_THREAD_SANITIZER && !WHYWAIT_TEST_ADDRESS_SANITIZER
#define WHYWAIT_TEST_SINGLE_STEPS 1

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace single_steps {

/// While one exists, a process may step. One at a time.
class trap_handler {
 public:
  trap_handler();
  ~trap_handler() { sigaction(SIGTRAP, &before_, nullptr); }
  trap_handler(const trap_handler&) = delete;
  trap_handler& operator=(const trap_handler&) = delete;

 private:
  struct sigaction before_;
};

/// A body that runs on the calling thread with a stack of its own, as far as `go` lets it.
class stepped {
 public:
  explicit stepped(std::function<void()> body) : body_(std::move(body)), stack_(new char[stack_bytes]) {
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_.get();
    inside_.uc_stack.ss_size = stack_bytes;
    inside_.uc_link = &outside_;
    makecontext(&inside_, &stepped::enter, 0);
  }
  stepped(const stepped&) = delete;
  stepped& operator=(const stepped&) = delete;

  /// Runs at most so many instructions; a few before and behind the body count. Returns whether the body has ended.
  bool go(long instructions) {
    left_ = instructions;
    stepped* const around = std::exchange(current, this);
    if (!done_) swapcontext(&outside_, &inside_);
    current = around;
    return done_;
  }
  /// Runs the rest without steps.
  void finish() { go(all); }

 private:
  friend class trap_handler;
  static constexpr long all = -1;
  static constexpr std::size_t stack_bytes = 1 << 16;
  static inline stepped* current = nullptr;

  // The kernel clears the flag before a signal handler and restores it behind.
  static void trapped(int, siginfo_t*, void* context) {
    stepped& self = *current;
    if (--self.left_ > 0) return;
    swapcontext(&self.inside_, &self.outside_);
    if (self.left_ == all) static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
  }
  // Below the red zone.
  static void set_flag() {
    __asm__ volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc");
  }
  static void clear_flag() {
    __asm__ volatile("sub $128, %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc");
  }
  static void enter() {
    stepped& self = *current;
    if (self.left_ != all) set_flag();
    self.body_();
    clear_flag();
    self.done_ = true;
  }

  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;
  ucontext_t inside_, outside_;
  long left_ = 0;
  bool done_ = false;
};

inline trap_handler::trap_handler() {
  struct sigaction act = {};
  act.sa_sigaction = &stepped::trapped;
  act.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &act, &before_);
}

/// Whether the machine stops before each instruction. Not so under emulators of processors without the flag.
inline bool work() {
  volatile int done = 0;
  stepped counts([&] {
    for (int i = 0; i != 5; ++i) done = done + 1;
  });
  int reached = 0;
  for (int before = 0; !counts.go(1); before = done) reached += done - before == 1 ? 1 : 0;
  return reached == 5;
}

}  // namespace single_steps

#endif

#endif
