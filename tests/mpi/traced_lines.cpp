// ranks: 2
// with: observer comes_last.cpp
// not: mpich address thread (it is the compiler that counts, and the latter builds use clang, which counts other places)
// flags: -O0 -g -fsanitize-coverage=trace-pc
// environment: WHYWAIT_OUTPUT=lines
// stderr ~ work
// stderr ~ 4.0x as often:[ ]
// stderr ~ only the late side ran it:[ ]
//
// Like counted_lines.cpp, but with g++'s callbacks, which count per thread.
constexpr int body = 1;
#include "coverage_program.hpp"
