#ifndef WHYWAIT_COVERAGE_COUNTERS_ATTRIBUTES_HPP
#define WHYWAIT_COVERAGE_COUNTERS_ATTRIBUTES_HPP

/// Attribute that keeps the compiler from adding counters and callbacks to a function, as in `WHYWAIT_NO_COVERAGE void
/// f();`.
#if defined(__clang__)
#define WHYWAIT_NO_COVERAGE __attribute__((no_profile_instrument_function, no_instrument_function, no_sanitize("coverage")))
#else
#define WHYWAIT_NO_COVERAGE __attribute__((no_profile_instrument_function, no_instrument_function, no_sanitize_coverage))
#endif

#endif
