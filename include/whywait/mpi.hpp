#ifndef WHYWAIT_MPI_HPP
#define WHYWAIT_MPI_HPP

/// Include this in one file of an MPI program (in more it does no harm), compile with -I include, link
/// nothing: from then on every MPI call of the program and of its libraries is observed, and MPI_Finalize
/// explains on standard error why the program waited. WHYWAIT_OUTPUT=prefix also writes prefix.json, prefix.txt and prefix.html.
/// docs/reference/settings.md has the settings; WHYWAIT_ENABLE=0 at run time or -DWHYWAIT_DISABLE switch it off.
///
/// In CMake whywait_observe(target) compiles the implementation once per build tree. It defines WHYWAIT_OBSERVED, so
/// that this header only declares what a program can call: marks, `mpi::explain` and its result, own rules and events.

#include <whywait/core/version.hpp>

#ifndef WHYWAIT_OBSERVED
#include <whywait/observer.hpp>
#endif

#include <whywait/finalize/entry_points.hpp>
#include <whywait/finalize/take_timelines.hpp>
#include <whywait/record.hpp>
#include <whywait/result.hpp>
#include <whywait/rules/add.hpp>
#include <whywait/rules/own_event.hpp>

namespace whywait {
inline namespace v0 {
namespace mpi {

#ifndef WHYWAIT_DISABLE
using finalize::take_timelines;
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
