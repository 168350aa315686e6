#ifndef WHYWAIT_MPI_HPP
#define WHYWAIT_MPI_HPP

/// Include this in one file of an MPI program (in more it does no harm), compile with -I include, link
/// nothing: from then on every MPI call of the program and of its libraries is observed, and MPI_Finalize
/// explains on standard error why the program waited. WHYWAIT_OUTPUT=prefix also writes prefix.json.
/// docs/configuration.md has the settings; WHYWAIT_ENABLE=0 at run time or -DWHYWAIT_DISABLE switch it off.
///
///     annotate -> record -> sync -> explain -> report
///
/// This umbrella is the only place where the two storeys meet: the wrappers of sync/mpi/ call back into
/// what is hung into them here.

#include <whywait/core/version.hpp>

#include <whywait/mpi/analysis.hpp>
#include <whywait/mpi/end.hpp>
#include <whywait/mpi/explain.hpp>
#include <whywait/mpi/timeline.hpp>
#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/sync/mpi/wrappers.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {
namespace detail {

// Before main, so that regions around MPI_Init are seen.
inline const bool listening =
    (record::keep_details(), record::listen(), sync::mpi::install(sync::mpi::hooks{&at_start, &at_finalize, &at_end, &at_epoch}), true);

}  // namespace detail
}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
