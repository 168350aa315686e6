// A program with the recorder, and modules with marks only: those are recorded like its own, whether they were loaded
// before or after recording begins.   recorder <plugin> [plugin-first]
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "light.hpp"

namespace {

namespace record = whywait::record;
light_function* plugin = nullptr;
const char* path = nullptr;
int failures = 0;

void check(bool right, const char* what) {
  if (right) return;
  printf("FAILED: %s\n", what);
  ++failures;
}

void load() {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  check(handle != nullptr, handle == nullptr ? dlerror() : "");
  if (handle != nullptr) plugin = reinterpret_cast<light_function*>(dlsym(handle, "plugin_facts"));
}

uint64_t visits(const char* name) {
  uint64_t sum = 0;
  const auto& sites = whywait::core::the_registry()->sites;
  record::this_location()->path.peek(whywait::core::cycle_clock::now(), [&](const whywait::core::path_step& step) {
    if (strcmp(sites[step.block].name, name) == 0) sum += step.visits;
  });
  return sum;
}

void* compare(void*) {
  const light_facts a = library_facts(), b = plugin();
  record::location* const own = record::this_location();
  check(own != nullptr && a.location == own && b.location == own, "modules record in different places");
  check(a.fast && b.fast, "a module takes the slow path");
  check(visits("light region") == 6 && visits("light block") == 6 && visits("light next") == 6, "visits are missing");
  check(visits("light begin") == 2 && visits("light visit") == 2, "visits by name are missing");
  check(own->mismatched_ends == 0 && own->path.depth() == 0, "regions do not pair");
  return own;
}

}  // namespace

int main(int count, char** arguments) {
  path = arguments[1];
  if (count > 2) load();
  check(library_facts().location == nullptr, "the library records before anything listens");
  if (plugin != nullptr) check(plugin().location == nullptr, "the plugin records before anything listens");
  record::listen();
  if (plugin == nullptr) load();
  if (plugin == nullptr) return 1;
  if (count > 3) return 0;  // only what is said at the start
  void* const first = compare(nullptr);
  pthread_t thread;
  void* second = nullptr;
  if (pthread_create(&thread, nullptr, &compare, nullptr) != 0) return 1;
  pthread_join(thread, &second);
  check(first != second, "two threads share a location");
  return failures == 0 ? 0 : 1;
}
