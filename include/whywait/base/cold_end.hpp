#ifndef WHYWAIT_BASE_COLD_END_HPP
#define WHYWAIT_BASE_COLD_END_HPP

// The end of what cold_begin.hpp begins.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC pop_options
#endif

#endif
