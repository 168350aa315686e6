#ifndef WHYWAIT_BASE_PAIR_CACHE_HPP
#define WHYWAIT_BASE_PAIR_CACHE_HPP

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace base {

/// Remembers what was found out about the last pairs of numbers, for walks through records: most records are of few call sites
/// in turn. Direct-mapped, 2^Bits entries inline. Not thread safe.
template <class Value, unsigned Bits>
class pair_cache {
 public:
  /// The value of a pair; find(first, second) computes it unless it is remembered. The pair (2^32 - 1, 2^32 - 2) is none.
  /// Valid until the next call.
  template <class Find>
  __attribute__((always_inline)) const Value& operator()(std::uint32_t first, std::uint32_t second, Find&& find) {
    entry& e = entries_[((first * 0x9e3779b1u) ^ (second * 0x85ebca6bu)) >> (32 - Bits)];
    if (__builtin_expect(e.first != first || e.second != second, 0)) {
      e.value = find(first, second);
      e.first = first;
      e.second = second;
    }
    return e.value;
  }

 private:
  struct entry {
    std::uint32_t first = 0xffffffffu, second = 0xfffffffeu;
    Value value{};
  };
  entry entries_[std::size_t{1} << Bits];
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
