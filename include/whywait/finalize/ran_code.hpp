#ifndef WHYWAIT_FINALIZE_RAN_CODE_HPP
#define WHYWAIT_FINALIZE_RAN_CODE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/site.hpp>
#include <whywait/finalize/process_records.hpp>

#include <cstddef>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Lists the numbers of the code blocks that ran in this process, each once.
inline base::pod_vector<std::uint32_t> code_that_ran(const process_records& all) {
  base::pod_vector<std::uint32_t> ran;
  base::pod_vector<bool> known;
  for (const core::location_history& l : all.history.locations) {
    for (std::uint64_t i = 0; i != l.steps.size(); ++i) {
      const std::uint32_t block = l.steps[i].block;
      if (block < core::site_table::capacity || core::counted_step::is(l.steps[i])) continue;
      const std::size_t at = block - core::site_table::capacity;
      if (at >= known.size()) known.resize(at + 1);
      if (!known[at]) ran.push_back(block);
      known[at] = true;
    }
  }
  return ran;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
