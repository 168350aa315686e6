#ifndef WHYWAIT_BASE_COLD_SMALL_HPP
#define WHYWAIT_BASE_COLD_SMALL_HPP

// Between this header and cold_end.hpp <whywait/observer.hpp> includes the cold rooms that process the result of a run, not its
// records: rules, questions, report. An optimising g++ compiles them for size, a sixth of the whole object smaller than with
// -O1. The explanation itself (explain/, clocks/) is included before this header, because it would be 1.7 times as slow.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("Os")
#endif

#endif
