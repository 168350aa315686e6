#include <whywait/core/stable_key.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

using namespace whywait::core;

// The keys must be equal on every rank and in every version, so the test fixes their values.
static_assert(key_of("") == key_of(nullptr), "no text is the empty text");
static_assert(key_of("main") != key_of("main "), "");
static_assert(combine(1, 2) != combine(2, 1), "order matters");

TEST_CASE("keys keep their values") {
  CHECK(combine(0, 0) == 0x6db6ca64564daeaau);
  CHECK(key_of("main") == 0xee2924ee4171ee9eu);
}

TEST_CASE("small different inputs give different keys, and none is 0") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t a = 0; a < 300; ++a)
    for (std::uint64_t b = 0; b < 300; ++b) keys.insert(combine(a, b));
  CHECK(keys.size() == 90'000);
  CHECK(keys.count(0) == 0);
  std::set<std::uint64_t> texts;
  for (int i = 0; i < 20'000; ++i) texts.insert(key_of(std::to_string(i).c_str()));
  CHECK(texts.size() == 20'000);
}
