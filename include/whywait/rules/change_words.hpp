#ifndef WHYWAIT_RULES_CHANGE_WORDS_HPP
#define WHYWAIT_RULES_CHANGE_WORDS_HPP

#include <whywait/base/utf8.hpp>

#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// What to do about the code that made the late side of a wait late: the words before and after its name.
struct change_words {
  std::string_view because, state, change;  ///< of a verdict
  std::string_view spread, over;            ///< of advice; after a blank those that run the code follow

  /// `reason`: of the state; may be empty.
  std::string verdict(const std::string& blocks, const std::string& reason) const {
    const char* const why = reason.empty() ? "" : ", because ";
    return blocks.empty() ? std::string() : base::joined({because, blocks, state, why, reason, change});
  }
  /// `nouns`: of those that run the code.
  std::string advice(const std::string& blocks, std::string_view nouns, const std::string& reason) const {
    const bool why = !reason.empty();
    return base::joined({spread, blocks, over, over.back() == ' ' ? nouns : "", why ? " (" : "", reason, why ? ")" : ""});
  }
};

/// By what made the code late.
inline constexpr change_words uneven_words{" because of ", "", ": evening that out", "spread the work of ",
                                           " evenly over the "};
inline constexpr change_words handed_on_words{", which had waited for others because of ", "",
                                              ": making it shorter or beginning sooner", "spread the work of ",
                                              " evenly over the "};
// Threads of a rank that wait for what another rank sends cannot share its work.
inline constexpr change_words handed_to_threads_words{handed_on_words.because, "", handed_on_words.change, "make ", " shorter"};
inline constexpr change_words marked_wait_words{" because of ", "", ": making it shorter", "make ", " shorter"};
inline constexpr change_words begun_late_words{" because of ", ", which begins late there", ": beginning it sooner", "begin ",
                                               " sooner"};
inline constexpr change_words sleeping_words{" because of ", "", ": evening that out", "find what is waited for in ",
                                             ", asleep or blocked for most of it, or spread that evenly over the "};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
