#include <whywait/report/code_place.hpp>

#include <doctest/doctest.h>

#include <gnu/libc-version.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace whywait::reports;

namespace {
int here() { return 7; }
}  // namespace

TEST_CASE("code of the program is named by the program and its own numbering") {
  const module_offset one = module_offset_of(reinterpret_cast<const void*>(&here));
  CHECK(std::string(one.module) == std::string(program_invocation_short_name));
  CHECK(one.offset > 0);
  const char* const next = reinterpret_cast<const char*>(&here) + 1;
  CHECK(module_offset_of(next).offset == one.offset + 1);
  CHECK(here() == 7);
}

TEST_CASE("code of a library is named by the library") {
  // a function that no sanitizer replaces by one of the program
  const module_offset where = module_offset_of(reinterpret_cast<const void*>(&gnu_get_libc_version));
  CHECK(std::strstr(where.module, "libc") != nullptr);
}

TEST_CASE("an address of no module keeps its value") {
  int local = 0;
  const module_offset where = module_offset_of(&local);  // the stack belongs to no file
  CHECK(where.module[0] == '\0');
  CHECK(where.offset == reinterpret_cast<std::uintptr_t>(&local));
}
