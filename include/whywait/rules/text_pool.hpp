#ifndef WHYWAIT_RULES_TEXT_POOL_HPP
#define WHYWAIT_RULES_TEXT_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

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
  text_pool(const text_pool& other) : text_pool() {
    for (const std::string& text : other.texts_) intern(text);
  }
  text_pool(text_pool&&) = default;
  text_pool& operator=(const text_pool&) = delete;
  text_pool& operator=(text_pool&&) = default;

  /// The number of a text, `none` once the pool holds `most_bytes`. O(length).
  std::uint32_t intern(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    if (bytes_ + text.size() + 64 > most_bytes) return none;
    bytes_ += text.size() + 64;
    texts_.emplace_back(text);
    const auto number = static_cast<std::uint32_t>(texts_.size() - 1);
    numbers_.emplace(texts_.back(), number);
    return number;
  }
  const std::string& operator[](double number) const noexcept {
    const auto index = static_cast<std::size_t>(number);
    return texts_[index < texts_.size() ? index : 0];
  }

 private:
  std::deque<std::string> texts_;  // views in `numbers_` stay valid
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::size_t bytes_ = 0;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
