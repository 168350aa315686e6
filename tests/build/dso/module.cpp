// Compiled into the linked library (as library_facts) and into the plugin (as plugin_facts).
#include <whywait/record.hpp>

#include "module.hpp"

extern "C" __attribute__((visibility("default"))) module_facts MODULE_FACTS();

extern "C" module_facts MODULE_FACTS() {
  WHYWAIT_REGION("shared");
  whywait::core::registry* const here = whywait::core::the_registry();
  return {here, whywait::record::this_location(),
          here->sites.intern(whywait::core::site_kind::region, "shared", "shared.cpp", 1), goes_fast()};
}
