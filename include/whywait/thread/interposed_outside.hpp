#ifndef WHYWAIT_THREAD_INTERPOSED_OUTSIDE_HPP
#define WHYWAIT_THREAD_INTERPOSED_OUTSIDE_HPP

#include <whywait/record/open_calls.hpp>
#include <whywait/thread/interposed_events.hpp>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>

#ifndef WHYWAIT_DISABLE

// Functions of the C library in which a thread waits for signals, input, room for output, connections, processes, or locks and
// queues that it shares with processes, or sleeps: the call in reports, result, symbol, parameters, arguments, and the
// descriptor whose kind decides (-1: none does). Those with _chk are what the headers call with _FORTIFY_SOURCE.
// clang-format off
#define WHYWAIT_OUTSIDE_CALLS(X)                                                                                              \
  X(poll, int, poll, (pollfd* fds, nfds_t count, int limit), (fds, count, limit), -1)                                         \
  X(poll, int, __poll_chk, (pollfd* fds, nfds_t count, int limit, size_t room), (fds, count, limit, room), -1)                \
  X(ppoll, int, ppoll, (pollfd* fds, nfds_t count, const timespec* limit, const sigset_t* mask),                              \
    (fds, count, limit, mask), -1)                                                                                            \
  X(select, int, select, (int count, fd_set* in, fd_set* out, fd_set* other, timeval* limit),                                 \
    (count, in, out, other, limit), -1)                                                                                       \
  X(pselect, int, pselect, (int count, fd_set* in, fd_set* out, fd_set* other, const timespec* limit, const sigset_t* mask),  \
    (count, in, out, other, limit, mask), -1)                                                                                 \
  X(epoll_wait, int, epoll_wait, (int fd, epoll_event* events, int count, int limit), (fd, events, count, limit), -1)         \
  X(epoll_pwait, int, epoll_pwait, (int fd, epoll_event* events, int count, int limit, const sigset_t* mask),                 \
    (fd, events, count, limit, mask), -1)                                                                                     \
  X(pause, int, pause, (), (), -1)                                                                                            \
  X(sigsuspend, int, sigsuspend, (const sigset_t* mask), (mask), -1)                                                          \
  X(read, ssize_t, read, (int fd, void* to, size_t size), (fd, to, size), fd)                                                 \
  X(read, ssize_t, __read_chk, (int fd, void* to, size_t size, size_t room), (fd, to, size, room), fd)                        \
  X(recv, ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags), -1)                               \
  X(recv, ssize_t, __recv_chk, (int fd, void* to, size_t size, size_t room, int flags), (fd, to, size, room, flags), -1)      \
  X(recvfrom, ssize_t, recvfrom, (int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* length),               \
    (fd, to, size, flags, from, length), -1)                                                                                  \
  X(recvmsg, ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags), -1)                                \
  X(accept, int, accept, (int fd, sockaddr* from, socklen_t* length), (fd, from, length), -1)                                 \
  X(accept4, int, accept4, (int fd, sockaddr* from, socklen_t* length, int flags), (fd, from, length, flags), -1)             \
  X(connect, int, connect, (int fd, const sockaddr* to, socklen_t length), (fd, to, length), -1)                              \
  X(wait, pid_t, wait, (int* status), (status), -1)                                                                           \
  X(waitpid, pid_t, waitpid, (pid_t process, int* status, int options), (process, status, options), -1)                       \
  X(wait4, pid_t, wait4, (pid_t process, int* status, int options, rusage* used), (process, status, options, used), -1)       \
  X(waitid, int, waitid, (idtype_t kind, id_t id, siginfo_t* about, int options), (kind, id, about, options), -1)             \
  X(readv, ssize_t, readv, (int fd, const iovec* parts, int count), (fd, parts, count), fd)                                   \
  X(write, ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size), fd)                                     \
  X(writev, ssize_t, writev, (int fd, const iovec* parts, int count), (fd, parts, count), fd)                                 \
  X(send, ssize_t, send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags), -1)                     \
  X(sendto, ssize_t, sendto, (int fd, const void* from, size_t size, int flags, const sockaddr* to, socklen_t length),        \
    (fd, from, size, flags, to, length), -1)                                                                                  \
  X(sendmsg, ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags), -1)                          \
  X(flock, int, flock, (int fd, int operation), (fd, operation), -1)                                                          \
  X(lockf_lock, int, lockf, (int fd, int command, off_t size), (fd, command, size), -1)                                       \
  X(lockf_lock, int, lockf64, (int fd, int command, off64_t size), (fd, command, size), -1)                                   \
  X(semop, int, semop, (int set, sembuf* operations, size_t count), (set, operations, count), -1)                             \
  X(semtimedop, int, semtimedop, (int set, sembuf* operations, size_t count, const timespec* limit),                          \
    (set, operations, count, limit), -1)                                                                                      \
  X(msgrcv, ssize_t, msgrcv, (int queue, void* to, size_t size, long kind, int flags), (queue, to, size, kind, flags), -1)    \
  X(msgsnd, int, msgsnd, (int queue, const void* from, size_t size, int flags), (queue, from, size, flags), -1)               \
  X(mq_receive, ssize_t, mq_receive, (mqd_t queue, char* to, size_t size, unsigned* priority),                                \
    (queue, to, size, priority), -1)                                                                                          \
  X(mq_timedreceive, ssize_t, mq_timedreceive, (mqd_t queue, char* to, size_t size, unsigned* priority, const timespec* limit),\
    (queue, to, size, priority, limit), -1)                                                                                   \
  X(mq_send, int, mq_send, (mqd_t queue, const char* from, size_t size, unsigned priority),                                   \
    (queue, from, size, priority), -1)                                                                                        \
  X(mq_timedsend, int, mq_timedsend, (mqd_t queue, const char* from, size_t size, unsigned priority, const timespec* limit),  \
    (queue, from, size, priority, limit), -1)
// Those in which it only sleeps, or lets other threads have its processor.
#define WHYWAIT_SLEEP_CALLS(X)                                                                                                \
  X(nanosleep, int, nanosleep, (const timespec* time, timespec* left), (time, left), -1)                                      \
  X(clock_nanosleep, int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),                \
    (clock, flags, time, left), -1)                                                                                           \
  X(usleep, int, usleep, (useconds_t time), (time), -1)                                                                       \
  X(sleep, unsigned, sleep, (unsigned time), (time), -1)                                                                      \
  X(sched_yield, int, sched_yield, (), (), -1)
// Those that pthread_kill may end.
#define WHYWAIT_SIGNAL_CALLS(X)                                                                                               \
  X(sigwait, int, sigwait, (const sigset_t* set, int* number), (set, number), -1)                                             \
  X(sigwaitinfo, int, sigwaitinfo, (const sigset_t* set, siginfo_t* about), (set, about), -1)                                 \
  X(sigtimedwait, int, sigtimedwait, (const sigset_t* set, siginfo_t* about, const timespec* limit), (set, about, limit), -1)
// clang-format on

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

/// Whether waits for something outside are recorded. In a run of MPI they belong to the code around them: loops that poll MPI may sleep.
inline bool records_outside() noexcept {
  if (recorder() == nullptr || passes_on) return false;
  const core::registry* const registry = core::the_registry();
  const record::run_facts* const run = registry != nullptr ? record::run_of(*registry) : nullptr;
  return run != nullptr && run->last_posted == nullptr;
}

/// `wait` may wait for something outside of the process; its result and errno are those of the call. May leave by cancellation.
template <class Wait>
auto wait_outside(const sync_site& site, int descriptor, Wait wait) -> decltype(wait()) {
  if (!records_outside()) return wait();
  interposed_call call(site);
  decltype(wait()) result = 0;
  int error = 0;
  auto part = [&] {
    result = wait();
    error = errno;
    return 0;
  };
  if (call) call->await_outside(site, descriptor, as_part(part));
  else part();
  call.fail(error);
  return result;
}

/// Of all that fcntl does, only a lock of a record waits. `next`: the function of the C library.
template <class Next>
int control_file(const sync_site& site, Next next, int descriptor, int command, void* argument) {
  const auto call = [&] { return next(descriptor, command, argument); };
  const bool waits = command == F_SETLKW || command == F_OFD_SETLKW;  // those for 64 bits are the same where long has these
  return waits ? wait_outside(site, -1, call) : call();
}

/// `sleep` lets time pass. That is code, because it often stands for work or paces it; but it is counted, because it may also be a loop
/// that waits.
template <class Sleep>
auto count_sleep(const sync_site& site, int, Sleep sleep) -> decltype(sleep()) {
  return wait_outside(site, only_counted, sleep);
}

/// The same for a signal, which another thread may send with pthread_kill: then that is the cause.
template <class Wait>
auto wait_for_signal(const sync_site& site, int, Wait wait) -> decltype(wait()) {
  event_watch* const watch =
      records_outside() ? interposed.events.find_or_add(key_of(static_cast<uint64_t>(pthread_self()), object_kind::signal))
                        : nullptr;
  if (watch == nullptr) return wait();
  interposed_call call(site);
  decltype(wait()) result = 0;
  int error = 0;
  uint64_t cause = 0;
  auto part = [&] {
    __atomic_store_n(&watch->causes[0], uint64_t(0), __ATOMIC_RELAXED);
    const semaphore_waiter waits(*watch);
    result = wait();
    error = errno;
    cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return 0;
  };
  if (call) call->await(site, reinterpret_cast<const void*>(static_cast<uintptr_t>(pthread_self())), &cause, as_part(part));
  else part();
  call.fail(error);
  return result;
}

/// Before a signal is sent to a thread.
inline void note_signal(const sync_site& site, pthread_t thread) noexcept {
  event_watch* const watch = interposed.events.find(key_of(static_cast<uint64_t>(thread), object_kind::signal));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) == 0) return;
  interposed_call call(site);
  if (call) call->event(site, reinterpret_cast<const void*>(static_cast<uintptr_t>(thread)), &watch->causes[0]);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
