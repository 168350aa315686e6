#ifndef WHYWAIT_MPI_HPP
#define WHYWAIT_MPI_HPP

/// Include this in one file of an MPI program (in more it does no harm), compile with -I include, link
/// nothing: from then on every MPI call of the program and of its libraries is observed, and MPI_Finalize
/// explains on standard error why the program waited. WHYWAIT_OUTPUT=prefix also writes prefix.json.
/// docs/reference/settings.md has the settings; WHYWAIT_ENABLE=0 at run time or -DWHYWAIT_DISABLE switch it off.
///
///     annotate -> record -> mpi -> explain -> report
///
/// The MPI wrappers (mpi/) call the end of the run (finalize/) and the crash reports (postmortem/) through the hooks
/// that are installed here.

#include <whywait/finalize/analysis.hpp>
#include <whywait/finalize/explain_now.hpp>
#include <whywait/finalize/take_timelines.hpp>
#include <whywait/mpi/wrappers.hpp>
#include <whywait/postmortem/abnormal_end.hpp>
#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>

namespace whywait {
inline namespace v0 {
namespace mpi {

using finalize::explain;

#ifndef WHYWAIT_DISABLE

using finalize::take_timelines;

namespace detail {

// Runs before main, so that regions around MPI_Init are recorded.
inline const bool listening = [] {
  record::keep_details();
  record::listen();
  install(hooks{&postmortem::at_start, &finalize::at_finalize, &postmortem::at_end, &finalize::at_epoch});
  return true;
}();

}  // namespace detail

#endif  // WHYWAIT_DISABLE

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
