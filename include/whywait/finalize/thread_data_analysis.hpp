#ifndef WHYWAIT_FINALIZE_THREAD_DATA_ANALYSIS_HPP
#define WHYWAIT_FINALIZE_THREAD_DATA_ANALYSIS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/report/section.hpp>
#include <whywait/rules/data_facts.hpp>

#include <memory>
#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

class process_names;

/// Interface to the analysis of registered data in a program without MPI. <whywait/whywait.hpp> depends on this interface only,
/// because few programs register data. <whywait/sharing.hpp> implements it. The object lives as long as the run; the caller
/// excludes other threads.
class thread_data_analysis {
 public:
  thread_data_analysis() = default;
  thread_data_analysis(const thread_data_analysis&) = delete;
  thread_data_analysis& operator=(const thread_data_analysis&) = delete;
  virtual ~thread_data_analysis() = default;

  /// Adds what the threads recorded since the last call, as far as `all` has the keys of its places, and releases its memory.
  /// `over`: there will be no further call. Throws std::bad_alloc.
  virtual void take(core::registry& registry, const core::rank_history& all, bool over) = 0;
  /// The report section about the data of the run so far, which holds `facts` for the rules. Limitations are appended to
  /// `warnings`.
  virtual std::shared_ptr<const reports::section> result(const core::registry& registry, const process_names& names,
                                                         base::vector<std::string>& warnings,
                                                         const rules::data_facts*& facts) = 0;
};

/// The caller owns what it returns.
using thread_data_analysis_maker = thread_data_analysis* (*)();

namespace detail {
/// Set before main by <whywait/sharing.hpp> if any file includes it.
__attribute__((visibility("default"))) inline thread_data_analysis_maker maker_of_thread_data_analysis = nullptr;
}  // namespace detail

/// Warning in the report of a run without MPI and with registered data, but without the analysis.
constexpr const char* thread_data_not_analysed =
    "data was registered but is not analysed; include <whywait/sharing.hpp> beside <whywait/whywait.hpp> in one file of the "
    "program";

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
