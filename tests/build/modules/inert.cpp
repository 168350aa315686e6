// A program without whywait, whose libraries contain marks: they do nothing.   inert <plugin>
#include <dlfcn.h>
#include <stdio.h>

#include "light.hpp"

int main(int, char** arguments) {
  void* const handle = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return printf("FAILED: %s\n", dlerror()), 1;
  auto* const plugin = reinterpret_cast<light_function*>(dlsym(handle, "plugin_facts"));
  if (library_facts().location != nullptr || plugin().location != nullptr) return printf("FAILED: not inert\n"), 1;
  return dlclose(handle);
}
