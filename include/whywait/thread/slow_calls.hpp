#ifndef WHYWAIT_THREAD_SLOW_CALLS_HPP
#define WHYWAIT_THREAD_SLOW_CALLS_HPP

#include <whywait/core/data_record.hpp>
#include <whywait/core/module.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/record/marks.hpp>
#include <whywait/thread/watches.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// Where a primitive was called: return address and frame of the function that calls the recorder.
struct sync_site {
  core::mpi_call call;
  const void* address;
  const void* frame;
  const void* outer = nullptr;  ///< return address of the function that contains `address`, where that is not on the stack
};

/// The part of a primitive that may block; its result is passed on. It may leave by an exception, for example if its thread is
/// cancelled.
struct blocking_part {
  int (*run)(void* self);
  void* self;
};

/// In place of a descriptor: the call is only counted.
constexpr int only_counted = -2;

/// The slow paths of primitives, in the module that contains the recorder. A primitive takes one where a thread waits, or where
/// it may end the wait of a thread. `object` identifies what the threads share.
struct slow_calls {
  /// Waits for a lock.
  int (*take)(const sync_site& site, lock_watch& watch, const void* object, blocking_part block);
  /// The calling thread took the lock at once while others wait.
  void (*took)(const sync_site& site, lock_watch& watch, const void* object) noexcept;
  /// Gives up a lock that threads wait for; the lock may not exist afterwards.
  int (*release)(const sync_site& site, lock_watch& watch, const void* object, blocking_part give_up);
  /// Waits for one event. Afterwards `cause` (if not null) holds the name of its record.
  int (*await)(const sync_site& site, const void* object, const uint64_t* cause, blocking_part block);
  /// Waits for something outside of the process. `descriptor`: what it reads, or -1; the time that a read of a file takes belongs
  /// to the code around it. only_counted: so does all of it, and the call site counts it.
  int (*await_outside)(const sync_site& site, int descriptor, blocking_part block);
  /// An event that may end waits. Stores the name of its record in `cause`; 0: none. The record names the one before it.
  void (*event)(const sync_site& site, const void* object, uint64_t* cause) noexcept;
  /// One of `members` threads comes to a meeting and does not wait. If it is the last one, which is the event, the name is stored
  /// in `cause`, else that is null. The others `await_members`.
  void (*last_member)(const sync_site& site, const void* object, uint32_t phase, uint32_t members, uint64_t* cause) noexcept;
  int (*await_members)(const sync_site& site, const void* object, uint32_t phase, uint32_t members, const uint64_t* cause,
                       blocking_part block);
  /// Waits for a notification. `again`: after the last such wait of this thread its predicate was still false.
  int (*await_notify)(const sync_site& site, condition_watch& watch, lock_watch& lock, const void* object, const void* mutex,
                      bool again, blocking_part block);
  void (*notify)(const sync_site& site, condition_watch& watch, const void* object, bool all) noexcept;
  /// The last wait of the calling thread, for a notification, timed out although its predicate had become true.
  void (*missed_notification)(const void* object) noexcept;
  /// A thread begins: `creator` is the name of the event that created it, or 0, and `site` names the thread. And it ends.
  void (*begin_thread)(const sync_site& site, uint64_t creator) noexcept;
  void (*end_thread)(const sync_site& site, uint64_t* ended) noexcept;
  /// For registered data: the thread synchronises on `object`, as `how` states (core::data_flag: acquires, releases, everyone). `phase`:
  /// of a barrier. Releases come before the primitive, acquisitions behind it.
  void (*order)(const sync_site& site, const void* object, unsigned how, uint32_t phase) noexcept;
};

/// The slow paths; null while nothing is recorded. About 1 ns.
__attribute__((visibility("hidden"), always_inline)) inline const slow_calls* recorder() noexcept {
  if (__builtin_expect(record::detail::here_offset() == 0, 0)) return nullptr;
  const core::registry* const registry = core::the_registry();
  return registry != nullptr ? __atomic_load_n(&registry->thread_calls, __ATOMIC_ACQUIRE) : nullptr;
}

/// Whether arrays are registered, so that primitives call slow_calls::order also where no thread waits. Less than 1 ns.
__attribute__((visibility("hidden"), always_inline)) inline bool orders_data() noexcept {
  return __builtin_expect((__atomic_load_n(&whywait_v0_module.loaded, __ATOMIC_RELAXED) & core::module_state::orders_data) != 0,
                          0);
}

/// Makes a callable object with a result of type int a blocking_part; it must outlive that.
template <class Part>
blocking_part as_part(Part& part) noexcept {
  return {[](void* self) { return static_cast<int>((*static_cast<Part*>(self))()); }, &part};
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
