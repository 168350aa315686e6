#ifndef WHYWAIT_MODELS_SOLUTION_HPP
#define WHYWAIT_MODELS_SOLUTION_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// What a solver says about one run of a program, in the time unit of the machine.
struct solution {
  double mean = 0.0;                ///< expected time to the end
  double variance = 0.0;            ///< of the time to the end
  std::vector<double> tasks;        ///< expected completions per class (N of the report)
  std::vector<double> parallelism;  ///< share of the time with k tasks active, k = 0, 1, ...
  /// Share of the time per population of the classes; empty if it was not asked for.
  std::vector<std::pair<std::vector<std::uint32_t>, double>> populations;
  /// dT / d ln(mean) per class, then per module: the seconds that come if all its customers become slower by e.
  /// With servers of their own this is the what-if derivative; it sums to the mean (Euler). With shared stations
  /// see demand_gradient.
  std::vector<double> gradient;
  /// The same per row of chain::populations, rows times (classes + modules); empty if it was not asked for.
  std::vector<double> row_gradient;
  double leftover = 0.0;  ///< probability of an end with incomplete operand sets
  double capped = 0.0;    ///< probability that the cap on tasks cut the run off
  double error = 0.0;     ///< estimated relative error of the mean by iteration; 0: solved directly
  std::size_t states = 0;
  std::size_t arcs = 0;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
