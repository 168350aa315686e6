#ifndef WHYWAIT_DATA_FINALIZE_SHARING_ANALYSIS_HPP
#define WHYWAIT_DATA_FINALIZE_SHARING_ANALYSIS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/finalize/data_facts_of.hpp>
#include <whywait/data/finalize/data_history.hpp>
#include <whywait/data/finalize/thread_sharing.hpp>
#include <whywait/data/report/communication_assemble.hpp>
#include <whywait/data/report/communication_section.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/thread_data_analysis.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// Which threads of a program without MPI share registered data, and where it is: from the records of the threads to the section of
/// the report. Its memory is bounded by arrays and loops.
class sharing_analysis final : public finalize::thread_data_analysis {
 public:
  void take(core::registry& registry, const core::rank_history& all, bool over) override {
    history_.take(registry, all);
    threads_.take(registry, history_.data(), over);
    history_.forget(registry);
  }

  std::shared_ptr<const reports::section> result(const core::registry& registry, const finalize::process_names& here,
                                                 base::vector<std::string>& warnings,
                                                 const rules::data_facts*& facts) override {
    const sharing_report shared = threads_.result();
    base::pod_vector<far_use> far = threads_.far(0);
    for (far_use& u : far) {  // threads are ranks here
      u.rank = u.thread;
      u.thread = 0;
    }
    base::vector<core::stable_key> keys = keys_of({}, {}, {&shared});
    for (const far_use& u : far) {
      keys.push_back(u.array);
      keys.push_back(u.block);
    }
    const base::names names = here.names_of(keys);
    warn_of_losses(history_.losses(registry), shared.dropped, threads_.pages_refused() ? 1 : 0, warnings);
    const data_naming named(names);
    communication found;
    add_sharing(found, shared, options_, "thread", named);
    add_shared_data(found.facts, shared, true, named);
    add_far_data(found.facts, far, named);
    auto section = std::make_shared<communication_section>(std::move(found));
    facts = &section->all.facts;
    return section;
  }

 private:
  const sharing_options options_{};
  data_history history_{0, 1};
  thread_sharing threads_{options_};
};

/// finalize::thread_data_analysis_maker.
inline finalize::thread_data_analysis* make_sharing_analysis() { return new sharing_analysis; }

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
