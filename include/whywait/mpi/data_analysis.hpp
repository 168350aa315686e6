#ifndef WHYWAIT_MPI_DATA_ANALYSIS_HPP
#define WHYWAIT_MPI_DATA_ANALYSIS_HPP

#include <whywait/core/registry.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/record/data/state.hpp>
#include <whywait/report/names.hpp>
#include <whywait/report/section.hpp>
#include <whywait/sync/mpi/state.hpp>
#include <whywait/sync/mpi/team.hpp>

#include <memory>
#include <string>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

class process_history;

/// Names for keys, on rank 0; collective (gather_names).
using name_gatherer = report::names (*)(std::vector<core::stable_key> keys, const process_history& own, const sync::team& all);

/// The analysis of registered data, of which <whywait/mpi.hpp> knows no more than this: it takes a compiler as long as half of
/// the rest, and few programs register data. <whywait/communication.hpp> brings it.
class data_analysis {
 public:
  data_analysis() = default;
  data_analysis(const data_analysis&) = delete;
  data_analysis& operator=(const data_analysis&) = delete;
  virtual ~data_analysis() = default;

  /// Is told of the waits while they are explained.
  virtual explain::observer* watch() = 0;
  /// Afterwards: what the report says of data, on rank 0; null elsewhere. Collective. What limits it goes to `warnings`.
  virtual std::shared_ptr<const report::section> result(name_gatherer names, const process_history& history,
                                                        std::vector<std::string>& warnings) = 0;
};

using data_analysis_maker = std::unique_ptr<data_analysis> (*)(sync::mpi::state& process, const explain::rank_history& own);

namespace detail {
/// Set before main by <whywait/communication.hpp>, if that is anywhere.
__attribute__((visibility("default"))) inline data_analysis_maker maker_of_data_analysis = nullptr;
}  // namespace detail

/// The analysis of data; null if no rank registered any, or if one cannot analyse it: then a warning says why. Collective.
[[gnu::cold]] inline std::unique_ptr<data_analysis> analysis_of_data(sync::mpi::state& process, const sync::team& all, const explain::rank_history& own,
                                                                     std::vector<std::string>& warnings) {
  const bool registered = record::data::state_of(*process.registry) != nullptr;
  int facts[] = {registered ? 1 : 0, detail::maker_of_data_analysis == nullptr ? 1 : 0};
  all.all_reduce(facts, 2, MPI_INT, MPI_MAX);
  if (facts[0] == 0) return nullptr;
  if (facts[1] == 0) return detail::maker_of_data_analysis(process, own);
  warnings.push_back(
      "data was registered, but nothing is said about it: #include <whywait/communication.hpp> in one file of the program, "
      "beside <whywait/mpi.hpp>");
  return nullptr;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
