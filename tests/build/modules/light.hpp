#ifndef WHYWAIT_TESTS_BUILD_LIGHT_HPP
#define WHYWAIT_TESTS_BUILD_LIGHT_HPP

extern "C" {
struct light_facts {
  const void* location;  // where the calling thread records; null: the marks are inert
  bool fast;             // whether its marks take the fast path
};
light_facts library_facts();
using light_function = light_facts();
}

#endif
