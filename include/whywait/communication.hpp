#ifndef WHYWAIT_COMMUNICATION_HPP
#define WHYWAIT_COMMUNICATION_HPP

/// Include this in one file of an MPI program that registers data (<whywait/data.hpp>), best beside <whywait/mpi.hpp> in a file of
/// its own: then the report explains why data was sent, where it is and which ranks share it. Without it, and without registered
/// data, nothing of that is compiled or run. Empty in the files of a target of whywait_observe(target DATA). It takes
/// half as long to compile as <whywait/mpi.hpp>.

#include <whywait/core/version.hpp>

#ifndef WHYWAIT_OBSERVED_DATA
#include <whywait/data/finalize/communication_analysis.hpp>
#endif

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED_DATA)

namespace whywait {
inline namespace v0 {
namespace mpi {
namespace detail {

inline const bool analyses_data = (finalize::detail::maker_of_data_analysis = &data::make_communication_analysis, true);

}  // namespace detail
}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
