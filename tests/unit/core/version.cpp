#include <whywait/core/version.hpp>

#include <doctest/doctest.h>

TEST_CASE("the version as a value and the version as macros are the same") {
  constexpr whywait::core::version_number here = whywait::core::version();
  static_assert(here.major_part == WHYWAIT_VERSION_MAJOR);
  CHECK(here.minor_part == WHYWAIT_VERSION_MINOR);
  CHECK(here.patch_part == WHYWAIT_VERSION_PATCH);
}

TEST_CASE("the version orders releases: no part is negative or reaches a thousand") {
  constexpr whywait::core::version_number here = whywait::core::version();
  const int parts[] = {here.major_part, here.minor_part, here.patch_part};
  for (const int part : parts) {
    CHECK(part >= 0);
    CHECK(part < 1000);
  }
}
