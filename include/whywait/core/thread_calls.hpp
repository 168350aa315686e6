#ifndef WHYWAIT_CORE_THREAD_CALLS_HPP
#define WHYWAIT_CORE_THREAD_CALLS_HPP

#include <stdint.h>

// The one table of primitives by which threads of a process wait for each other: identifier, name in reports, what the call
// does, kind of object. mpi_calls.hpp numbers them behind the calls of MPI.
// clang-format off
#define WHYWAIT_THREAD_CALLS(X)                                                                                       \
  X(mutex_lock, "mutex::lock", take, lock)                                                                             \
  X(mutex_try_lock_for, "timed_mutex::try_lock_for", take, lock)                                                       \
  X(mutex_unlock, "mutex::unlock", release, lock)                                                                      \
  X(recursive_mutex_lock, "recursive_mutex::lock", take, lock)                                                         \
  X(recursive_mutex_unlock, "recursive_mutex::unlock", release, lock)                                                  \
  X(shared_mutex_lock, "shared_mutex::lock", take, lock)                                                               \
  X(shared_mutex_lock_shared, "shared_mutex::lock_shared", take_shared, lock)                                          \
  X(shared_mutex_unlock, "shared_mutex::unlock", release, lock)                                                        \
  X(shared_mutex_unlock_shared, "shared_mutex::unlock_shared", release_shared, lock)                                   \
  X(condition_wait, "condition_variable::wait", await_notify, condition)                                               \
  X(condition_wait_for, "condition_variable::wait_for", await_notify, condition)                                       \
  X(condition_notify_one, "condition_variable::notify_one", notify_one, condition)                                     \
  X(condition_notify_all, "condition_variable::notify_all", notify_all, condition)                                     \
  X(barrier_wait, "barrier::arrive_and_wait", meet, barrier)                                                           \
  X(barrier_arrive, "barrier::arrive", arrive, barrier)                                                                \
  X(latch_wait, "latch::wait", await, latch)                                                                           \
  X(latch_count_down, "latch::count_down", event, latch)                                                               \
  X(semaphore_acquire, "counting_semaphore::acquire", await, semaphore)                                                \
  X(semaphore_release, "counting_semaphore::release", event, semaphore)                                                \
  X(future_wait, "future::wait", await, future)                                                                        \
  X(promise_set, "promise::set_value", event, future)                                                                  \
  X(thread_join, "thread::join", await, thread)                                                                        \
  X(thread_create, "thread::thread", event, thread)                                                                    \
  X(thread_begin, "thread start", begin, thread)                                                                       \
  X(thread_end, "thread end", event, thread)                                                                           \
  X(pthread_mutex_lock, "pthread_mutex_lock", take, lock)                                                              \
  X(pthread_mutex_timedlock, "pthread_mutex_timedlock", take, lock)                                                    \
  X(pthread_mutex_unlock, "pthread_mutex_unlock", release, lock)                                                       \
  X(pthread_rwlock_wrlock, "pthread_rwlock_wrlock", take, lock)                                                        \
  X(pthread_rwlock_rdlock, "pthread_rwlock_rdlock", take_shared, lock)                                                 \
  X(pthread_rwlock_unlock, "pthread_rwlock_unlock", release, lock)                                                     \
  X(pthread_rwlock_unlock_shared, "pthread_rwlock_unlock", release_shared, lock)                                       \
  X(pthread_spin_lock, "pthread_spin_lock", take, lock)                                                                \
  X(pthread_spin_unlock, "pthread_spin_unlock", release, lock)                                                         \
  X(pthread_cond_wait, "pthread_cond_wait", await_notify, condition)                                                   \
  X(pthread_cond_timedwait, "pthread_cond_timedwait", await_notify, condition)                                         \
  X(pthread_cond_signal, "pthread_cond_signal", notify_one, condition)                                                 \
  X(pthread_cond_broadcast, "pthread_cond_broadcast", notify_all, condition)                                           \
  X(pthread_barrier_wait, "pthread_barrier_wait", meet, barrier)                                                       \
  X(sem_wait, "sem_wait", await, semaphore)                                                                            \
  X(sem_timedwait, "sem_timedwait", await, semaphore)                                                                  \
  X(sem_post, "sem_post", event, semaphore)                                                                            \
  X(pthread_join, "pthread_join", await, thread)                                                                       \
  X(pthread_create, "pthread_create", event, thread)                                                                   \
  X(mtx_lock, "mtx_lock", take, lock)                                                                                  \
  X(mtx_timedlock, "mtx_timedlock", take, lock)                                                                        \
  X(mtx_unlock, "mtx_unlock", release, lock)                                                                           \
  X(cnd_wait, "cnd_wait", await_notify, condition)                                                                     \
  X(cnd_timedwait, "cnd_timedwait", await_notify, condition)                                                           \
  X(cnd_signal, "cnd_signal", notify_one, condition)                                                                   \
  X(cnd_broadcast, "cnd_broadcast", notify_all, condition)                                                             \
  X(thrd_join, "thrd_join", await, thread)                                                                             \
  X(thrd_create, "thrd_create", event, thread)                                                                         \
  X(omp_parallel, "omp parallel", event, thread)                                                                       \
  X(omp_parallel_end, "end of omp parallel", meet, barrier)                                                            \
  X(omp_barrier, "omp barrier", meet, barrier)                                                                         \
  X(omp_for_end, "end of omp for", meet, barrier)                                                                      \
  X(omp_idle, "thread outside omp parallel", await, condition)                                                         \
  X(omp_critical, "omp critical", take, lock)                                                                          \
  X(omp_critical_end, "end of omp critical", release, lock)                                                            \
  X(omp_ordered, "omp ordered", await, latch)                                                                          \
  X(omp_ordered_end, "end of omp ordered", event, latch)                                                               \
  X(omp_set_lock, "omp_set_lock", take, lock)                                                                          \
  X(omp_unset_lock, "omp_unset_lock", release, lock)                                                                   \
  X(omp_taskwait, "omp taskwait", await, latch)                                                                        \
  X(omp_task_end, "end of omp task", event, latch)                                                                     \
  X(nanosleep, "nanosleep", await, outside)                                                                            \
  X(clock_nanosleep, "clock_nanosleep", await, outside)                                                                \
  X(usleep, "usleep", await, outside)                                                                                  \
  X(sleep, "sleep", await, outside)                                                                                    \
  X(pthread_once, "pthread_once", await, latch)                                                                        \
  X(pthread_once_end, "end of pthread_once", event, latch)                                                             \
  X(static_initialisation, "static initialisation", await, latch)                                                      \
  X(static_initialised, "end of static initialisation", event, latch)                                                  \
  X(futex_wait, "futex wait", await, latch)                                                                            \
  X(futex_wake, "futex wake", event, latch)                                                                            \
  X(poll, "poll", await, outside)                                                                                      \
  X(ppoll, "ppoll", await, outside)                                                                                    \
  X(select, "select", await, outside)                                                                                  \
  X(pselect, "pselect", await, outside)                                                                                \
  X(epoll_wait, "epoll_wait", await, outside)                                                                          \
  X(epoll_pwait, "epoll_pwait", await, outside)                                                                        \
  X(pause, "pause", await, outside)                                                                                    \
  X(sigsuspend, "sigsuspend", await, outside)                                                                          \
  X(sigwait, "sigwait", await, outside)                                                                                \
  X(sigwaitinfo, "sigwaitinfo", await, outside)                                                                        \
  X(sigtimedwait, "sigtimedwait", await, outside)                                                                      \
  X(read, "read", await, outside)                                                                                      \
  X(recv, "recv", await, outside)                                                                                      \
  X(recvfrom, "recvfrom", await, outside)                                                                              \
  X(recvmsg, "recvmsg", await, outside)                                                                                \
  X(accept, "accept", await, outside)                                                                                  \
  X(accept4, "accept4", await, outside)                                                                                \
  X(connect, "connect", await, outside)                                                                                \
  X(wait, "wait", await, outside)                                                                                      \
  X(waitpid, "waitpid", await, outside)                                                                                \
  X(wait4, "wait4", await, outside)                                                                                    \
  X(waitid, "waitid", await, outside)                                                                                  \
  X(readv, "readv", await, outside)                                                                                    \
  X(write, "write", await, outside)                                                                                    \
  X(writev, "writev", await, outside)                                                                                  \
  X(send, "send", await, outside)                                                                                      \
  X(sendto, "sendto", await, outside)                                                                                  \
  X(sendmsg, "sendmsg", await, outside)                                                                                \
  X(flock, "flock", await, outside)                                                                                    \
  X(fcntl_lock, "fcntl", await, outside)                                                                               \
  X(lockf_lock, "lockf", await, outside)                                                                               \
  X(semop, "semop", await, outside)                                                                                    \
  X(semtimedop, "semtimedop", await, outside)                                                                          \
  X(msgrcv, "msgrcv", await, outside)                                                                                  \
  X(msgsnd, "msgsnd", await, outside)                                                                                  \
  X(mq_receive, "mq_receive", await, outside)                                                                          \
  X(mq_timedreceive, "mq_timedreceive", await, outside)                                                                \
  X(mq_send, "mq_send", await, outside)                                                                                \
  X(mq_timedsend, "mq_timedsend", await, outside)                                                                      \
  X(pthread_kill, "pthread_kill", event, outside)                                                                      \
  X(omp_task, "omp task", event, latch)                                                                                \
  X(omp_set_nest_lock, "omp_set_nest_lock", take, lock)                                                                \
  X(omp_unset_nest_lock, "omp_unset_nest_lock", release, lock)                                                         \
  X(sched_yield, "sched_yield", await, outside)                                                                        \
  X(omp_single, "omp single", event, latch)                                                                            \
  X(report, "whywait::report", event, thread)                                                                          \
  X(code, "code", event, thread)
// clang-format on

namespace whywait {
inline namespace v0 {
namespace core {

/// What a thread primitive does to the order of events. Records of waits name their causer, the record at whose beginning they
/// ended (thread_record.hpp), except await_notify, and awaits of something outside of the process.
enum class thread_op : uint8_t {
  take,            ///< takes a lock: waits for its holders, one after the other
  take_shared,     ///< the same beside other readers
  release,         ///< gives up a lock
  release_shared,
  await,           ///< waits for one event: a set value, a count, the end of a thread
  event,           ///< such an event
  await_notify,    ///< gives up a lock, waits for a notification, takes the lock again
  notify_one,
  notify_all,
  meet,            ///< waits for the last of several threads
  arrive,          ///< takes part without waiting
  begin            ///< the thread begins: before, there was no such thread
};

/// The kind of object that threads share.
enum class thread_object : uint8_t {
  lock,
  condition,
  barrier,
  latch,
  semaphore,
  future,
  thread,
  outside  ///< no thread of the process need end the wait: time, signals, files, connections, processes
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
