#ifndef WHYWAIT_RULES_OWN_EVENT_HPP
#define WHYWAIT_RULES_OWN_EVENT_HPP

#include <whywait/rules/own_state.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <initializer_list>
#include <type_traits>

namespace whywait {

#ifndef WHYWAIT_DISABLE
inline namespace v0 {
#else
inline namespace v0_off {
#endif

/// A duration as a parameter of an own event, so that rules check its unit.
struct seconds {
  double value;
};
/// A size as a parameter of an own event.
struct bytes {
  double value;
};

#ifndef WHYWAIT_DISABLE

namespace rules {
namespace detail {

// The type word of a C++ type in rules; other types do not compile.
template <class T>
constexpr const char* word_of() noexcept {
  static_assert(std::is_arithmetic<T>::value || std::is_same<T, seconds>::value || std::is_same<T, bytes>::value ||
                    std::is_same<T, const char*>::value,
                "parameters of own events are numbers, bool, const char*, whywait::seconds or whywait::bytes");
  return std::is_same<T, bool>::value      ? "boolean"
         : std::is_arithmetic<T>::value    ? "number"
         : std::is_same<T, seconds>::value ? "seconds"
         : std::is_same<T, bytes>::value   ? "bytes"
                                           : "text";
}

}  // namespace detail
}  // namespace rules

/// An own event type of the program, with parameters for rules:
///
///     static whywait::event<double, whywait::seconds> restarted("solver_restart", {"residual", "lost"});
///     restarted(1e-7, {0.3});
///
/// Rules see `declare simple event solver_restart parameters (residual = number, lost = seconds)`, and the rank, time,
/// file and line of each event. Recording costs about 150 ns (a lock and a copy; texts are truncated to 200 bytes). Any
/// thread; never throws. The buffer holds 8 MiB per process; further events are dropped and counted. Without a listener
/// (record::listen; <whywait/mpi.hpp> is one) and with WHYWAIT_ENABLE=0 nothing is recorded.
template <class... Parameters>
class event {
 public:
  /// Names of the type and its parameters consist of letters, digits and '_' and must outlive the first event.
  event(const char* name, std::initializer_list<const char*> parameters) noexcept : name_(name) {
    size_t i = 0;
    for (const char* const p : parameters)
      if (i < sizeof...(Parameters)) names_[i++] = p;
    complete_ = i == sizeof...(Parameters) && parameters.size() == i;
  }

  /// Records one event at the place of the caller.
  void operator()(Parameters... values, const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept {
    rules::own_state* const state = rules::the_own_state();
    if (state == nullptr || !complete_ || !rules::somebody_listens()) return;
    uint32_t number = __atomic_load_n(&number_, __ATOMIC_RELAXED);
    if (number == unknown) {
      number = introduce(*state);
      if (number == unknown) return;
      __atomic_store_n(&number_, number, __ATOMIC_RELAXED);
    }
    unsigned char packed[most];
    size_t used = sizeof(uint32_t);  // reserves room for the size, which is known at the end
    const double time = rules::event_clock();
    const char* const slash = file != nullptr ? strrchr(file, '/') : nullptr;
    put(packed, used, &number, sizeof number);
    put_number(packed, used, line);
    put_number(packed, used, time);
    put_value(packed, used, slash != nullptr ? slash + 1 : file);
    (void)std::initializer_list<int>{(put_value(packed, used, values), 0)...};
    const uint32_t size = static_cast<uint32_t>(used - sizeof size);
    memcpy(packed, &size, sizeof size);
    append(*state, packed, used);
  }

 private:
  static constexpr uint32_t unknown = 0xffffffffu;
  static constexpr size_t longest = 200;
  static constexpr size_t most = 40 + (longest + 8) * (sizeof...(Parameters) + 1);

  static void put(unsigned char* to, size_t& used, const void* from, size_t bytes) noexcept {
    memcpy(to + used, from, bytes);
    used += bytes;
  }
  static void put_number(unsigned char* to, size_t& used, double value) noexcept { put(to, used, &value, sizeof value); }
  template <class T>
  static void put_value(unsigned char* to, size_t& used, T value) noexcept {
    put_number(to, used, static_cast<double>(value));
  }
  static void put_value(unsigned char* to, size_t& used, seconds s) noexcept { put_number(to, used, s.value); }
  static void put_value(unsigned char* to, size_t& used, bytes b) noexcept { put_number(to, used, b.value); }
  static void put_value(unsigned char* to, size_t& used, const char* text) noexcept {
    const uint32_t length = text != nullptr ? static_cast<uint32_t>(strnlen(text, longest)) : 0;
    put(to, used, &length, sizeof length);
    if (length != 0) put(to, used, text, length);
  }

  uint32_t introduce(rules::own_state& state) const noexcept {
    char shape[1024];
    size_t used = 0;
    const char* const words[] = {rules::detail::word_of<Parameters>()..., ""};
    for (size_t i = 0; i < sizeof...(Parameters); ++i) {
      const size_t name = strlen(names_[i]), word = strlen(words[i]);
      if (used + name + word + 4 > sizeof shape) return unknown;
      if (i != 0) shape[used++] = ',';
      memcpy(shape + used, names_[i], name);
      used += name;
      shape[used++] = '=';
      memcpy(shape + used, words[i], word);
      used += word;
    }
    shape[used] = '\0';
    return rules::detail::intern_own_type(state, name_, shape);
  }

  static void append(rules::own_state& state, const unsigned char* packed, size_t size) noexcept {
    pthread_mutex_lock(&state.mutex);
    if (state.used + size > state.room && state.used + size <= rules::own_state::most_event_bytes) {
      const size_t room = state.room == 0 ? size_t(4096) : state.room * 2;
      void* const grown = realloc(state.events, room > state.used + size ? room : state.used + size);
      if (grown != nullptr) {
        state.events = static_cast<unsigned char*>(grown);
        state.room = room > state.used + size ? room : state.used + size;
      }
    }
    if (state.used + size <= state.room) {
      memcpy(state.events + state.used, packed, size);
      state.used += size;
    } else {
      ++state.dropped;
    }
    pthread_mutex_unlock(&state.mutex);
  }

  const char* name_;
  const char* names_[sizeof...(Parameters) + 1] = {};
  bool complete_ = false;
  uint32_t number_ = unknown;
};

#else

/// Disabled: records nothing.
template <class... Parameters>
class event {
 public:
  constexpr event(const char*, std::initializer_list<const char*>) noexcept {}
  void operator()(Parameters..., const char* = nullptr, int = 0) const noexcept {}
};

#endif

}  // namespace v0 or v0_off
}  // namespace whywait

#endif
