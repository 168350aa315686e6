#ifndef WHYWAIT_COMPARE_HPP
#define WHYWAIT_COMPARE_HPP

#include <whywait/core/version.hpp>

#include <whywait/comparison/compare_runs.hpp>
#include <whywait/comparison/compare_text.hpp>

#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {

/// Two runs of a program, or two sets of them: what got better or worse, what is new and what is gone, with the noise of
/// repeated runs taken into account, and which predicted savings came true. `comparison::read_run` reads a file that
/// WHYWAIT_OUTPUT wrote; `comparison::run_of` takes the result of `mpi::explain`. With one run a side the noise is assumed
/// (comparison::noise_options); several runs measure it. docs/how-to/compare.md has the rule.
/// Throws comparison::unreadable if a side is empty. Not for the measured part of a program: allocates, up to a few ms.
inline comparison::changes compare(const std::vector<comparison::compared_run>& before,
                                   const std::vector<comparison::compared_run>& after,
                                   const comparison::compare_options& options = {}) {
  return comparison::compare_runs(before, after, options);
}
inline comparison::changes compare(const comparison::compared_run& before, const comparison::compared_run& after,
                                   const comparison::compare_options& options = {}) {
  return comparison::compare_runs({before}, {after}, options);
}

/// The same for results that a program holds (whywait::result), on rank 0.
template <class Result, class = decltype(std::declval<const Result&>().json())>
comparison::changes compare(const Result& before, const Result& after, const comparison::compare_options& options = {}) {
  const comparison::compared_run first = comparison::run_of(before, "before");
  return compare(first, comparison::run_of(after, "after"), options);
}

}  // namespace v0
}  // namespace whywait

#endif
