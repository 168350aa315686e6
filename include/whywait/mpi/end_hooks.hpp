#ifndef WHYWAIT_MPI_END_HOOKS_HPP
#define WHYWAIT_MPI_END_HOOKS_HPP

#include <whywait/mpi/process_state.hpp>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <initializer_list>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Runs the hook for an end without MPI_Finalize, once in a process. From a signal handler: async-signal-safe.
inline void say_last_words(state& process, end_reason reason, int signal) noexcept {
  if (__atomic_exchange_n(&process.ended, true, __ATOMIC_SEQ_CST)) return;
  process.end_ticks = core::cycle_clock::now();
  if (core::kept_header* const header = process.registry->kept.header()) {
    header->end = reason == end_reason::abort  ? core::kept_end::abort
                  : reason == end_reason::exit ? core::kept_end::exit
                                               : core::kept_end::signal;
    header->signal = signal;
    header->last = core::clock_anchor::take(4);
  }
  if (process.hook.on_end != nullptr) process.hook.on_end(process, reason, signal);
}

namespace detail {

struct fatal_signal {
  int number;
  bool ours;
  struct sigaction before;
};
__attribute__((visibility("hidden"))) inline fatal_signal fatal_signals[] = {
    {SIGTERM, false, {}}, {SIGINT, false, {}}, {SIGSEGV, false, {}}, {SIGBUS, false, {}},
    {SIGFPE, false, {}},  {SIGILL, false, {}}, {SIGABRT, false, {}}};

/// Prints the last words, puts back what was there before and lets the signal happen again: a fault repeats
/// when its instruction does, any other signal is sent again and arrives when this handler returns.
inline void on_signal(int number, siginfo_t* info, void*) {
  const int kept_errno = errno;
  state* const process = the_state();
  if (process != nullptr && process->running && process->registry->pid == getpid())
    say_last_words(*process, end_reason::signal, number);
  for (fatal_signal& s : fatal_signals)
    if (s.number == number) sigaction(number, &s.before, nullptr);
  if (info == nullptr || info->si_code <= 0) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
  errno = kept_errno;
}

/// A handler that the MPI library installed (stack traces of Open MPI and UCX) may be preceded by ours; one
/// of the program's own may not.
inline bool belongs_to_mpi(const struct sigaction& action) noexcept {
  void* code = nullptr;
  if ((action.sa_flags & SA_SIGINFO) != 0) memcpy(&code, &action.sa_sigaction, sizeof code);
  else memcpy(&code, &action.sa_handler, sizeof code);
  Dl_info info;
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return false;
  for (const char* library : {"libopen-pal", "libopen-rte", "libmpi", "libmpich", "libucs"})
    if (strstr(info.dli_fname, library) != nullptr) return true;
  return false;
}

/// Returns whether faults reach the handler.
inline bool listen_to_signals() noexcept {
  bool catches_faults = false;
  for (fatal_signal& s : fatal_signals) {
    struct sigaction now;
    if (sigaction(s.number, nullptr, &now) != 0) continue;
    const bool by_default = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
    const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
    if (ignored || (!by_default && !belongs_to_mpi(now))) continue;
    s.before = now;
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    sigemptyset(&ours.sa_mask);
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ours.sa_sigaction = &on_signal;
    s.ours = sigaction(s.number, &ours, nullptr) == 0;
    if (s.number == SIGSEGV) catches_faults = s.ours;
  }
  return catches_faults;
}

/// Puts back what was there, unless the program has installed something since.
inline void ignore_signals() noexcept {
  for (fatal_signal& s : fatal_signals) {
    struct sigaction now;
    if (!s.ours || sigaction(s.number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_signal) sigaction(s.number, &s.before, nullptr);
    s.ours = false;
  }
}

}  // namespace detail

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
