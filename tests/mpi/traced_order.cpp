// ranks: 2
// with: observer comes_last.cpp
// not: mpich address thread (it is the compiler that counts, and the latter builds use clang, which counts other places)
// flags: -O0 -g -fsanitize-coverage=trace-pc
// environment: WHYWAIT_PATH=order WHYWAIT_OUTPUT=lines
// stderr ~ side by side, since both were last in step, the longest of these waits:
//
// Like traced_lines.cpp, but with the path order, so that both sides appear side by side, by source lines.
constexpr int body = 1;
#include "coverage_program.hpp"
