#ifndef WHYWAIT_THREAD_INTERPOSED_WORDS_HPP
#define WHYWAIT_THREAD_INTERPOSED_WORDS_HPP

#include <whywait/core/registry.hpp>
#include <whywait/thread/interposed_events.hpp>

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// Waits on a word of memory. std::future of libstdc++ waits in exported functions, whose waits are explained. std::latch, barrier,
// counting_semaphore and std::atomic::wait are inline code that calls `syscall`: their waits are counted.

/// `wait` returns false if its time ran out.
template <class Wait>
bool wait_for_value(const sync_site& site, unsigned* word, Wait wait) {
  count_call();
  interposed_call call(site);
  event_watch* const watch = call ? interposed.events.find_or_add(key_of(word, object_kind::word)) : nullptr;
  if (watch == nullptr) return wait();
  uint64_t cause = 0;
  auto block = [&] {
    const semaphore_waiter waits(*watch);
    const bool in_time = wait();
    cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return in_time ? 0 : ETIMEDOUT;
  };
  return call->await(site, word, &cause, as_part(block)) == 0;
}

/// Threads wait for a value that was stored; the word may be gone already.
inline void note_value(const sync_site& site, unsigned* word) noexcept {
  count_call();
  event_watch* const watch = interposed.events.find(key_of(word, object_kind::word));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) == 0) return;
  interposed_call call(site);
  if (call) call->event(site, word, &watch->causes[0]);
}

/// Counts a futex call that may wait, made by the program itself.
inline void note_raw_wait(const void* address, long operation) noexcept {
  const long what = operation & FUTEX_CMD_MASK;
  if ((what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) || passes_on) return;
  core::registry* const registry = recorder() != nullptr ? core::the_registry() : nullptr;
  if (registry == nullptr) return;
  const record::location* const at = record::this_location();
  if (at == nullptr || (at->calls != nullptr && at->calls->open.frame != nullptr) || is_foreign(address)) return;
  __atomic_fetch_add(&registry->interposed.raw_waits, 1u, __ATOMIC_RELAXED);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
