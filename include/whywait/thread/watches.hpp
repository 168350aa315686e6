#ifndef WHYWAIT_THREAD_WATCHES_HPP
#define WHYWAIT_THREAD_WATCHES_HPP

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
struct path_head;
}
namespace threads {

// What observed objects keep beside themselves. Zeroed memory is the initial state. All members are accessed by atomic
// operations, most of them relaxed ones: they are for the recorder only, and never decide what a primitive does.

/// Beside a lock. The fast paths of a lock test `waiters`, which shares a cache line with the lock, and store `holder`.
struct lock_watch {
  uint32_t waiters;     ///< threads that wait, or were notified and will want the lock
  uint32_t turns_left;  ///< releases, while threads wait, up to the next one that is examined
  const record::path_head* holder;  ///< what the marks of the thread that took it last find; null: unknown
  uint64_t last;        ///< core::record_name of the last release that left a record
  uint64_t event;       ///< when that was, ticks
  uint64_t since;       ///< when the first of those that wait began to
  uint32_t turns;       ///< releases between `event` and the next examined one
  uint32_t taken;       ///< 1 + number of the record with which the holder took it; may be that of an earlier holder
};

/// Of a semaphore, a barrier or a thread that has no room for it.
struct event_watch {
  uint32_t waiters;   ///< of a barrier or a thread: 1 while it exists
  uint32_t members;   ///< of a barrier: threads that meet
  uint64_t arrived;   ///< of a barrier: threads that came so far
  uint64_t causes[2]; ///< core::record_name of the last event; of a barrier: of this phase and the one before it
};

/// Beside a condition variable.
struct condition_watch {
  uint32_t waiting;  ///< threads inside wait
  uint32_t credits;  ///< of these, threads that were notified and count as waiters of `lock`
  lock_watch* lock;  ///< that of the last waiter
  uint32_t woken;  ///< threads that the last notification was for
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
