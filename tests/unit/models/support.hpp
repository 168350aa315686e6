#ifndef WHYWAIT_TESTS_UNIT_MODELS_SUPPORT_HPP
#define WHYWAIT_TESTS_UNIT_MODELS_SUPPORT_HPP

#include <whywait/models/composition.hpp>
#include <whywait/models/error.hpp>
#include <whywait/models/random.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace test {

inline bool near(double a, double b, double relative = 1e-9) {
  return std::fabs(a - b) <= relative * std::max(std::fabs(a), std::fabs(b)) + 1e-300;
}

/// Returns the error number, such as "whywait-P003"; empty if nothing is thrown.
template <class F>
std::string number_of_error(F&& f) {
  try {
    f();
  } catch (const whywait::models::prediction_error& e) {
    return whywait::models::prediction_error::number(e.code());
  }
  return {};
}

/// A random structured program of about `size` tasks. With `headed`, every fork, choice and loop has a task before and
/// after it and two or three branches, as in real programs; otherwise forks are nested and of any width.
inline whywait::models::composition random_program(whywait::models::random_source& r, int size, bool headed) {
  using whywait::models::composition;
  if (size <= 1) return composition::task();
  const double u = r.uniform();
  if (headed && u >= 0.35) size = std::max(2, size - 2);
  if (u < 0.08 + (headed ? 0.35 : 0.0) && u >= (headed ? 0.35 : 0.0) && size > 2) {
    const composition body = random_program(r, size - 1, headed);
    const composition loop =
        composition::loop(headed ? composition::sequence({composition::task(), body}) : body, 0.1 + 0.4 * r.uniform());
    return headed ? composition::sequence({loop, composition::task()}) : loop;
  }
  const int parts = 2 + static_cast<int>(r.below(size > 3 ? (headed ? 2 : 3) : 1));
  std::vector<composition> all;
  std::vector<double> weights;
  double sum = 0.0;
  for (int i = 0, left = size; i != parts; ++i) {
    const int most = std::max(1, 2 * left / (parts - i));
    const int mine = i + 1 == parts ? left : std::max(1, static_cast<int>(r.below(static_cast<std::uint32_t>(most))));
    left = std::max(1, left - mine);
    all.push_back(random_program(r, mine, headed));
    weights.push_back(0.2 + r.uniform());
    sum += weights.back();
  }
  for (double& w : weights) w /= sum;
  if (u < (headed ? 0.35 : 0.5)) return composition::sequence(all);
  const composition inner = u < 0.65 ? composition::choice(all, weights) : composition::together(all);
  return headed ? composition::sequence({composition::task(), inner, composition::task()}) : inner;
}

}  // namespace test

#endif
