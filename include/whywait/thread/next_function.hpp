#ifndef WHYWAIT_THREAD_NEXT_FUNCTION_HPP
#define WHYWAIT_THREAD_NEXT_FUNCTION_HPP

#include <whywait/core/warning.hpp>

#include <dlfcn.h>
#include <stdlib.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// The function that an interposed one hides: that of the C library, of a run-time library, or of another interposer behind this one. Looked up at the first
/// call, which may come before any constructor has run. The lookup of a function that exists allocates nothing and calls no
/// interposed function.
template <class Function>
class next_function {
 public:
  /// `version`: of the symbol, where the C library has several; null: the default one.
  constexpr explicit next_function(const char* name, const char* version = nullptr) noexcept : name_(name), version_(version) {}

  __attribute__((always_inline)) Function* get() noexcept {
    Function* const known = __atomic_load_n(&function_, __ATOMIC_RELAXED);
    return __builtin_expect(known != nullptr, 1) ? known : find();
  }
  /// Before a call in a signal handler, or where memory must not be allocated.
  void look_up() noexcept {
    if (function_ == nullptr) store(search());
  }

 private:
  void* search() const noexcept {
    void* found = version_ != nullptr ? dlvsym(RTLD_NEXT, name_, version_) : nullptr;
    return found != nullptr ? found : dlsym(RTLD_NEXT, name_);
  }
  void store(void* found) noexcept { __atomic_store_n(&function_, reinterpret_cast<Function*>(found), __ATOMIC_RELAXED); }
  __attribute__((noinline, cold)) Function* find() noexcept {
    void* const found = search();
    if (found == nullptr) {
      core::warn("no library has ", name_, ", which whywait observes and passes on; is the program linked statically?");
      abort();
    }
    store(found);
    return reinterpret_cast<Function*>(found);
  }

  Function* function_ = nullptr;
  const char* name_;
  const char* version_;
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
