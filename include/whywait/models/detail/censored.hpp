#ifndef WHYWAIT_MODELS_DETAIL_CENSORED_HPP
#define WHYWAIT_MODELS_DETAIL_CENSORED_HPP

#include <cstddef>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {
namespace detail {

/// I - P of a small transient chain with exits, factored by the elimination of Grassmann, Taksar and Heyman (1985).
/// Diagonals are sums of outflows instead of 1 - p, so that there is no cancellation even for rare exits.
class censored_chain {
 public:
  censored_chain() = default;
  explicit censored_chain(std::size_t n) : n_(n), p_(n * n, 0.0), leave_(n, 0.0) {}

  std::size_t size() const noexcept { return n_; }
  double& jump(std::size_t from, std::size_t to) noexcept { return p_[from * n_ + to]; }
  double& leave(std::size_t from) noexcept { return leave_[from]; }

  /// Returns false if some state cannot leave, because the system then has no solution.
  bool factor() noexcept {
    for (std::size_t k = n_; k-- > 0;) {
      double sum = leave_[k];
      for (std::size_t j = 0; j != k; ++j) sum += p_[k * n_ + j];
      if (!(sum > 0.0)) return false;
      p_[k * n_ + k] = sum;
      for (std::size_t i = 0; i != k; ++i) {
        const double share = p_[i * n_ + k] / sum;
        if (!(share > 0.0)) continue;
        for (std::size_t j = 0; j != k; ++j) p_[i * n_ + j] += share * p_[k * n_ + j];
        leave_[i] += share * leave_[k];
      }
    }
    return true;
  }

  /// y = b + y P, the visits to each state, given arrivals b from outside.
  void visits(std::vector<double>& b) const noexcept {
    for (std::size_t k = n_; k-- > 0;) {
      const double share = b[k] / p_[k * n_ + k];
      for (std::size_t j = 0; j != k; ++j) b[j] += share * p_[k * n_ + j];
    }
    for (std::size_t k = 0; k != n_; ++k) {
      double sum = b[k];
      for (std::size_t i = 0; i != k; ++i) sum += b[i] * p_[i * n_ + k];
      b[k] = sum / p_[k * n_ + k];
    }
  }

  /// t = c + P t, the total until the exit, given c at every visit.
  void gathered(std::vector<double>& c) const noexcept {
    for (std::size_t k = n_; k-- > 0;)
      for (std::size_t i = 0; i != k; ++i) c[i] += p_[i * n_ + k] * c[k] / p_[k * n_ + k];
    for (std::size_t k = 0; k != n_; ++k) {
      double sum = c[k];
      for (std::size_t j = 0; j != k; ++j) sum += p_[k * n_ + j] * c[j];
      c[k] = sum / p_[k * n_ + k];
    }
  }

 private:
  std::size_t n_ = 0;
  std::vector<double> p_, leave_;
};

}  // namespace detail
}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
