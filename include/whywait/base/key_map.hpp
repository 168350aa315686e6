#ifndef WHYWAIT_BASE_KEY_MAP_HPP
#define WHYWAIT_BASE_KEY_MAP_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace base {

/// Maps 64-bit keys to 32-bit numbers: open addressing with linear probing. Key 0 is reserved. A lookup costs one or
/// two cache lines. Not thread safe; throws std::bad_alloc. This is the hash table of the cold rooms that mpi.hpp
/// reaches, because boost::unordered_flat_map takes 1.2 s instead of 0.05 s to include (g++ 12), for similar lookup
/// times.
class key_map {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  key_map() noexcept = default;
  explicit key_map(base::memory_pool& pool) noexcept : slots_(pool) {}

  /// The number of `key`, or `none`.
  std::uint32_t find(std::uint64_t key) const noexcept {
    if (slots_.empty()) return none;
    for (std::size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].key == 0) return none;
    }
  }

  /// The number of `key`; a new key gets `fresh`.
  std::uint32_t intern(std::uint64_t key, std::uint32_t fresh) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    for (std::size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].key == 0) {
        slots_[i] = {key, fresh};
        ++count_;
        return fresh;
      }
    }
  }

  /// Removes `key` if it is present.
  void erase(std::uint64_t key) noexcept {
    if (slots_.empty()) return;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = start(key);
    for (; slots_[at].key != key; at = (at + 1) & mask) {
      if (slots_[at].key == 0) return;
    }
    // Later keys of the same probe sequence move up.
    for (std::size_t i = (at + 1) & mask; slots_[i].key != 0; i = (i + 1) & mask) {
      if (((i - start(slots_[i].key)) & mask) < ((i - at) & mask)) continue;
      slots_[at] = slots_[i];
      at = i;
    }
    slots_[at] = {};
    --count_;
  }

  std::size_t size() const noexcept { return count_; }

 private:
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };

  std::size_t start(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(core::spread(key) >> 20) & (slots_.size() - 1);
  }

  void grow() {
    base::pod_vector<slot> old = slots_.sibling();
    old.swap(slots_);
    slots_.resize(old.empty() ? 16 : old.size() * 2);
    for (const slot& s : old) {
      if (s.key == 0) continue;
      std::size_t i = start(s.key);
      while (slots_[i].key != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = s;
    }
  }

  base::pod_vector<slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
