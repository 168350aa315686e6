#include <whywait/mpi/flat_map.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <map>
#include <random>

using whywait::mpi::flat_map;

TEST_CASE("a flat map agrees with std::map under random insertions and removals") {
  flat_map map;
  std::map<std::uint64_t, std::uint32_t> truth;
  std::mt19937_64 random(5);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const std::uint64_t key = random() % 700 * 0x100000000u;  // many neighbours after hashing
    if (random() % 3 != 0) {
      REQUIRE(map.set(key, i));
      truth[key] = i;
    } else {
      map.erase(key);
      truth.erase(key);
    }
    REQUIRE(map.size() == truth.size());
    const std::uint64_t probe = random() % 700 * 0x100000000u;
    const auto known = truth.find(probe);
    const std::uint32_t* found = map.find(probe);
    REQUIRE((found != nullptr) == (known != truth.end()));
    if (found != nullptr) REQUIRE(*found == known->second);
  }
  for (const auto& entry : truth) {
    REQUIRE(map.find(entry.first) != nullptr);
    CHECK(*map.find(entry.first) == entry.second);
  }
  map.release();
}

TEST_CASE("an empty flat map finds nothing and forgets nothing") {
  flat_map map;
  CHECK(map.find(0) == nullptr);
  map.erase(0);
  CHECK(map.set(0, 7));  // zero is an ordinary key
  CHECK(*map.find(0) == 7);
  map.release();
}
