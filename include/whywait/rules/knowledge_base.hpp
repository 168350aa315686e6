#ifndef WHYWAIT_RULES_KNOWLEDGE_BASE_HPP
#define WHYWAIT_RULES_KNOWLEDGE_BASE_HPP

#include <whywait/rules/compiler.hpp>
#include <whywait/rules/problems/balance_problems.hpp>
#include <whywait/rules/problems/collective_problems.hpp>
#include <whywait/rules/problems/event_declarations.hpp>
#include <whywait/rules/problems/message_problems.hpp>
#include <whywait/rules/problems/one_sided_problems.hpp>

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
                                    {"built-in/balance", problems::balance()}};
  count = sizeof texts / sizeof *texts;
  return texts;
}

/// Adds the built-in knowledge to an empty compiler.
inline void add_base(compiler& into) {
  std::size_t count = 0;
  const base_text* const texts = base_texts(count);
  for (std::size_t i = 0; i < count; ++i) into.add(texts[i].name, texts[i].text, true);
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
