// A module with marks only: a linked library, and a plugin with thread-local data of its own. It has no recorder.
#include <whywait/record.hpp>

#include "light.hpp"

#ifdef OWN_THREAD_LOCAL
// More than the loader keeps in reserve: a module that needs the static TLS block can not be loaded then.
static thread_local volatile char own_data[8192];
#endif

extern "C" __attribute__((visibility("default"))) light_facts LIGHT_FACTS();

extern "C" light_facts LIGHT_FACTS() {
  light_facts facts{};
#ifdef OWN_THREAD_LOCAL
  own_data[0] = 1;
#endif
  for (int i = 0; i < 3; ++i) {
    WHYWAIT_REGION("light region");
    WHYWAIT_BLOCK("light block");
    WHYWAIT_WORK(2);
    WHYWAIT_NEXT("light next");
  }
  whywait::begin("light begin");
  whywait::visit("light visit");
  whywait::end("light begin");
  if (const auto offset = whywait::record::detail::here_offset()) {
    const whywait::record::path_head* const at = whywait::record::detail::head_at(offset);
    facts.location = at->owner;
    facts.fast = at->enters_fast();
  }
  return facts;
}
