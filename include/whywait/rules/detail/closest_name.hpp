#ifndef WHYWAIT_RULES_DETAIL_CLOSEST_NAME_HPP
#define WHYWAIT_RULES_DETAIL_CLOSEST_NAME_HPP

#include <whywait/base/pod_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {
namespace detail {

/// Edits (insert, delete, replace, swap of neighbours) from one word to another, `most` + 1 if there are more.
/// Optimal string alignment distance, O(a b).
inline std::size_t edits(std::string_view a, std::string_view b, std::size_t most) {
  const std::size_t far = most + 1;
  if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > most) return far;
  base::pod_vector<std::size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) old[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], older[j - 2] + 1);
    }
    older.swap(old);
    old.swap(now);
  }
  return std::min(old[b.size()], far);
}

/// Collects candidates and keeps the one nearest to a word that is not known; ties keep the first. All borrowed.
class nearest_name {
 public:
  explicit nearest_name(std::string_view word)
      : word_(word.substr(0, 64)), best_(std::min<std::size_t>(1 + word.size() / 3, 4) + 1) {}

  void offer(std::string_view candidate) {
    if (candidate.size() > 64 || best_ == 0) return;
    const std::size_t distance = edits(word_, candidate, best_ - 1);
    if (distance >= best_) return;
    best_ = distance;
    name_ = candidate;
  }

  /// "did you mean send_start_time?", or nothing if no candidate is near.
  std::string hint() const { return name_.empty() ? std::string() : "did you mean " + std::string(name_) + "?"; }

 private:
  std::string_view word_;
  std::size_t best_;
  std::string_view name_;
};

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
