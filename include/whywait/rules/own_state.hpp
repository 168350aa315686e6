#ifndef WHYWAIT_RULES_OWN_STATE_HPP
#define WHYWAIT_RULES_OWN_STATE_HPP

#include <whywait/core/registry.hpp>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace rules {

/// A text given to `rules::add`, copied.
struct added_text {
  added_text* next;
  char* name;
  char* text;
};

/// An own event type, copied. `shape` is "tolerance=number, reason=text".
struct own_type {
  own_type* next;
  uint32_t index;
  char* name;
  char* shape;
};

/// State of the rules that all modules of a process share. Trivially copyable, so that separately compiled modules
/// agree on its layout. Lives until the end of the process.
struct own_state {
  uint64_t layout;
  pthread_mutex_t mutex;  ///< protects everything below
  added_text* texts;      ///< newest first
  own_type* types;        ///< newest first
  uint32_t type_count;
  unsigned char* events;  ///< packed, see own_event.hpp
  size_t used, room;
  uint64_t dropped;       ///< own events beyond most_event_bytes

  static constexpr size_t most_event_bytes = size_t(8) << 20;
  static constexpr int slot = 1;  ///< index in core::registry::extension
};

/// The clock of own events: seconds of CLOCK_MONOTONIC.
inline double event_clock() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Holds the lock for a scope that may throw.
struct own_state_lock {
  explicit own_state_lock(own_state& s) noexcept : state(s) { pthread_mutex_lock(&state.mutex); }
  own_state_lock(const own_state_lock&) = delete;
  own_state_lock& operator=(const own_state_lock&) = delete;
  ~own_state_lock() { pthread_mutex_unlock(&state.mutex); }
  own_state& state;
};

/// The state of this process, created by the first call. Null if whywait is disabled or without memory. Any thread.
inline own_state* the_own_state() noexcept {
  core::registry* const shared = core::the_registry();
  if (shared == nullptr || !shared->config.enable) return nullptr;
  static void* seen = nullptr;  // a reference for leak checkers, which do not scan the pages of the registry
  void* known = __atomic_load_n(&shared->extension[own_state::slot], __ATOMIC_ACQUIRE);
  if (known == nullptr) {
    pthread_mutex_lock(&shared->mutex);
    known = shared->extension[own_state::slot];
    if (known == nullptr) {
      own_state* const made = static_cast<own_state*>(calloc(1, sizeof(own_state)));
      if (made != nullptr) {
        made->layout = sizeof(own_state);
        pthread_mutex_init(&made->mutex, nullptr);
        __atomic_store_n(&seen, static_cast<void*>(made), __ATOMIC_RELAXED);
        __atomic_store_n(&shared->extension[own_state::slot], static_cast<void*>(made), __ATOMIC_RELEASE);
        known = made;
      }
    }
    pthread_mutex_unlock(&shared->mutex);
  }
  own_state* const state = static_cast<own_state*>(known);
  return state != nullptr && state->layout == sizeof(own_state) ? state : nullptr;
}

/// Whether the process has a reader of recorded events. Any thread.
inline bool somebody_listens() noexcept {
  const core::registry* const shared = core::the_registry();
  return shared != nullptr && __atomic_load_n(&shared->listening, __ATOMIC_ACQUIRE) != 0;
}

namespace detail {

inline char* copy_text(const char* text, size_t bytes) noexcept {
  char* const own = static_cast<char*>(malloc(bytes + 1));
  if (own == nullptr) return nullptr;
  memcpy(own, text, bytes);
  own[bytes] = '\0';
  return own;
}

/// The number of an own event type, the same for the same name and shape; 0xffffffff without memory.
inline uint32_t intern_own_type(own_state& state, const char* name, const char* shape) noexcept {
  pthread_mutex_lock(&state.mutex);
  uint32_t index = 0xffffffffu;
  for (const own_type* t = state.types; t != nullptr && index == 0xffffffffu; t = t->next)
    if (strcmp(t->name, name) == 0 && strcmp(t->shape, shape) == 0) index = t->index;
  if (index == 0xffffffffu) {
    own_type* const made = static_cast<own_type*>(malloc(sizeof(own_type)));
    char* const own_name = copy_text(name, strlen(name));
    char* const own_shape = copy_text(shape, strlen(shape));
    if (made != nullptr && own_name != nullptr && own_shape != nullptr) {
      *made = own_type{state.types, state.type_count, own_name, own_shape};
      state.types = made;
      index = state.type_count++;
    } else {
      free(made);
      free(own_name);
      free(own_shape);
    }
  }
  pthread_mutex_unlock(&state.mutex);
  return index;
}

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
