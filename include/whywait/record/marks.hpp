#ifndef WHYWAIT_RECORD_MARKS_HPP
#define WHYWAIT_RECORD_MARKS_HPP

#include <whywait/core/module.hpp>
#include <whywait/core/site_kind.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/path_head.hpp>

#include <stddef.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// What a region object keeps. `entered` is the frame that path_head::enter returned, or the same address with the last
/// bit set, which never is the innermost frame, so that the region takes the slow path at its end. Null:
/// the region is not recorded.
struct opened {
  path_head* where;
  path_frame* entered;
};

inline constexpr opened not_recorded = {nullptr, nullptr};

/// The place of a mark, for reports of regions that do not pair: the address of a site, or its number. An integer and
/// not a class, which g++ would keep in memory.
using marked_place = uintptr_t;

/// A name that is known only at run time. `size` is `terminated` where the text ends with a null character.
struct dynamic_name {
  site_kind kind;
  const char* text;
  size_t size;
  const char* file;
  uint32_t line;
  static constexpr size_t terminated = ~size_t(0);
};

/// A mark of whywait.h or whywait.f90.
enum class plain_mark : uint32_t { begin, end, next, visit, work, wait };

/// The slow paths of marks, in the module that contains the recorder. A mark takes one at the first visit of a place in
/// a segment, at the first mark of a thread, for a depth beyond what is prepared, and where a mode of the recorder
/// needs it. `counted` is the block in which the fast path has counted the visit already; null: nowhere.
struct mark_functions {
  opened (*begin)(site& place, path_entry* counted) noexcept;
  void (*end)(path_head& at, path_frame* entered, marked_place place) noexcept;
  void (*list_outer)(path_head& at) noexcept;  ///< after path_head::leave has returned false
  void (*next_of)(path_head& at, path_frame* entered, marked_place from, site& place, path_entry* counted) noexcept;
  void (*next)(site& place, path_entry* counted) noexcept;
  void (*visit)(site& place, path_entry* counted) noexcept;
  void (*work)(uint64_t units) noexcept;
  opened (*begin_named)(const dynamic_name& name, bool scoped, uint32_t& number) noexcept;
  void (*end_named)(const dynamic_name& name) noexcept;
  void (*visit_named)(const dynamic_name& name) noexcept;
  /// All marks of other languages, with C types only: `what` is a plain_mark. `size`: characters of the name, or
  /// dynamic_name::terminated.
  void (*plain)(uint32_t what, const char* name, size_t size, const char* file, uint32_t line, uint64_t units) noexcept;
};

namespace detail {

/// Where threads store the path_head* that marks use, as a distance from the thread pointer; 0 while marks are inert.
/// Marks of a shared library thus need no thread-local storage of their own: it could not be loaded at run time where
/// the static TLS block is full, and any other model costs a call.
__attribute__((visibility("hidden"), always_inline)) inline intptr_t here_offset() noexcept {
  return __atomic_load_n(&whywait_v0_module.here, __ATOMIC_RELAXED);
}

/// The path_head of the calling thread; never null. Not cached by the compiler: the slow path changes it.
__attribute__((always_inline)) inline path_head* head_at(intptr_t offset) noexcept {
  path_head* head;
#if defined(__x86_64__) && defined(__LP64__)
  __asm__ volatile("movq %%fs:(%1), %0" : "=r"(head) : "r"(offset));
#elif defined(__aarch64__)
  const char* thread;
  __asm__("mrs %0, tpidr_el0" : "=r"(thread));
  __asm__ volatile("ldr %0, [%1, %2]" : "=r"(head) : "r"(thread), "r"(offset));
#else
  head = *reinterpret_cast<path_head* volatile*>(static_cast<char*>(__builtin_thread_pointer()) + offset);
#endif
  return head;
}

__attribute__((visibility("hidden"), always_inline)) inline const mark_functions& slow() noexcept {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);  // pairs with the release of module_card::here
  return *whywait_v0_module.functions;
}

// Out of line and cold: one call at each mark, outside of the program's straight code.
#define WHYWAIT_DETAIL_SLOW __attribute__((noinline, cold, visibility("hidden"))) inline
WHYWAIT_DETAIL_SLOW opened slow_begin(site& place, path_entry* counted) noexcept { return slow().begin(place, counted); }
WHYWAIT_DETAIL_SLOW void slow_end(path_head& at, path_frame* entered, marked_place place) noexcept {
  slow().end(at, entered, place);
}
WHYWAIT_DETAIL_SLOW void slow_list_outer(path_head& at) noexcept { slow().list_outer(at); }
WHYWAIT_DETAIL_SLOW void slow_next_of(path_head& at, path_frame* entered, marked_place from, site& place,
                                      path_entry* counted) noexcept {
  slow().next_of(at, entered, from, place, counted);
}
WHYWAIT_DETAIL_SLOW void slow_next(site& place, path_entry* counted) noexcept { slow().next(place, counted); }
WHYWAIT_DETAIL_SLOW void slow_visit(site& place, path_entry* counted) noexcept { slow().visit(place, counted); }
WHYWAIT_DETAIL_SLOW void slow_work(uint64_t units) noexcept { slow().work(units); }
#undef WHYWAIT_DETAIL_SLOW

/// The same place. Its address is computed where this is called; else g++ holds it in a register during the whole scope.
__attribute__((always_inline)) inline marked_place computed_here(marked_place place) noexcept {
#if defined(__x86_64__)
  __asm__("lea %1, %0" : "=r"(place) : "m"(*reinterpret_cast<const char*>(place)));
#endif
  return place;
}

inline marked_place place_of(site& place) noexcept { return reinterpret_cast<uintptr_t>(&place); }

}  // namespace detail
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
