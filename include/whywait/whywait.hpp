#ifndef WHYWAIT_WHYWAIT_HPP
#define WHYWAIT_WHYWAIT_HPP

/// Everything that does without MPI: marking and recording, the explanation of histories from wherever they
/// come (explain::explain over explain::simulated_transport, explain::interval_diff alone), the report.
///
/// A program with threads and without MPI includes it in one file (in more it does no harm), links nothing, and uses the primitives of
/// <whywait/thread.hpp>: at its exit the report on standard error explains why its threads waited, and `whywait::report()`
/// returns it at any time. A program whose MPI calls are to be explained includes <whywait/mpi.hpp> instead; code with marks
/// only includes <whywait/record.hpp>. With WHYWAIT_OBSERVED defined this header only declares: nothing is recorded or reported
/// for its sake.

#include <whywait/core/version.hpp>

#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/thread/record_threads.hpp>

#include <whywait/base/cold_begin.hpp>

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/interval_diff.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <whywait/base/cold_small.hpp>

#include <whywait/finalize/report_entry.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/symbolise.hpp>
#include <whywait/report/text.hpp>
#include <whywait/result.hpp>
#include <whywait/thread/finalize/solo_analysis.hpp>

#include <whywait/base/cold_end.hpp>

#include <cstdlib>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// Runs before main, so that threads that static objects start are recorded. A run with MPI replaces this one in MPI_Init.
inline const bool observing = [] {
  record::keep_details();
  record::listen();
  threads::listen();
  begin_solo_run();
  if (solo_run* const run = solo_run_of(core::the_registry())) {
    run->explain = &explain_now;
    static_cast<void>(std::atexit(&report_at_exit));
    static_cast<void>(at_quick_exit(&report_at_exit));
  }
  return true;
}();

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif

#endif
