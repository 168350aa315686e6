#include <whywait/base/key_map.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>

TEST_CASE("a key map finds its entries, also after growing") {
  whywait::base::key_map map;
  std::map<std::uint64_t, std::uint32_t> plain;
  std::mt19937_64 random(3);
  CHECK(map.find(1) == whywait::base::key_map::none);
  for (std::uint32_t i = 0; i != 5000; ++i) {
    const std::uint64_t key = 1 + random() % 3000;
    const auto known = plain.find(key);
    const std::uint32_t got = map.intern(key, i);
    if (known == plain.end()) {
      CHECK(got == i);
      plain[key] = i;
    } else {
      CHECK(got == known->second);
    }
  }
  CHECK(map.size() == plain.size());
  for (std::uint64_t key = 1; key != 3100; ++key) {
    const auto known = plain.find(key);
    CHECK(map.find(key) == (known == plain.end() ? whywait::base::key_map::none : known->second));
  }
}

TEST_CASE("a key map no longer finds erased entries but all others") {
  whywait::base::key_map map;
  std::map<std::uint64_t, std::uint32_t> plain;
  std::mt19937_64 random(7);
  map.erase(4);  // erases nothing
  for (std::uint32_t i = 0; i != 20000; ++i) {
    const std::uint64_t key = 1 + random() % 60;
    if (random() % 2 == 0) {
      map.erase(key);
      plain.erase(key);
    } else {
      CHECK(map.intern(key, i) == plain.emplace(key, i).first->second);
    }
    CHECK(map.size() == plain.size());
    const std::uint64_t other = 1 + random() % 60;
    const auto known = plain.find(other);
    CHECK(map.find(other) == (known == plain.end() ? whywait::base::key_map::none : known->second));
  }
}
