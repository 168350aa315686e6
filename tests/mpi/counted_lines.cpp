// ranks: 2 4
// with: observer comes_last.cpp
// not: mpich (it is the compiler that counts)
// flags: -O2 -g -fprofile-arcs -ftest-coverage
// environment: WHYWAIT_OUTPUT=lines
// stderr ~ loop in work
// stderr ~ 4.0x as often:[ ]
// stderr ~ only the late side ran it:[ ]
//
// A program without marks, compiled with g++'s counters. The report names the lines that the late rank ran more often
// and the branch that only it took, with exact counts.
constexpr int body = 0;
#include "coverage_program.hpp"
