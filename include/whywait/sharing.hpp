#ifndef WHYWAIT_SHARING_HPP
#define WHYWAIT_SHARING_HPP

/// Include this in one file of a program without MPI that registers data (<whywait/data.hpp>), beside <whywait/whywait.hpp>: then the
/// report explains which threads share which data, and rules know of false sharing and of data on other NUMA nodes. Without
/// it, and without registered data, nothing of that is compiled or run. Empty in the files of a target of
/// whywait_observe(target THREADS DATA). A program with MPI includes <whywait/communication.hpp> instead.

#include <whywait/core/version.hpp>

#ifndef WHYWAIT_OBSERVED_DATA
#include <whywait/data/finalize/sharing_analysis.hpp>
#endif

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED_DATA)

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

inline const bool analyses_data = (finalize::detail::maker_of_thread_data_analysis = &data::make_sharing_analysis, true);

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
