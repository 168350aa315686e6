#ifndef WHYWAIT_FINALIZE_DATA_ANALYSIS_HPP
#define WHYWAIT_FINALIZE_DATA_ANALYSIS_HPP

#include <whywait/base/places.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/report/section.hpp>

#include <memory>
#include <string>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

class process_names;

/// Names for keys, on rank 0; collective (gather_names).
using name_gatherer = base::names (*)(std::vector<core::stable_key> keys, const process_names& own, const finalize::team& all);

/// The analysis of registered data, of which <whywait/mpi.hpp> knows no more than this: it takes a compiler as long as half of
/// the rest, and few programs register data. <whywait/communication.hpp> brings it. It lives as long as the run and goes on
/// from epoch to epoch: `begin`, the explanation, `fold`, perhaps `result`.
class data_analysis {
 public:
  data_analysis() = default;
  data_analysis(const data_analysis&) = delete;
  data_analysis& operator=(const data_analysis&) = delete;
  virtual ~data_analysis() = default;

  /// Takes the records of an epoch; what is returned is to be told of the waits while they are explained. `epoch` must live
  /// until then.
  virtual explain::observer* begin(const explain::rank_history& epoch) = 0;
  /// Afterwards: adds them to what is known; their memory is free again. Collective. `lossy`: on some rank calls of this
  /// epoch were not recorded.
  virtual void fold(bool lossy) = 0;
  /// What the report says of data of the run so far, on rank 0; null elsewhere. Collective. What limits it goes to `warnings`.
  virtual std::shared_ptr<const report::section> result(name_gatherer names, const process_names& history,
                                                        std::vector<std::string>& warnings) = 0;
};

using data_analysis_maker = std::unique_ptr<data_analysis> (*)(mpi::state& process);

namespace detail {
/// Set before main by <whywait/communication.hpp>, if that is anywhere.
__attribute__((visibility("default"))) inline data_analysis_maker maker_of_data_analysis = nullptr;
}  // namespace detail

/// The analysis of data of a run.
struct data_so_far {
  std::unique_ptr<data_analysis> analysis;  ///< null: no rank has registered any, or one cannot analyse it
  bool in_vain = false;                     ///< the latter
};

/// Makes the analysis if some rank has registered an array by now, at the end of the epoch in which one did. Collective.
[[gnu::cold]] inline void look_for_data(mpi::state& process, const finalize::team& all, data_so_far& data) {
  if (data.analysis != nullptr || data.in_vain) return;  // alike on all ranks
  const bool registered = data::state_of(*process.registry) != nullptr;
  int facts[] = {registered ? 1 : 0, detail::maker_of_data_analysis == nullptr ? 1 : 0};
  all.all_reduce(facts, 2, MPI_INT, MPI_MAX);
  if (facts[0] == 0) return;
  data.in_vain = facts[1] != 0;
  if (!data.in_vain) data.analysis = detail::maker_of_data_analysis(process);
}

/// Said in the report of a run whose data nobody analyses.
constexpr const char* data_in_vain =
    "data was registered, but nothing is said about it: #include <whywait/communication.hpp> in one file of the program, "
    "beside <whywait/mpi.hpp>";

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
