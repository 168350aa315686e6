#ifndef WHYWAIT_OBSERVER_HPP
#define WHYWAIT_OBSERVER_HPP

/// The implementation of <whywait/mpi.hpp>: what one object of a program must contain. whywait_observe(target) of CMake compiles it
/// once per build tree; without CMake a file with this line does so.
///
///     annotate -> record -> mpi -> explain -> report
///
/// The MPI wrappers (mpi/) call the end of the run (finalize/) and the crash reports (postmortem/) through the hooks
/// that are installed here.

#include <whywait/core/version.hpp>

#include <whywait/base/needs_exceptions.hpp>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"  // in macros of mpi.h
#endif

// The order matters: first the hot rooms, then the cold ones between cold_begin.hpp and cold_end.hpp.
#include <whywait/mpi/wrappers.hpp>
#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/thread/record_threads.hpp>

#include <whywait/base/cold_begin.hpp>

// What explain/ and clocks/ do for each record.
#include <whywait/clocks/clock_pass.hpp>
#include <whywait/clocks/cost_pass.hpp>
#include <whywait/explain/arrivals.hpp>
#include <whywait/explain/collective_book.hpp>
#include <whywait/explain/folding.hpp>
#include <whywait/explain/forward.hpp>
#include <whywait/explain/lock_book.hpp>
#include <whywait/explain/progress_book.hpp>
#include <whywait/explain/thread_waits.hpp>

#include <whywait/base/cold_small.hpp>

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/finalize/analysis.hpp>
#include <whywait/finalize/explain_now.hpp>
#include <whywait/postmortem/abnormal_end.hpp>

#include <whywait/base/cold_end.hpp>

#include <cstdlib>

// In a file of single_include that an observed target includes, the implementation is elsewhere.
#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

namespace whywait {
inline namespace v0 {
namespace mpi {
namespace detail {

// Runs before main, so that regions around MPI_Init are recorded.
inline const bool listening = [] {
  record::keep_details();
  record::listen();
  threads::listen();
  bindings::connect();
  static_cast<void>(std::atexit([] {
    at_exit();
    say_if_unseen();
  }));
  static_cast<void>(at_quick_exit(&at_exit));
  install(hooks{&postmortem::at_start, &finalize::at_start_of_run, &finalize::at_finalize, &postmortem::at_end,
                &finalize::at_epoch});
  return true;
}();

}  // namespace detail
}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
