#ifndef WHYWAIT_DATA_MARKS_DATA_MACROS_HPP
#define WHYWAIT_DATA_MARKS_DATA_MACROS_HPP

#include <whywait/data/marks/data_marks.hpp>
#include <whywait/data/marks/disabled_data_marks.hpp>
#include <whywait/record/mark_macros.hpp>

#ifndef WHYWAIT_DISABLE

/// Registers an array for the rest of the scope. The arguments are a name (a string literal), the address of the first
/// element and the extents, slowest dimension first. For a distributed array use `whywait::part(here, first, whole)` as
/// extent. The macro is one declaration. Registration and its end cost 4 us together among 1000 arrays, less among
/// fewer. For members, static and heap arrays use an object of class whywait::data.
#define WHYWAIT_DATA(name, pointer, ...)                                              \
  const ::whywait::registered_array WHYWAIT_DETAIL_JOIN(whywait_data_, __COUNTER__) { \
    "" name, pointer, ::whywait::shape(__VA_ARGS__), __builtin_FILE(), __LINE__       \
  }

/// Records that the loop `name` (a string literal) read or wrote these ranges (whywait::range) in total. One event
/// each, about 65 ns. Expressions of type void.
#define WHYWAIT_READS(name, ...) ::whywait::reads("" name, __VA_ARGS__)
#define WHYWAIT_WRITES(name, ...) ::whywait::writes("" name, __VA_ARGS__)

/// Records the iterations of the loop `name` that this thread ran, as first, last[, step[, chunk]] or as a
/// whywait::range of an array with one element per iteration. One event; an expression of type void.
#define WHYWAIT_ITERATIONS(name, ...) ::whywait::iterations("" name, __VA_ARGS__)

/// Records that elements of an array were packed into, or unpacked from, the bytes at `buffer`, which must also be in a
/// registered array. Messages from the buffer are then attributed to the packed array. `data` and the remaining
/// arguments are those of whywait::range. Two events; expressions of type void.
#define WHYWAIT_PACKS(buffer, data, ...) ::whywait::packs(buffer, ::whywait::range(data, __VA_ARGS__))
#define WHYWAIT_UNPACKS(buffer, data, ...) ::whywait::unpacks(buffer, ::whywait::range(data, __VA_ARGS__))

/// Records a synchronisation of this thread with others on the object `name`. For a lock, place it after acquiring and
/// before releasing. For a barrier, place the _ALL form before it, in all its threads. One event, about 55 ns;
/// expressions of type void.
#define WHYWAIT_SYNC(name) ::whywait::synchronise("" name)
#define WHYWAIT_SYNC_ALL(name) ::whywait::synchronise_all("" name)

#else

// The arguments are used but not evaluated, so that a variable that only occurs in marks causes no warning.
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
