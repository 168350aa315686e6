#ifndef WHYWAIT_RECORD_REGION_HPP
#define WHYWAIT_RECORD_REGION_HPP

#include <whywait/core/counter.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/marks.hpp>
#include <whywait/record/path_head.hpp>

#include <stddef.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

namespace record {
namespace detail {

// Text of any class with data() and size(), such as std::string and std::string_view. It need not end with a null
// character.
template <class Text, class = decltype(static_cast<const char*>(static_cast<const Text*>(nullptr)->data())),
          class = decltype(static_cast<size_t>(static_cast<const Text*>(nullptr)->size()))>
inline dynamic_name name_of(site_kind kind, const Text& text, const char* file, uint32_t line) noexcept {
  return {kind, text.data(), static_cast<size_t>(text.size()), file, line};
}
inline dynamic_name name_of(site_kind kind, const char* text, const char* file, uint32_t line) noexcept {
  return {kind, text, dynamic_name::terminated, file, line};
}

}  // namespace detail
}  // namespace record

/// Times a scope. Two clock readings, about 16 to 20 ns, no allocation; nothing if recording is off. The object
/// must die on the thread that made it.
class [[nodiscard]] region {
 public:
  [[nodiscard]] __attribute__((always_inline)) explicit region(site& place) noexcept
      : opened_(begin(place)), place_(record::detail::place_of(place)) {}
  /// A region whose name is known only at run time: a text, or anything with data() and size(). The name is copied at
  /// its first use; at most 500 characters count. Costs about 10 ns more.
  [[nodiscard]] explicit region(const char* name, const char* file = __builtin_FILE(),
                                uint32_t line = __builtin_LINE()) noexcept
      : region(record::detail::name_of(site_kind::region, name, file, line)) {}
  template <class Text,
            class = decltype(record::detail::name_of(site_kind::region, *static_cast<const Text*>(nullptr), nullptr, 0))>
  [[nodiscard]] explicit region(const Text& name, const char* file = __builtin_FILE(),
                                uint32_t line = __builtin_LINE()) noexcept
      : region(record::detail::name_of(site_kind::region, name, file, line)) {}
  __attribute__((always_inline)) ~region() {
    if (__builtin_expect(opened_.entered == nullptr, 0)) return;
    record::path_head* const at = opened_.where;
    if (__builtin_expect_with_probability(at->is_innermost(opened_.entered), 1, 1.0)) {
      if (!at->leave(opened_.entered, core::plain_counter::now())) record::detail::slow_list_outer(*at);
    } else {
      record::detail::slow_end(*at, opened_.entered, record::detail::computed_here(place_));
    }
  }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Ends this region here and begins `place` for the rest of the scope, with one clock reading (about 9 ns):
  /// for consecutive phases. The same place again is one more visit, about 1 ns.
  void next(site& place) noexcept {
    if (opened_.entered == nullptr) return;
    record::path_head* const at = opened_.where;
    if (__builtin_expect(!at->is_innermost(opened_.entered), 0)) {
      record::detail::slow_next_of(*at, opened_.entered, place_, place, nullptr);
    } else {
      record::path_entry* const following = at->at_place(place.known_place());
      if (__builtin_expect(!following->arrive(), 0))
        record::detail::slow_next_of(*at, opened_.entered, place_, place, following);
      else if (opened_.entered->region != following)
        record::path_head::next(opened_.entered, following, core::plain_counter::now());
    }
    place_ = record::detail::place_of(place);
  }

 protected:
  explicit region(const record::dynamic_name& name) noexcept : opened_(record::not_recorded), place_(0) {
    if (record::detail::here_offset() == 0) return;
    uint32_t number = 0;
    opened_ = record::detail::slow().begin_named(name, true, number);
    place_ = number;
  }

 private:
  static __attribute__((always_inline)) record::opened begin(site& place) noexcept {
    const intptr_t offset = record::detail::here_offset();
    record::opened made;
    // Null where marks are inert, and opaque, or g++ compiles the scope twice, with and without a region.
    __asm__("" : "=r"(made.entered) : "0"(offset));
    __asm__("" : "=r"(made.where));  // any value there: it is not used
    if (__builtin_expect(offset != 0, 1)) {
      record::path_head* const at = record::detail::head_at(offset);
      if (__builtin_expect_with_probability(!at->enters_fast(), 0, 1.0)) {
        made = record::detail::slow_begin(place, nullptr);
      } else {
        record::path_entry* const block = at->at_place(place.known_place());
        if (__builtin_expect(!block->arrive(), 0)) made = record::detail::slow_begin(place, block);
        else made = {at, at->enter(block, core::plain_counter::now())};
      }
    }
    // In a register. Else g++ joins two stores of 8 bytes into one load of 16, which no processor forwards.
    __asm__("" : "+r"(made.entered));
    return made;
  }

  record::opened opened_;
  record::marked_place place_;
};

/// A scope that waits for something whywait cannot see (a spin on a flag, a socket, a file lock), named at run
/// time: timed like a region, and never blamed as work.
class [[nodiscard]] waiting : public region {
 public:
  [[nodiscard]] explicit waiting(const char* name, const char* file = __builtin_FILE(),
                                 uint32_t line = __builtin_LINE()) noexcept
      : region(record::detail::name_of(site_kind::waiting, name, file, line)) {}
  template <class Text,
            class = decltype(record::detail::name_of(site_kind::region, *static_cast<const Text*>(nullptr), nullptr, 0))>
  [[nodiscard]] explicit waiting(const Text& name, const char* file = __builtin_FILE(),
                                 uint32_t line = __builtin_LINE()) noexcept
      : region(record::detail::name_of(site_kind::waiting, name, file, line)) {}
};

/// Ends the innermost region and begins `place` in its stead, with one clock reading (about 9 ns): for consecutive
/// phases and for the iterations of a loop. What the innermost region would have ended ends `place`. The same place
/// again is one more visit, about 1 ns. Outside any region only the visit is counted; that is reported.
__attribute__((always_inline)) inline void next(site& place) noexcept {
  const intptr_t offset = record::detail::here_offset();
  if (__builtin_expect(offset == 0, 0)) return;
  record::path_head* const at = record::detail::head_at(offset);
  record::path_frame* const innermost = at->innermost();
  if (__builtin_expect(innermost == nullptr, 0)) return record::detail::slow_next(place, nullptr);
  record::path_entry* const following = at->at_place(place.known_place());
  if (__builtin_expect(!following->arrive(), 0)) return record::detail::slow_next(place, following);
  if (innermost->region != following) record::path_head::next(innermost, following, core::plain_counter::now());
}

/// Begins an unscoped region; `end` with the same name ends it. For code that cannot use a scope (callbacks,
/// other languages). The name is copied at its first use. Costs about 10 ns more than a region. A region that has no
/// `end` when the run ends is reported.
inline void begin(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() == 0) return;
  uint32_t number = 0;
  static_cast<void>(
      record::detail::slow().begin_named(record::detail::name_of(site_kind::region, name, file, line), false, number));
}
template <class Text,
          class = decltype(record::detail::name_of(site_kind::region, *static_cast<const Text*>(nullptr), nullptr, 0))>
inline void begin(const Text& name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() == 0) return;
  uint32_t number = 0;
  static_cast<void>(
      record::detail::slow().begin_named(record::detail::name_of(site_kind::region, name, file, line), false, number));
}

/// Ends the innermost region, which must be called `name`. If it is another one, everything up to the
/// nearest open region of that name is ended, or nothing if there is none; either is counted and reported.
inline void end(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() != 0)
    record::detail::slow().end_named(record::detail::name_of(site_kind::region, name, file, line));
}
template <class Text,
          class = decltype(record::detail::name_of(site_kind::region, *static_cast<const Text*>(nullptr), nullptr, 0))>
inline void end(const Text& name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() != 0)
    record::detail::slow().end_named(record::detail::name_of(site_kind::region, name, file, line));
}

/// Counts one visit of an untimed step of the path. About 0.3 ns.
__attribute__((always_inline)) inline void visit(site& place) noexcept {
  const intptr_t offset = record::detail::here_offset();
  if (__builtin_expect(offset == 0, 0)) return;
  record::path_entry* const block = record::detail::head_at(offset)->at_place(place.known_place());
  if (__builtin_expect(!block->arrive(), 0)) record::detail::slow_visit(place, block);
}

/// The same for a name known only at run time; costs about 10 ns.
inline void visit(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() != 0)
    record::detail::slow().visit_named(record::detail::name_of(site_kind::step, name, file, line));
}
template <class Text,
          class = decltype(record::detail::name_of(site_kind::region, *static_cast<const Text*>(nullptr), nullptr, 0))>
inline void visit(const Text& name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::detail::here_offset() != 0)
    record::detail::slow().visit_named(record::detail::name_of(site_kind::step, name, file, line));
}

/// Adds work units (cells, particles, bytes) to the innermost region: then "slower" means slower per unit.
/// About 0.5 ns. Any arithmetic type; what is not positive counts as nothing.
template <class Number>
inline void work(Number units) noexcept {
  const intptr_t offset = record::detail::here_offset();
  if (__builtin_expect(offset == 0, 0)) return;
  const uint64_t counted = units > Number(0) ? static_cast<uint64_t>(units) : 0;
  record::path_frame* const innermost = record::detail::head_at(offset)->top;
  if (__builtin_expect(innermost != nullptr, 1)) record::detail::add(innermost->region->work, counted);
  else record::detail::slow_work(counted);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
