#ifndef WHYWAIT_COVERAGE_HPP
#define WHYWAIT_COVERAGE_HPP

/// \file
/// Basic blocks without marks: include it once in each module (executable, shared library) that is compiled with one
/// of these flags, and the report names source lines. Link nothing; in a program without them it does nothing.
///
///     g++ -g -fprofile-arcs -ftest-coverage      counts for the whole process, about 0.1 ns a block
///     g++ -g -fsanitize-coverage=trace-pc        counts for each thread, about 2 ns a block
///     clang++ -g -fsanitize-coverage=trace-pc-guard   the same; not on the link line
///     -finstrument-functions                     functions as timed regions
///
/// docs/how-to/source-lines.md.

#include <whywait/core/version.hpp>

#include <whywait/coverage/counters/attributes.hpp>
#include <whywait/coverage/counters/callbacks.hpp>
#include <whywait/coverage/counters/clang_counters.hpp>
#include <whywait/coverage/counters/functions.hpp>
#include <whywait/coverage/counters/gcc_counters.hpp>
#include <whywait/coverage/counters/source.hpp>

#endif
