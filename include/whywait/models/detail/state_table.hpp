#ifndef WHYWAIT_MODELS_DETAIL_STATE_TABLE_HPP
#define WHYWAIT_MODELS_DETAIL_STATE_TABLE_HPP

#include <cstdint>
#include <cstring>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {
namespace detail {

template <class Unit>
std::uint64_t hash_units(const Unit* key, std::size_t units) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i != units; ++i) {
    h = (h ^ key[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h ^ h >> 29;
}

/// Numbers keys of a fixed number of units in order of insertion, by open addressing with 32-bit numbers. The keys are
/// stored consecutively in a vector that the caller may own.
template <class Unit>
class number_table {
 public:
  explicit number_table(std::size_t units) : units_(units), slots_(64, vacant) {}

  std::size_t size() const noexcept { return size_; }

  /// The number of a key; new keys get the next number.
  std::uint32_t insert(const Unit* key, std::vector<Unit>& keys) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_units(key, units_) & mask;
    for (; slots_[at] != vacant; at = (at + 1) & mask)
      if (std::memcmp(keys.data() + slots_[at] * units_, key, units_ * sizeof(Unit)) == 0) return slots_[at];
    const std::uint32_t number = static_cast<std::uint32_t>(size_++);
    slots_[at] = number;
    keys.insert(keys.end(), key, key + units_);
    if (size_ * 5 > slots_.size() * 3) grow(keys);
    return number;
  }

 private:
  static constexpr std::uint32_t vacant = 0xffffffffu;

  void grow(const std::vector<Unit>& keys) {
    std::vector<std::uint32_t> wider(slots_.size() * 2, vacant);
    const std::size_t mask = wider.size() - 1;
    for (std::uint32_t n = 0; n != size_; ++n) {
      std::size_t at = hash_units(keys.data() + n * units_, units_) & mask;
      while (wider[at] != vacant) at = (at + 1) & mask;
      wider[at] = n;
    }
    slots_.swap(wider);
  }

  std::size_t units_;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> slots_;
};

/// A number_table that owns its keys.
class state_table {
 public:
  explicit state_table(std::size_t words) : words_(words), table_(words) {}

  std::size_t size() const noexcept { return table_.size(); }
  const std::uint64_t* key(std::size_t number) const noexcept { return keys_.data() + number * words_; }
  std::uint32_t insert(const std::uint64_t* key) { return table_.insert(key, keys_); }

 private:
  std::size_t words_;
  number_table<std::uint64_t> table_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace detail
}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
