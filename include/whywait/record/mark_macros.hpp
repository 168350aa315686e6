#ifndef WHYWAIT_RECORD_MARK_MACROS_HPP
#define WHYWAIT_RECORD_MARK_MACROS_HPP

#include <whywait/record/disabled_marks.hpp>
#include <whywait/record/region.hpp>

#ifndef WHYWAIT_DISABLE

// The counter makes two regions on one line different. The helpers must stay: the public macros use them.
#define WHYWAIT_DETAIL_JOIN2(a, b) a##b
#define WHYWAIT_DETAIL_JOIN(a, b) WHYWAIT_DETAIL_JOIN2(a, b)
// The text of an argument after its macros are replaced.
#define WHYWAIT_DETAIL_TEXT2(a) #a
#define WHYWAIT_DETAIL_TEXT(a) WHYWAIT_DETAIL_TEXT2(a)
// The lambda makes the place part of the expression, so that a macro is one declaration. The place is
// constant-initialised: no guard.
#define WHYWAIT_DETAIL_SITE(kind, name)                                                                               \
  []() noexcept -> ::whywait::site& {                                                                                 \
    static_assert(::whywait::record::detail::is_literal(WHYWAIT_DETAIL_TEXT(name)),                                   \
                  "whywait: the name in a macro must be a string literal; for a name that is known only at run time " \
                  "use whywait::region, whywait::waiting or whywait::visit");                                         \
    static ::whywait::record::detail::own_site whywait_place(::whywait::site_kind::kind, name);                       \
    return whywait_place;                                                                                             \
  }()

/// Times the rest of the scope as a region called `name` (a string literal). One declaration, so it cannot
/// escape an unbraced `if`. About 16 to 20 ns.
#define WHYWAIT_REGION(name) \
  const ::whywait::region WHYWAIT_DETAIL_JOIN(whywait_region_, __COUNTER__) { WHYWAIT_DETAIL_SITE(region, name) }

/// Times the rest of the scope as waiting for something that whywait cannot see. About 16 to 20 ns.
#define WHYWAIT_WAIT(name) \
  const ::whywait::region WHYWAIT_DETAIL_JOIN(whywait_region_, __COUNTER__) { WHYWAIT_DETAIL_SITE(waiting, name) }

/// Ends the innermost region and begins the one called `name` (a string literal) in its stead, to the end of the same
/// scope: consecutive phases or loop iterations at one clock reading each, about 9 ns. An expression of type void.
#define WHYWAIT_NEXT(name) ::whywait::next(WHYWAIT_DETAIL_SITE(region, name))

/// Counts a visit of the block called `name` (a string literal); an expression of type void. About 1 ns.
#define WHYWAIT_BLOCK(name) ::whywait::visit(WHYWAIT_DETAIL_SITE(step, name))

/// Adds `units` of work to the innermost region; an expression of type void. About 1 ns.
#define WHYWAIT_WORK(units) ::whywait::work(units)

#else

#define WHYWAIT_REGION(name) static_cast<void>(0)
#define WHYWAIT_WAIT(name) static_cast<void>(0)
#define WHYWAIT_NEXT(name) static_cast<void>(0)
#define WHYWAIT_BLOCK(name) static_cast<void>(0)
// never evaluated, but used: a variable that only counts work gives no warning
#define WHYWAIT_WORK(units) (true ? static_cast<void>(0) : static_cast<void>(units))

#endif  // WHYWAIT_DISABLE

#endif
