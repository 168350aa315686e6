// One registry per process. The executable, a linked library and a plugin loaded with RTLD_LOCAL must agree on its
// address, on the location of the calling thread and on the number of a region, and their marks must take the fast
// path. Also tested on a second thread, with the plugin loaded first, and with one that is loaded while marks are recorded.
// main <plugin> [plugin-first | plugin-last]
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "module.hpp"

extern "C" module_facts library_facts();

namespace {

int failures = 0;

void expect_equal(const char* what, const module_facts& a, const module_facts& b) {
  if (a.registry == b.registry && a.location == b.location && a.site == b.site && a.fast && b.fast) return;
  printf("FAILED: %s: registry %p %p, location %p %p, site %u %u, fast %d %d\n", what, a.registry, b.registry, a.location,
         b.location, a.site, b.site, a.fast, b.fast);
  ++failures;
}

module_facts own_facts() {
  WHYWAIT_REGION("shared");
  whywait::core::registry* const here = whywait::core::the_registry();
  return {here, whywait::record::this_location(),
          here->sites.intern(whywait::core::site_kind::region, "shared", "shared.cpp", 1), goes_fast()};
}

module_facts_function* plugin = nullptr;

void* compare(void* title) {
  const module_facts in_plugin = plugin();
  expect_equal(static_cast<const char*>(title), own_facts(), in_plugin);
  expect_equal(static_cast<const char*>(title), library_facts(), in_plugin);
  if (in_plugin.registry == nullptr || in_plugin.location == nullptr || in_plugin.site == 0) {
    printf("FAILED: %s: nothing is recorded\n", static_cast<const char*>(title));
    ++failures;
  }
  return const_cast<void*>(in_plugin.location);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool plugin_first = argc > 2 && strcmp(argv[2], "plugin-first") == 0;
  const bool plugin_last = argc > 2 && strcmp(argv[2], "plugin-last") == 0;
  if (!plugin_first) own_facts();
  if (plugin_last) whywait::record::listen();
  void* const handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    printf("FAILED: %s\n", dlerror());
    return 2;
  }
  plugin = reinterpret_cast<module_facts_function*>(dlsym(handle, "plugin_facts"));
  if (plugin == nullptr) return 2;
  if (plugin_first) plugin();
  if (!plugin_last &&
      (own_facts().location != nullptr || library_facts().location != nullptr || plugin().location != nullptr)) {
    printf("FAILED: marks record although nobody listens\n");
    ++failures;
  }
  if (!plugin_last) whywait::record::listen();

  char first_title[] = "first thread", second_title[] = "second thread";
  void* const first = compare(first_title);
  pthread_t thread;
  void* second = nullptr;
  if (pthread_create(&thread, nullptr, &compare, second_title) != 0) return 2;
  pthread_join(thread, &second);
  if (first == second) {
    printf("FAILED: two threads share a location\n");
    ++failures;
  }
  // unloading a plugin must keep the registry
  if (dlclose(handle) != 0) ++failures;
  const module_facts after = own_facts();
  if (after.registry != library_facts().registry || after.location != first) {
    printf("FAILED: the registry changed when the plugin went away\n");
    ++failures;
  }
  if (failures == 0) printf("one registry\n");
  return failures == 0 ? 0 : 1;
}
