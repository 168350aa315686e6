#ifndef WHYWAIT_WHYWAIT_HPP
#define WHYWAIT_WHYWAIT_HPP

/// Everything that does without MPI: marking and recording, the explanation of histories from wherever they
/// come (explain::explain over explain::simulated_transport, explain::interval_diff alone), the report.
///
/// A program with threads and without MPI includes it in one file (in more it does no harm), links nothing, and uses the primitives of
/// <whywait/thread.hpp>: at its exit the report on standard error explains why its threads waited, and `whywait::report()`
/// returns it at any time. A program whose MPI calls are to be explained includes <whywait/mpi.hpp> instead; code with marks
/// only includes <whywait/record.hpp>.
///
/// In CMake whywait_observe(target THREADS) compiles the implementation once per build tree. It defines WHYWAIT_OBSERVED, so
/// that this header only declares what a program can call: marks, `report()` and its result, own rules and events.

#include <whywait/core/version.hpp>

#ifndef WHYWAIT_OBSERVED
#include <whywait/threads_observer.hpp>
#endif

#include <whywait/record.hpp>
#include <whywait/result.hpp>
#include <whywait/rules/add.hpp>
#include <whywait/rules/own_event.hpp>

#endif
