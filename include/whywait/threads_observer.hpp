#ifndef WHYWAIT_THREADS_OBSERVER_HPP
#define WHYWAIT_THREADS_OBSERVER_HPP

/// The implementation of <whywait/whywait.hpp>: what one object of a program without MPI must contain. whywait_observe(target THREADS)
/// of CMake compiles it once per build tree; without CMake a file with this line does so.

#include <whywait/core/version.hpp>

#include <whywait/base/needs_exceptions.hpp>

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

// In a file of single_include that an observed target includes, the implementation is elsewhere.
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
