#ifndef WHYWAIT_MODELS_RANDOM_HPP
#define WHYWAIT_MODELS_RANDOM_HPP

#include <cmath>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace models {

/// xoshiro256++ (Blackman and Vigna 2019), seeded by splitmix64. The sequence is the same on every platform.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : s_) {
      std::uint64_t z = seed += 0x9e3779b97f4a7c15u;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t bits() noexcept {
    const std::uint64_t result = rotated(s_[0] + s_[3], 23) + s_[0];
    const std::uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotated(s_[3], 45);
    return result;
  }
  /// Uniform in [0, 1).
  double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Exponential with mean 1.
  double exponential() noexcept { return -std::log1p(-uniform()); }
  /// Uniform in 0 ... n-1, for n much smaller than 2^53.
  std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>(uniform() * n); }

 private:
  static std::uint64_t rotated(std::uint64_t x, int k) noexcept { return x << k | x >> (64 - k); }
  std::uint64_t s_[4];
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
