#ifndef WHYWAIT_RULES_DETAIL_DISTINCT_ROWS_HPP
#define WHYWAIT_RULES_DETAIL_DISTINCT_ROWS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace rules {
namespace detail {

/// Numbers distinct rows of 64-bit words from 0, in order of arrival. Exact despite hashing. O(width) per row, 8 bytes
/// per word and about 30 per row. Not thread safe; throws std::bad_alloc.
class distinct_rows {
 public:
  static constexpr std::uint32_t none = base::key_map::none;

  explicit distinct_rows(std::size_t width) : width_(width) {}

  std::uint32_t size() const noexcept { return count_; }

  /// The number of a row; `size()` before the call for a new one.
  [[gnu::noinline]] std::uint32_t number_of(const void* row) {
    std::uint64_t key = 0;
    const std::uint32_t known = look_for(row, key);
    if (known != none) return known;
    words_.append(static_cast<const unsigned char*>(row), width_ * sizeof(std::uint64_t));
    return numbers_.intern(key, count_++);
  }
  bool has(const void* row) const noexcept {
    std::uint64_t key = 0;
    return look_for(row, key) != none;
  }

 private:
  // Rows with equal hashes take successive keys.
  [[gnu::noinline]] std::uint32_t look_for(const void* row, std::uint64_t& key) const noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(row);
    const std::size_t size = width_ * sizeof(std::uint64_t);
    key = 1;
    for (std::size_t at = 0; at != size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, sizeof word);
      key = core::combine(key, word);
    }
    for (;; key = core::combine(key, 1)) {
      const std::uint32_t number = numbers_.find(key);
      if (number == none || size == 0 || std::memcmp(words_.data() + number * size, bytes, size) == 0) return number;
    }
  }

  std::size_t width_;
  std::uint32_t count_ = 0;
  base::pod_vector<unsigned char> words_;
  base::key_map numbers_;
};

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
