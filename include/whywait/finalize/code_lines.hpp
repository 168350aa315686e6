#ifndef WHYWAIT_FINALIZE_CODE_LINES_HPP
#define WHYWAIT_FINALIZE_CODE_LINES_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/coverage/names/code_blocks.hpp>
#include <whywait/coverage/names/code_filter.hpp>
#include <whywait/finalize/ran_code.hpp>
#include <whywait/finalize/team.hpp>

#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Returns whether any rank cannot name its blocks; `why` is the reason of the lowest such rank. Collective.
inline bool any_problem(const coverage::code_blocks& own, const finalize::team& all, std::string& why) {
  const int from = all.lowest_of(!own.problem().empty());
  if (from < 0) return false;
  char text[512] = "";
  own.problem().copy(text, sizeof text - 1);
  all.broadcast(text, sizeof text, from);
  why = text;
  return true;
}

/// The code filter from the settings of rank 0. Collective.
inline coverage::code_filter common_filter(const core::settings& own, const finalize::team& all) {
  std::string patterns = own.coverage != nullptr ? own.coverage : "";
  all.share(patterns);
  return coverage::code_filter(patterns);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
