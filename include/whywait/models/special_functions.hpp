#ifndef WHYWAIT_MODELS_SPECIAL_FUNCTIONS_HPP
#define WHYWAIT_MODELS_SPECIAL_FUNCTIONS_HPP

#include <math.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace whywait {
inline namespace v0 {
namespace models {

/// ln Gamma(x) without the global `signgam` of std::lgamma, which is not thread-safe.
inline double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// I_x(a,b), the distribution function of the beta distribution; continued fraction of DLMF 8.17.22 by Lentz's method.
inline double beta_function(double a, double b, double x) noexcept {
  if (!(x > 0.0)) return 0.0;
  if (!(x < 1.0)) return 1.0;
  if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - beta_function(b, a, 1.0 - x);
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x)) / a;
  constexpr double tiny = 1e-300;
  double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (std::fabs(d) < tiny ? tiny : d);
  double f = d;
  for (int m = 1; m != 20000; ++m) {
    const double k = m;
    double step = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
    for (int half = 0; half != 2; ++half) {
      d = 1.0 + step * d;
      d = 1.0 / (std::fabs(d) < tiny ? tiny : d);
      c = 1.0 + step / c;
      if (std::fabs(c) < tiny) c = tiny;
      f *= c * d;
      if (half == 1 && std::fabs(c * d - 1.0) < 1e-15) return front * f;
      step = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
    }
  }
  return front * f;
}

/// P(a,x), the distribution function of the gamma distribution; series and continued fraction of DLMF 8.11.4, 8.9.2.
inline double gamma_function(double a, double x) noexcept {
  if (!(x > 0.0)) return 0.0;
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1.0) {
    double term = 1.0 / a, sum = term;
    for (double k = a + 1.0; term > sum * 1e-16 && k < a + 1e6; k += 1.0) sum += term *= x / k;
    return front * sum;
  }
  constexpr double tiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, f = d;
  for (int i = 1; i != 100000; ++i) {
    const double step = -i * (i - a);
    b += 2.0;
    d = step * d + b;
    d = 1.0 / (std::fabs(d) < tiny ? tiny : d);
    c = b + step / c;
    if (std::fabs(c) < tiny) c = tiny;
    f *= c * d;
    if (std::fabs(c * d - 1.0) < 1e-15) break;
  }
  return 1.0 - front * f;
}

/// Mean of the minimum of two independent times, and mean of its square.
struct minimum {
  double mean = 0.0, square = 0.0;
};

/// Both times are gamma distributed, given by mean and squared coefficient of variation. Exact by E[A; A < B] = E[A]
/// P(A' < B), where A' has one more phase and P is a beta probability. Times with cv^2 below 1e-4 are normal to 1e-3 of
/// their deviation (Clark 1961), below 1e-8 constant. About 1 microsecond.
inline minimum minimum_of(double mean_a, double cv2_a, double mean_b, double cv2_b) noexcept {
  constexpr double narrow = 1e-4, constant = 1e-8;
  if (cv2_a > cv2_b) {
    std::swap(mean_a, mean_b);
    std::swap(cv2_a, cv2_b);
  }
  if (cv2_b < constant) {
    const double m = std::min(mean_a, mean_b);
    return {m, m * m};
  }
  const double square_a = mean_a * mean_a * (1.0 + cv2_a), square_b = mean_b * mean_b * (1.0 + cv2_b);
  if (cv2_b < narrow) {
    const double s = std::sqrt(cv2_a * mean_a * mean_a + cv2_b * mean_b * mean_b), z = (mean_a - mean_b) / s;
    const double below = 0.5 * std::erfc(z / std::sqrt(2.0)),
                 density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * 3.14159265358979323846);
    return {mean_a * below + mean_b * (1.0 - below) - s * density,
            square_a * below + square_b * (1.0 - below) - (mean_a + mean_b) * s * density};
  }
  const double shape_b = 1.0 / cv2_b, scale_b = mean_b * cv2_b;
  if (cv2_a < narrow * 1e-2) {
    // A is constant relative to B
    const double x = mean_a / scale_b, later = 1.0 - gamma_function(shape_b, x);
    return {mean_a * later + mean_b * gamma_function(shape_b + 1.0, x),
            square_a * later + square_b * gamma_function(shape_b + 2.0, x)};
  }
  const double shape_a = 1.0 / cv2_a, scale_a = mean_a * cv2_a;
  const double x = scale_b / (scale_a + scale_b), y = scale_a / (scale_a + scale_b);
  return {mean_a * beta_function(shape_a + 1.0, shape_b, x) + mean_b * beta_function(shape_b + 1.0, shape_a, y),
          square_a * beta_function(shape_a + 2.0, shape_b, x) + square_b * beta_function(shape_b + 2.0, shape_a, y)};
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
