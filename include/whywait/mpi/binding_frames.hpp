#ifndef WHYWAIT_MPI_BINDING_FRAMES_HPP
#define WHYWAIT_MPI_BINDING_FRAMES_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/mpi/python_places.hpp>
#include <whywait/record/caller.hpp>

#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

using record::caller;

/// Finds the program's code behind the libraries through which other languages call MPI (bindings.hpp). The wrapper returns to
/// such a library; the call site is the code that called the library. In an extension module of Python it is the Python code.
///
/// On x86-64 the return address lies at a fixed distance above the wrapper's frame, unless the function of the library has a
/// frame of variable size. The unwinder tells the distance the first time, and whether it holds for each address that is found
/// there for the first time. Where it does not hold, and on other processors, the unwinder finds every caller (about 1 us).
class binding_frames {
 public:
  static constexpr uint32_t most_modules = 8;

  /// Adds the code of a library. False if it is known already or there is no more room. The first one maps 192 KiB, which few
  /// programs need.
  __attribute__((cold)) bool add(uintptr_t begin, uintptr_t end, bool is_python) noexcept {
    lock_.lock();
    const uint32_t count = count_;
    if (steps_ == nullptr) steps_ = static_cast<known_step*>(core::map_pages(sizeof(known_step) * capacity, false));
    bool fresh = count != most_modules && steps_ != nullptr;
    for (uint32_t i = 0; i != count; ++i) fresh = fresh && modules_[i].begin != begin;
    if (fresh) {
      modules_[count] = {begin, end, is_python};
      __atomic_store_n(&count_, count + 1, __ATOMIC_RELEASE);
      const uintptr_t first = count == 0 || begin < first_ ? begin : first_;
      const uintptr_t past = count == 0 || end > first_ + size_ ? end : first_ + size_;
      __atomic_store_n(&first_, first, __ATOMIC_RELAXED);
      __atomic_store_n(&size_, past - first, __ATOMIC_RELEASE);
    }
    lock_.unlock();
    return fresh;
  }

  /// Whether code at that address may belong to such a library. Less than 1 ns.
  __attribute__((always_inline)) bool may_contain(const void* address) const noexcept {
    return reinterpret_cast<uintptr_t>(address) - __atomic_load_n(&first_, __ATOMIC_RELAXED) <
           __atomic_load_n(&size_, __ATOMIC_RELAXED);
  }

  /// The caller outside of these libraries; `direct` itself if it is none of them. About 5 ns, and an unwinding of about 1 us for
  /// each new call site.
  __attribute__((noinline)) caller outside(const caller& direct) noexcept {
    caller found = direct;
    for (int level = 0; level != most_levels; ++level) {
      const code_range* const range = range_of(found.address);
      if (range == nullptr) return found;
      if (range->is_python) return {python_caller != nullptr ? python_caller : found.address, found.frame};
      if (!step_out(found)) return direct;
    }
    return found;
  }

 private:
  static constexpr int most_levels = 4;  ///< Open MPI: mpi_send_f08 calls ompi_send_f, which calls MPI_Send
  static constexpr uint32_t capacity = 1u << 13;
  static constexpr uintptr_t varies = 1;  ///< a distance: there is no fixed one

  struct code_range {
    uintptr_t begin, end;
    bool is_python;
  };
  /// `to` 0: `distance` from a frame to the return address behind the code at `from`. Else: `to` was found there.
  struct known_step {
    uintptr_t from, to, distance;
  };

  const code_range* range_of(const void* code) const noexcept {
    const uintptr_t address = reinterpret_cast<uintptr_t>(code);
    const uint32_t count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i != count; ++i)
      if (address - modules_[i].begin < modules_[i].end - modules_[i].begin) return &modules_[i];
    return nullptr;
  }

  bool step_out(caller& at) noexcept {
#if defined(__x86_64__)
    const uintptr_t from = reinterpret_cast<uintptr_t>(at.address), frame = reinterpret_cast<uintptr_t>(at.frame);
    const known_step* const first = find(from, 0);
    const uintptr_t distance = first != nullptr ? __atomic_load_n(&first->distance, __ATOMIC_RELAXED) : varies;
    if (distance != varies) {
      const uintptr_t slot = frame + distance, to = *reinterpret_cast<const volatile uintptr_t*>(slot);
      if (find(from, to) != nullptr) {
        at = {reinterpret_cast<const void*>(to), reinterpret_cast<const void*>(slot - sizeof(void*))};
        return true;
      }
    }
    unwinding u{at.address, 0, 0, false, 0};
    _Unwind_Backtrace(&visit, &u);
    if (u.code == 0) return false;
    const uintptr_t slot = u.stack - sizeof(void*);
    note(from, u.code, slot - frame);
    at = {reinterpret_cast<const void*>(u.code), reinterpret_cast<const void*>(slot - sizeof(void*))};
    return true;
#else
    unwinding u{at.address, 0, 0, false, 0};
    _Unwind_Backtrace(&visit, &u);
    if (u.code == 0) return false;
    at.address = reinterpret_cast<const void*>(u.code);
    return true;
#endif
  }

  struct unwinding {
    const void* address;
    uintptr_t code, stack;  // of the caller of the function that contains `address`: return address and stack pointer
    bool met;
    uint32_t visited;
  };
  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) noexcept {
    unwinding& u = *static_cast<unwinding*>(data);
    if (u.met) {
      u.code = _Unwind_GetIP(context);
      u.stack = _Unwind_GetCFA(context);
      return _URC_NORMAL_STOP;
    }
    u.met = _Unwind_GetIP(context) == reinterpret_cast<uintptr_t>(u.address);
    return ++u.visited < 32 ? _URC_NO_REASON : _URC_NORMAL_STOP;
  }

  static uint32_t first_place(uintptr_t from, uintptr_t to) noexcept {
    return static_cast<uint32_t>(((from ^ (to * 0x9e3779b97f4a7c15u)) * 0x9e3779b97f4a7c15u) >> 40) & (capacity - 1);
  }
  known_step* find(uintptr_t from, uintptr_t to) noexcept {
    for (uint32_t place = first_place(from, to);; place = (place + 1) & (capacity - 1)) {
      const uintptr_t known = __atomic_load_n(&steps_[place].from, __ATOMIC_ACQUIRE);
      if (known == 0) return nullptr;
      if (known == from && steps_[place].to == to) return &steps_[place];
    }
  }
  void add_step(uintptr_t from, uintptr_t to, uintptr_t distance) noexcept {
    uint32_t place = first_place(from, to);
    while (steps_[place].from != 0) place = (place + 1) & (capacity - 1);
    steps_[place].to = to;
    steps_[place].distance = distance;
    __atomic_store_n(&steps_[place].from, from, __ATOMIC_RELEASE);
    ++step_count_;
  }
  __attribute__((noinline, cold)) void note(uintptr_t from, uintptr_t to, uintptr_t distance) noexcept {
    lock_.lock();
    if (step_count_ < capacity / 2) {
      known_step* const first = find(from, 0);
      if (first == nullptr) add_step(from, 0, distance);
      else if (first->distance != distance) __atomic_store_n(&first->distance, varies, __ATOMIC_RELAXED);
      if (find(from, to) == nullptr) add_step(from, to, 0);
    }
    lock_.unlock();
  }

  uintptr_t first_ = 0, size_ = 0;  // from the first module to the end of the last one
  uint32_t count_ = 0, step_count_ = 0;
  code_range modules_[most_modules] = {};
  core::spin_lock lock_;
  known_step* steps_ = nullptr;  // mapped with the first module
};

/// Those of the process, in the module with the wrappers.
__attribute__((visibility("hidden"))) inline binding_frames known_bindings;

/// The code that called a wrapper: its return address and its frame, or the code behind a binding of another language.
__attribute__((always_inline)) inline caller calling_code(const void* address, const void* frame) noexcept {
  if (__builtin_expect(known_bindings.may_contain(address), 0)) return known_bindings.outside({address, frame});
  return {address, frame};
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
