#ifndef WHYWAIT_THREAD_WATCH_TABLE_HPP
#define WHYWAIT_THREAD_WATCH_TABLE_HPP

#include <whywait/core/registry.hpp>
#include <whywait/thread/watches.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// The atomic operations of a watch_table: those of the machine. Tests put a scheduler in their place to try every interleaving.
struct table_machine {
  template <class Word>
  static Word load(const Word* from) noexcept {
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
  }
  static bool exchange_if(uint64_t* at, uint64_t& expected, uint64_t value) noexcept {
    return __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  static void store(uint32_t* to, uint32_t value) noexcept { __atomic_store_n(to, value, __ATOMIC_RELAXED); }
};

/// Watches of objects that have no room for one, such as a pthread_mutex_t: found by their address. Lock-free, without allocation,
/// and of fixed size. An entry stays until another object needs its place and no thread waits for the first one.
///
/// A thread may still use the watch of an object whose entry was given to another one. Watches never decide what a primitive does,
/// and counts are decremented where they were incremented, so that such a thread can only make a cause wrong. Both are counted. The same
/// holds for two threads that replace different entries by one object at the same instant: the first in the table is found afterwards.
///
/// `Watch` begins with a uint32_t that is not 0 while the entry must stay. Zeroed memory is the initial state.
template <class Watch, uint32_t Size, class Machine = table_machine>
class watch_table {
  static_assert((Size & (Size - 1)) == 0, "a power of two");

 public:
  /// Null: there is none. About 2 ns.
  __attribute__((always_inline)) Watch* find(uint64_t key) noexcept {
    for (uint32_t i = first(key), left = ways; left != 0; i = (i + 1) & (Size - 1), --left) {
      const uint64_t known = Machine::load(&entries_[i].key);
      if (known == key) return &entries_[i].watch;
      if (known == 0) return nullptr;
    }
    return nullptr;
  }
  /// Null: all places are taken by objects that threads wait for.
  __attribute__((always_inline)) Watch* find_or_add(uint64_t key) noexcept {
    Watch* const known = find(key);
    return __builtin_expect(known != nullptr, 1) ? known : add(key);
  }

 private:
  static constexpr uint32_t ways = 8;
  struct alignas(64) entry {
    uint64_t key;
    Watch watch;
  };

  static uint32_t first(uint64_t key) noexcept { return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 40) & (Size - 1); }
  static uint32_t& pinned(entry& e) noexcept { return *reinterpret_cast<uint32_t*>(&e.watch); }

  __attribute__((noinline, cold)) Watch* add(uint64_t key) noexcept {
    const uint32_t begin = first(key);
    for (uint32_t i = begin, left = ways; left != 0; i = (i + 1) & (Size - 1), --left) {
      uint64_t known = Machine::load(&entries_[i].key);
      if (known == 0 && Machine::exchange_if(&entries_[i].key, known, key)) return &entries_[i].watch;
      if (known == key) return &entries_[i].watch;
    }
    core::registry* const registry = core::the_registry();
    const uint32_t turn = registry != nullptr ? __atomic_load_n(&registry->interposed.replaced, __ATOMIC_RELAXED) : 0;
    for (uint32_t k = 0; k != ways; ++k) {
      entry& e = entries_[(begin + (turn + k) % ways) & (Size - 1)];
      uint64_t known = Machine::load(&e.key);
      if (known == key) return &e.watch;
      if (Machine::load(&pinned(e)) != 0) continue;
      if (!Machine::exchange_if(&e.key, known, key)) {
        if (known == key) return &e.watch;  // another thread added the same object meanwhile
        continue;
      }
      uint32_t* const words = &pinned(e);
      for (uint32_t w = 1; w != sizeof(Watch) / sizeof(uint32_t); ++w) Machine::store(&words[w], 0u);
      if (registry != nullptr) __atomic_fetch_add(&registry->interposed.replaced, 1u, __ATOMIC_RELAXED);
      return &e.watch;
    }
    if (registry != nullptr) __atomic_fetch_add(&registry->interposed.lost, 1u, __ATOMIC_RELAXED);
    return nullptr;
  }

  entry entries_[Size];
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
