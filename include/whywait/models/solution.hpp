#ifndef WHYWAIT_MODELS_SOLUTION_HPP
#define WHYWAIT_MODELS_SOLUTION_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Result of a solver for one run of a program, in the time unit of the machine.
struct solution {
  double mean = 0.0;                ///< expected time to the end
  double variance = 0.0;            ///< variance of the time to the end
  std::vector<double> tasks;        ///< expected completions per class (N in Kapelnikov et al. 1987)
  std::vector<double> parallelism;  ///< share of the time with k tasks active, k = 0, 1, ...
  /// Share of the time per population of the classes; empty unless requested.
  std::vector<std::pair<std::vector<std::uint32_t>, double>> populations;
  /// dT / d ln(mean) per class, then per module. This is the increase of T, in its time unit, per relative slowdown of
  /// all its customers. With one server per customer it is the what-if derivative and sums to the mean (Euler). For
  /// shared stations see demand_gradient.
  std::vector<double> gradient;
  /// The gradient per row of chain::populations, rows times (classes + modules); empty unless requested.
  std::vector<double> row_gradient;
  double leftover = 0.0;  ///< probability of an end with incomplete operand sets
  double capped = 0.0;  ///< probability that the task limit ended the run
  double error = 0.0;  ///< estimated relative error of the mean by iteration; 0 if solved directly
  std::size_t states = 0;
  std::size_t arcs = 0;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
