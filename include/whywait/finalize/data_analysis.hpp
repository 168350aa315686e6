#ifndef WHYWAIT_FINALIZE_DATA_ANALYSIS_HPP
#define WHYWAIT_FINALIZE_DATA_ANALYSIS_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/report/section.hpp>
#include <whywait/rules/data_facts.hpp>

#include <memory>
#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

class process_names;

/// Function that returns names for keys on rank 0; collective (gather_names).
using name_gatherer = base::names (*)(base::vector<core::stable_key> keys, const process_names& own, const finalize::team& all);

/// Interface to the analysis of registered data. <whywait/mpi.hpp> depends on this interface only, because the analysis
/// takes half as long to compile as the rest and few programs register data. <whywait/communication.hpp> implements it.
/// The object lives as long as the run. In each epoch `begin` is called before the explanation and `fold` after it,
/// then possibly `result`.
class data_analysis {
 public:
  data_analysis() = default;
  data_analysis(const data_analysis&) = delete;
  data_analysis& operator=(const data_analysis&) = delete;
  virtual ~data_analysis() = default;

  /// Reads the records of an epoch. The returned observer is notified of waits during the explanation; `epoch` must
  /// live until then.
  virtual explain::observer* begin(const explain::rank_history& epoch) = 0;
  /// Called after the explanation. Adds the epoch to the sums and releases its memory. Collective. `lossy` means that
  /// some rank did not record all calls of this epoch.
  virtual void fold(bool lossy) = 0;
  /// The report section about the data of the run so far, which holds `facts` for the rules, on rank 0; null elsewhere.
  /// Collective. Limitations are appended to `warnings`.
  virtual std::shared_ptr<const reports::section> result(name_gatherer names, const process_names& history,
                                                         base::vector<std::string>& warnings,
                                                         const rules::data_facts*& facts) = 0;
};

using data_analysis_maker = std::unique_ptr<data_analysis> (*)(mpi::state& process);

namespace detail {
/// Set before main by <whywait/communication.hpp> if any file includes it.
__attribute__((visibility("default"))) inline data_analysis_maker maker_of_data_analysis = nullptr;
}  // namespace detail

/// State of the data analysis of a run.
struct data_so_far {
  std::unique_ptr<data_analysis> analysis;  ///< null if no rank has registered data or the analysis is not linked in
  bool not_linked = false;  ///< data is registered but cannot be analysed
};

/// Creates the analysis at the end of the first epoch in which some rank has registered an array. Collective.
inline void create_data_analysis(mpi::state& process, const finalize::team& all, data_so_far& data) {
  if (data.analysis != nullptr || data.not_linked) return;  // the same on all ranks
  const bool registered = data::state_of(*process.registry) != nullptr;
  int facts[] = {registered ? 1 : 0, detail::maker_of_data_analysis == nullptr ? 1 : 0};
  all.all_reduce(facts, 2, MPI_INT, MPI_MAX);
  if (facts[0] == 0) return;
  data.not_linked = facts[1] != 0;
  if (!data.not_linked) data.analysis = detail::maker_of_data_analysis(process);
}

/// Warning in the report of a run with registered data but without the analysis.
constexpr const char* data_not_analysed =
    "data was registered but is not analysed; include <whywait/communication.hpp> beside <whywait/mpi.hpp> in one file "
    "of "
    "the program";

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
