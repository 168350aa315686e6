#ifndef WHYWAIT_FINALIZE_FAIL_CHECK_HPP
#define WHYWAIT_FINALIZE_FAIL_CHECK_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/settings.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/finalize/exit_status.hpp>
#include <whywait/report/fail_rule.hpp>
#include <whywait/report/plain_result.hpp>

#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// WHYWAIT_FAIL of rank 0. What cannot be read is reported at once, and the run fails.
inline void expect_check(const core::settings& wanted) {
  if (wanted.fail == nullptr) return;
  const std::string problem = reports::parse_fail_rules(wanted.fail).problem;
  if (!problem.empty()) core::warn("WHYWAIT_FAIL: ", problem.c_str(), "\n  the run counts as failed, with status 3");
  exit_status::expect_check();
  if (!problem.empty()) exit_status::has_reason();
}

/// Compares a run with the conditions of WHYWAIT_FAIL. Each that holds gives one line. The result is used up.
inline void check_conditions(const char* conditions, reports::result&& result) {
  const reports::fail_rules rules = reports::parse_fail_rules(conditions);
  if (!rules.problem.empty()) return;
  const base::vector<std::string> broken = reports::broken_rules(rules, reports::plain(std::move(result)));
  for (const std::string& why : broken) core::warn("WHYWAIT_FAIL: ", why.c_str(), "; this process ends with status 3");
  if (broken.empty()) exit_status::passed();
  else exit_status::has_reason();
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
