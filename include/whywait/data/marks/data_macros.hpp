#ifndef WHYWAIT_DATA_MARKS_DATA_MACROS_HPP
#define WHYWAIT_DATA_MARKS_DATA_MACROS_HPP

#include <whywait/data/marks/data_marks.hpp>
#include <whywait/data/marks/disabled_data_marks.hpp>
#include <whywait/record/mark_macros.hpp>

#ifndef WHYWAIT_DISABLE

/// Registers an array for the rest of the scope: a name (a string literal), the address of its first element and its
/// extents, slowest dimension first. Of a distributed array `whywait::part(here, first, whole)` instead of an extent.
/// One declaration. 4 us with its end among 1000 arrays, less among fewer. Elsewhere (member, static, heap): an object
/// of class whywait::data.
#define WHYWAIT_DATA(name, pointer, ...)                                       \
  const ::whywait::registered_array WHYWAIT_DETAIL_JOIN(whywait_data_, __COUNTER__) {      \
    "" name, pointer, ::whywait::shape(__VA_ARGS__), __builtin_FILE(), __LINE__ \
  }

/// A whole loop called `name` (a string literal) read or wrote these ranges (whywait::range): one event each, about
/// 65 ns. Expressions of type void.
#define WHYWAIT_READS(name, ...) ::whywait::reads("" name, __VA_ARGS__)
#define WHYWAIT_WRITES(name, ...) ::whywait::writes("" name, __VA_ARGS__)

/// This thread ran iterations of the loop `name`: first, last[, step[, chunk]], or whywait::range of an array whose
/// elements they are. One event; an expression of type void.
#define WHYWAIT_ITERATIONS(name, ...) ::whywait::iterations("" name, __VA_ARGS__)

/// Elements of an array were packed into, or unpacked from, the bytes at `buffer`, in a registered array, too: then what
/// is sent is known by its own name. `data` and what follows are the arguments of whywait::range. Two events;
/// expressions of type void.
#define WHYWAIT_PACKS(buffer, data, ...) ::whywait::packs(buffer, ::whywait::range(data, __VA_ARGS__))
#define WHYWAIT_UNPACKS(buffer, data, ...) ::whywait::unpacks(buffer, ::whywait::range(data, __VA_ARGS__))

/// This thread synchronises with others on what is called `name`. A lock: after it is taken and before it is given
/// back. _ALL, a barrier: before it, by all its threads. One event, about 55 ns; expressions of type void.
#define WHYWAIT_SYNC(name) ::whywait::synchronise("" name)
#define WHYWAIT_SYNC_ALL(name) ::whywait::synchronise_all("" name)

#else

// never evaluated, but used: a variable that is only told about gives no warning
#define WHYWAIT_DATA(name, pointer, ...) \
  (true ? static_cast<void>(0) : (static_cast<void>(pointer), static_cast<void>(::whywait::shape(__VA_ARGS__))))
#define WHYWAIT_READS(name, ...) (true ? static_cast<void>(0) : ::whywait::reads("" name, __VA_ARGS__))
#define WHYWAIT_WRITES(name, ...) (true ? static_cast<void>(0) : ::whywait::writes("" name, __VA_ARGS__))
#define WHYWAIT_ITERATIONS(name, ...) (true ? static_cast<void>(0) : ::whywait::iterations("" name, __VA_ARGS__))
#define WHYWAIT_PACKS(buffer, data, ...) \
  (true ? static_cast<void>(0) : ::whywait::packs(buffer, ::whywait::range(data, __VA_ARGS__)))
#define WHYWAIT_UNPACKS(buffer, data, ...) \
  (true ? static_cast<void>(0) : ::whywait::unpacks(buffer, ::whywait::range(data, __VA_ARGS__)))
#define WHYWAIT_SYNC(name) static_cast<void>(0)
#define WHYWAIT_SYNC_ALL(name) static_cast<void>(0)

#endif  // WHYWAIT_DISABLE

#endif
