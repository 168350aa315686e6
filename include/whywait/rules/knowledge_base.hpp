#ifndef WHYWAIT_RULES_KNOWLEDGE_BASE_HPP
#define WHYWAIT_RULES_KNOWLEDGE_BASE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/rules/compiler.hpp>
#include <whywait/rules/problems/balance_problems.hpp>
#include <whywait/rules/problems/collective_problems.hpp>
#include <whywait/rules/problems/event_declarations.hpp>
#include <whywait/rules/problems/memory_problems.hpp>
#include <whywait/rules/problems/message_problems.hpp>
#include <whywait/rules/problems/one_sided_problems.hpp>
#include <whywait/rules/problems/thread_problems.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The built-in knowledge, as text; names in messages begin with "built-in".
struct base_text {
  const char* name;
  const char* text;
};

/// The parts of the built-in knowledge, in order. docs/rules/ has a card for each problem.
inline const base_text* base_texts(std::size_t& count) noexcept {
  static const base_text texts[] = {{"built-in/events", problems::events()},
                                    {"built-in/messages", rules::problems::messages()},
                                    {"built-in/collectives", problems::collectives()},
                                    {"built-in/one_sided", problems::one_sided()},
                                    {"built-in/threads", problems::threads()},
                                    {"built-in/balance", problems::balance()},
                                    {"built-in/memory", problems::memory()}};
  count = sizeof texts / sizeof *texts;
  return texts;
}

namespace detail {

constexpr bool is_of_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The same knowledge about the threads of one process: in what its strings say, outside of {...}, "rank" becomes "thread".
inline std::string about_threads(std::string_view text) {
  constexpr std::string_view noun = "rank";
  std::string out;
  bool quoted = false, comment = false;
  int braces = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#' && !quoted) comment = true;
    if (c == '\n') comment = false;
    if (c == '"' && !comment) quoted = !quoted;
    if (quoted) braces += c == '{' ? 1 : c == '}' ? -1 : 0;
    std::size_t end = i + noun.size();
    if (quoted && braces == 0 && text.substr(i, noun.size()) == noun && (i == 0 || !is_of_word(text[i - 1]))) {
      if (end < text.size() && text[end] == 's') ++end;
      if (end == text.size() || !is_of_word(text[end])) {
        out += end - i == noun.size() ? "thread" : "threads";
        i = end - 1;
        continue;
      }
    }
    out += c;
  }
  return out;
}

}  // namespace detail

/// Adds the built-in knowledge to an empty compiler.
inline void add_base(compiler& into) {
  std::size_t count = 0;
  const base_text* const texts = base_texts(count);
  for (std::size_t i = 0; i < count; ++i)
    into.add(texts[i].name, base::ranks_are_threads() ? detail::about_threads(texts[i].text) : std::string(texts[i].text),
             true);
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
