#ifndef WHYWAIT_RULES_ADD_HPP
#define WHYWAIT_RULES_ADD_HPP

#include <whywait/rules/own_state.hpp>

#include <cstdlib>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Adds rules to those of this process; `name` stands before line and column in messages. The text is copied and read when
/// the report is made, so this is cheap (a copy) and never fails: mistakes are reported with the report. Any thread; the
/// same text given twice counts once. Without WHYWAIT_DISABLE only.
inline void add(std::string_view text, std::string_view name = "rules::add") noexcept {
#ifndef WHYWAIT_DISABLE
  own_state* const state = the_own_state();
  if (state == nullptr) return;
  added_text* const made = static_cast<added_text*>(malloc(sizeof(added_text)));
  char* const own_text = detail::copy_text(text.data(), text.size());
  char* const own_name = detail::copy_text(name.data(), name.size());
  bool known = made == nullptr || own_text == nullptr || own_name == nullptr;
  pthread_mutex_lock(&state->mutex);
  for (const added_text* t = state->texts; t != nullptr && !known; t = t->next) known = text == t->text && name == t->name;
  if (!known) {
    *made = added_text{state->texts, own_name, own_text};
    state->texts = made;
  }
  pthread_mutex_unlock(&state->mutex);
  if (known) {
    free(made);
    free(own_text);
    free(own_name);
  }
#else
  (void)text;
  (void)name;
#endif
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
