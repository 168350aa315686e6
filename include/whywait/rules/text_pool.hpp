#ifndef WHYWAIT_RULES_TEXT_POOL_HPP
#define WHYWAIT_RULES_TEXT_POOL_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Every distinct text once, numbered from 0, which is the empty text. Rules compare the numbers. A number fits a double,
/// so that each value of an event is eight bytes. Not thread safe.
class text_pool {
 public:
  static constexpr std::size_t most_bytes = std::size_t(64) << 20;
  static constexpr std::uint32_t none = 0xffffffff;

  text_pool() { intern({}); }

  /// The number of a text, `none` once the pool holds `most_bytes`. O(length).
  [[gnu::noinline]] std::uint32_t intern(std::string_view text) {
    std::uint64_t key = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : text) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    for (key = core::combine(key, 0);; key = core::combine(key, 1)) {  // of texts with one hash each takes the next key
      const std::uint32_t number = numbers_.find(key);
      if (number == base::key_map::none) break;
      if (texts_[number] == text) return number;
    }
    if (bytes_ + text.size() + 64 > most_bytes) return none;
    bytes_ += text.size() + 64;
    texts_.push_back(std::string(text));
    return numbers_.intern(key, static_cast<std::uint32_t>(texts_.size() - 1));
  }
  /// Good until the next text is added.
  const std::string& operator[](double number) const noexcept {
    const auto index = static_cast<std::size_t>(number);
    return texts_[index < texts_.size() ? index : 0];
  }

 private:
  base::vector<std::string> texts_;
  base::key_map numbers_;
  std::size_t bytes_ = 0;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
