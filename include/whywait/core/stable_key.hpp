#ifndef WHYWAIT_CORE_STABLE_KEY_HPP
#define WHYWAIT_CORE_STABLE_KEY_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A 64-bit name for something that means the same on every rank: a region, a call site, a communicator.
/// Never an address (those differ per process), never 0.
using stable_key = uint64_t;

/// 2^64 divided by the golden ratio, odd. An enumerator, because a constant would be in the object code of every file.
enum : uint64_t { spread_factor = 0x9e3779b97f4a7c15u };

/// Multiplicative hash (Fibonacci hashing): the upper bits depend on all bits of `x`. Hash tables take their index from
/// the upper bits. Functions that must not be instrumented multiply by `spread_factor` themselves.
__attribute__((always_inline)) constexpr uint64_t spread(uint64_t x) noexcept { return x * spread_factor; }

/// Mixes two keys, order matters (the finaliser of splitmix64).
constexpr stable_key combine(stable_key first, stable_key second) noexcept {
  uint64_t x = spread(first) + second + 0x632be59bd9b4e019u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x != 0 ? x : 1;
}

/// Key of a text (FNV-1a, then mixed). A null pointer counts as empty.
constexpr stable_key key_of(const char* text) noexcept {
  uint64_t x = 0xcbf29ce484222325u;
  for (; text != nullptr && *text != '\0'; ++text) x = (x ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return combine(x, 0);
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
