#ifndef WHYWAIT_THREAD_INTERPOSED_CALL_HPP
#define WHYWAIT_THREAD_INTERPOSED_CALL_HPP

#include <whywait/core/registry.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/location.hpp>
#include <whywait/thread/code_owner.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/watch_table.hpp>
#include <whywait/thread/watches.hpp>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

/// The calling thread is in the recorder, or belongs to a run-time library: its calls are passed on.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local bool passes_on = false;

/// What interposed calls share. One per module that interposes; 1.75 MiB of address space, touched as it fills.
struct interposed_state {
  static constexpr uint32_t lock_room = 1u << 14, condition_room = 1u << 12, event_room = 1u << 13;
  watch_table<lock_watch, lock_room> locks;
  watch_table<condition_watch, condition_room> conditions;
  watch_table<event_watch, event_room> events;
};
__attribute__((visibility("hidden"))) inline interposed_state interposed;

/// What an address is used as: one address may be a mutex first and a semaphore later. Threads are named by pthread_t.
enum class object_kind : uint64_t { lock = 1, condition, semaphore, barrier, thread, word, signal, futex };
inline uint64_t key_of(uint64_t address, object_kind kind) noexcept { return address << 4 | static_cast<uint64_t>(kind); }
inline uint64_t key_of(const volatile void* address, object_kind kind) noexcept {
  return key_of(reinterpret_cast<uintptr_t>(address), kind);
}

inline bool is_foreign(const void* address) noexcept {
  const code_owner owner = owner_of(address);
  return owner == code_owner::run_time || owner == code_owner::whywait;
}

/// Counts a call of the calling thread, once that is recorded, but none that the recorder makes. About 1 ns.
__attribute__((always_inline)) inline void count_call() noexcept {
  const intptr_t offset = record::detail::here_offset();
  if (__builtin_expect(offset == 0 || passes_on, 0)) return;
  if (record::location* const at = record::detail::head_at(offset)->owner)
    __atomic_store_n(&at->interposed, at->interposed + 1, __ATOMIC_RELAXED);
}

/// The slow part of an interposed call. It is recorded if that converts to true: something records, the call is neither made inside
/// another recorded call, nor by a run-time library. Calls that the recorder makes meanwhile are passed on. Keeps errno.
class interposed_call {
 public:
  explicit interposed_call(const sync_site& site) noexcept : error_(errno) {
    if (passes_on) return;
    to_ = recorder();
    if (to_ == nullptr) return;
    const intptr_t offset = record::detail::here_offset();
    const record::location* const at = record::detail::head_at(offset)->owner;
    if ((at != nullptr && at->calls != nullptr && at->calls->open.frame != nullptr) || is_foreign(site.address)) {
      to_ = nullptr;
      return;
    }
    passes_on = true;
  }
  ~interposed_call() {
    if (to_ != nullptr) passes_on = false;
    errno = error_;
  }
  interposed_call(const interposed_call&) = delete;
  interposed_call& operator=(const interposed_call&) = delete;

  explicit operator bool() const noexcept { return to_ != nullptr; }
  const slow_calls* operator->() const noexcept { return to_; }
  /// What errno is afterwards.
  void fail(int error) noexcept { error_ = error; }

 private:
  const slow_calls* to_ = nullptr;
  int error_;
};

/// For registered data: see slow_calls::order. Only if orders_data() is true.
__attribute__((noinline, cold)) inline void note_order(const sync_site& site, const void* object, unsigned how,
                                                       uint32_t phase = 0) noexcept {
  interposed_call call(site);
  if (call) call->order(site, object, how, phase);
}
__attribute__((always_inline)) inline void note_acquired(const sync_site& site, const void* object) noexcept {
  if (orders_data()) note_order(site, object, core::data_flag::acquires);
}
__attribute__((always_inline)) inline void note_released(const sync_site& site, const void* object) noexcept {
  if (orders_data()) note_order(site, object, core::data_flag::releases);
}

/// The word of a mutex: 0 free, 1 taken, 2 taken and threads wait. Of robust mutexes and those with priority inheritance: more.
inline int state_of(const pthread_mutex_t* m) noexcept { return __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED); }

/// What the marks of a thread find, by the kernel's number of the thread: the C library stores that of the holder in a lock. Null: the
/// thread is not recorded. About 2 ns per thread.
inline const record::path_head* marks_of(int tid) noexcept {
  const core::registry* const registry = core::the_registry();
  if (registry == nullptr || tid == 0) return nullptr;
  for (const core::location_base* base = __atomic_load_n(&registry->locations, __ATOMIC_ACQUIRE); base != nullptr;
       base = base->next) {
    const record::location& at = static_cast<const record::location&>(*base);
    if (__atomic_load_n(&at.tid, __ATOMIC_RELAXED) == static_cast<uint32_t>(tid) &&
        __atomic_load_n(&at.finished, __ATOMIC_RELAXED) == 0)
      return &at.path.head();
  }
  return nullptr;
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
