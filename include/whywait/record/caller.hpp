#ifndef WHYWAIT_RECORD_CALLER_HPP
#define WHYWAIT_RECORD_CALLER_HPP

#include <whywait/record/call_sites.hpp>

#include <stdint.h>
#include <unwind.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// The code that called a wrapper: return address, and the wrapper's own stack frame. Programs that wrap MPI in functions
/// of their own call all of it from the same few addresses, therefore a call site also has the caller of that function.
/// Its return address lies at a fixed distance from one of two places:
///
/// * the wrapper's frame (`frame`), if the frame of the function has a fixed size;
/// * the frame pointer that the wrapper saved (`saved_frame`), if the function has one. Then its frame may vary (alloca).
///
/// The unwinder tells the place when a call site is new. Later calls read one word.
struct caller {
  const void* address;
  const void* frame;

  /// Return address of the function that contains `address`; null if `slot` has no place. About 1 ns. Reads the stack between
  /// `frame` and `call_site::return_slot::farthest` above it.
  __attribute__((always_inline)) const void* read(const call_site::return_slot& slot) const noexcept {
    uintptr_t from = reinterpret_cast<uintptr_t>(frame);
    if (slot.base == call_site::return_slot::none) return nullptr;
    if (slot.base == call_site::return_slot::saved_frame) {
      from = *static_cast<const volatile uintptr_t*>(frame);
      if (!is_above(from)) return nullptr;
    }
    return *reinterpret_cast<const void* const volatile*>(from + slot.offset);
  }

  /// Finds that return address with the unwinder, in about 1 us. Not for signal handlers, because the unwinder may lock. `level`: that of
  /// the caller that many functions further out.
  __attribute__((noinline, cold)) found_caller find(uint32_t level) const noexcept {
    unwinding u{address, 0, 0, 0, 0, level};
    _Unwind_Backtrace(&visit, &u);
    if (u.caller == 0) return {};
    const uintptr_t own = reinterpret_cast<uintptr_t>(frame), saved = *static_cast<const uintptr_t*>(frame);
    found_caller found{reinterpret_cast<const void*>(u.caller), {}};
    // A frame pointer lies in the frame of its function, and the return address above it. It points to that of the caller.
    uintptr_t pointer = saved;
    const auto is_pointer = [&] { return is_above(pointer) && pointer % sizeof(void*) == 0 && pointer < u.frame_end; };
    for (uint32_t i = 0; i != level && is_pointer(); ++i) pointer = word_at(pointer);
    if (is_pointer() && pointer >= saved && is_above(pointer + sizeof(void*)) && word_at(pointer + sizeof(void*)) == u.caller) {
      found.where = {static_cast<uint16_t>(pointer + sizeof(void*) - saved), call_site::return_slot::saved_frame};
      return found;
    }
#if defined(__x86_64__)
    // Without a frame pointer the frame has a fixed size. The return address is its last word.
    const uintptr_t at = u.frame_end - sizeof(void*);
    if (u.frame_begin == own + 2 * sizeof(void*) && is_above(at) && word_at(at) == u.caller) {
      found.where = {static_cast<uint16_t>(at - own), call_site::return_slot::frame};
      return found;
    }
#endif
    return {};
  }

  /// Whether the wrapper is still on the stack, found by walking it. False: an error handler has left it by `longjmp`. Where the
  /// walk ends early (code without unwind tables) it is assumed to be. About 1 us; the unwinder may lock.
  __attribute__((noinline, cold)) bool is_on_stack() const noexcept {
    walk w{reinterpret_cast<uintptr_t>(address), reinterpret_cast<uintptr_t>(frame), false, false};
    _Unwind_Backtrace(&look_for, &w);
    return w.found || !w.passed;
  }

 private:
  struct walk {
    uintptr_t address, frame;
    bool found, passed;
  };
  static _Unwind_Reason_Code look_for(_Unwind_Context* context, void* data) noexcept {
    walk& w = *static_cast<walk*>(data);
    const uintptr_t stack = _Unwind_GetCFA(context);
    if (stack <= w.frame) return _URC_NO_REASON;
    // The function that called the wrapper is the first one above its frame.
    w.found = _Unwind_GetIP(context) == w.address;
    w.passed = true;
    return _URC_NORMAL_STOP;
  }

  struct unwinding {
    const void* address;
    uintptr_t frame_begin, frame_end;  // stack pointer of the function that called the wrapper, and of its caller
    uintptr_t caller;
    uint32_t visited, level;
  };

  bool is_above(uintptr_t place) const noexcept {
    return place - reinterpret_cast<uintptr_t>(frame) < call_site::return_slot::farthest;
  }
  // The place may be any word of a frame.
  __attribute__((noinline, cold, no_sanitize_address)) static uintptr_t word_at(uintptr_t place) noexcept {
    return *reinterpret_cast<const volatile uintptr_t*>(place);
  }

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) noexcept {
    unwinding& u = *static_cast<unwinding*>(data);
    const uintptr_t code = _Unwind_GetIP(context), stack = _Unwind_GetCFA(context);
    if (u.frame_begin != 0) {
      if (u.level-- != 0) return _URC_NO_REASON;
      u.caller = code;
      u.frame_end = stack;
      return _URC_NORMAL_STOP;
    }
    if (code == reinterpret_cast<uintptr_t>(u.address)) u.frame_begin = stack;
    return ++u.visited < 32 ? _URC_NO_REASON : _URC_NORMAL_STOP;
  }
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
