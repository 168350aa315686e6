#include <whywait/base/vector.hpp>
#include <whywait/data/marks/objects.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <thread>

using namespace whywait::data;
namespace core = whywait::core;

namespace {

core::data_object shape_of(core::stable_key key, std::uint64_t bytes) {
  core::data_object o;
  o.key = key;
  o.extent[0] = o.whole[0] = bytes;
  return o;
}
const void* at(std::uint64_t address) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)); }

struct arrays {
  std::unique_ptr<data_objects> all{new data_objects()};
  arrays() { REQUIRE(all->open()); }
  ~arrays() { all->release(); }
  std::uint32_t find(std::uint64_t address) const {
    address_piece around;
    const std::uint32_t n = all->find(at(address), around);
    if (n != 0) {
      CHECK(around.begin <= address);
      CHECK(address < around.end);
    }
    return n;
  }
};

}  // namespace

TEST_CASE("an address is found in the array that holds it, and nowhere else") {
  arrays a;
  CHECK(a.find(1000) == 0);
  const std::uint32_t one = a.all->add(1, at(1000), shape_of(1, 100)), two = a.all->add(2, at(1100), shape_of(2, 50));
  CHECK(one == 1);
  CHECK(two == 2);
  CHECK(a.find(999) == 0);
  CHECK(a.find(1000) == one);
  CHECK(a.find(1099) == one);
  CHECK(a.find(1100) == two);
  CHECK(a.find(1149) == two);
  CHECK(a.find(1150) == 0);
  a.all->remove(one, at(1000));
  CHECK(a.find(1050) == 0);
  CHECK(a.find(1100) == two);
}

TEST_CASE("the same array again is the same number, at the same address or another, registered still or ended") {
  arrays a;
  const std::uint32_t one = a.all->add(1, at(1000), shape_of(7, 100));
  CHECK(a.all->add(1, at(1000), shape_of(7, 100)) == one);
  // registered at two places at once, so there are two arrays
  const std::uint32_t other = a.all->add(1, at(5000), shape_of(7, 100));
  CHECK(other != one);
  a.all->remove(one, at(1000));
  CHECK(a.all->add(1, at(9000), shape_of(7, 100)) == one);
  CHECK(a.find(1000) == 0);
  CHECK(a.find(9000) == one);
  CHECK(a.all->add(1, at(20000), shape_of(7, 200)) != one);  // different shape
  a.all->remove(one, at(1000));                              // the array has moved, so this ends nothing
  CHECK(a.find(9000) == one);
  CHECK(a.all->add(1, at(30000), shape_of(8, 0)) == 0);
  CHECK(a.all->add(1, nullptr, shape_of(8, 5)) == 0);
}

TEST_CASE("registered, ended and overlapping arrays are found like in a plain list, the newest first") {
  const unsigned seed = 20261121;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random); };
  for (unsigned spread : {300u, 3000u, 30000u}) {
    arrays a;
    struct known {
      std::uint32_t number;
      std::uint64_t begin, end;
    };
    whywait::base::vector<known> plain;  // in order of registration
    for (int step = 0; step != 3000; ++step) {
      if (plain.empty() || number(0, 99) < 52) {
        const std::uint64_t begin = 1000 + number(0, spread), size = number(1, 60);
        const std::uint32_t n = a.all->add(1, at(begin), shape_of(number(1, 400), size));
        REQUIRE(n != 0);
        bool there = false;
        for (const known& k : plain) there = there || k.number == n;
        if (!there) plain.push_back({n, begin, begin + size});
      } else {
        const std::size_t i = number(0, static_cast<unsigned>(plain.size()) - 1);
        a.all->remove(plain[i].number, at(plain[i].begin));
        plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(i));
      }
      for (int look = 0; look != 20; ++look) {
        const std::uint64_t address = 990 + number(0, spread + 80);
        std::uint32_t expected = 0;
        for (const known& k : plain)
          if (k.begin <= address && address < k.end) expected = k.number;
        REQUIRE(a.find(address) == expected);
      }
    }
    CHECK(a.all->size() > 100);
    CHECK(a.all->refused() == 0);
  }
}

TEST_CASE("registrations without a number are counted") {
  arrays a;
  for (std::uint32_t i = 1; i < data_objects::capacity + 5; ++i) a.all->add(1, at(std::uint64_t{i} * 100), shape_of(i, 100));
  CHECK(a.all->refused() == 5);
  CHECK(a.find(std::uint64_t{data_objects::capacity - 1} * 100) == data_objects::capacity - 1);
  CHECK(a.find(std::uint64_t{data_objects::capacity} * 100) == 0);
}

TEST_CASE("concurrent lookups during registrations find every permanent array and never a wrong one") {
  arrays a;
  for (std::uint64_t i = 1; i != 40; ++i) a.all->add(1, at(i * 1000), shape_of(i, 100));  // permanent arrays
  bool stop = false;
  whywait::base::vector<std::uint64_t> wrong(2), looks(2);
  whywait::base::vector<std::thread> readers;
  for (std::size_t t = 0; t != 2; ++t)
    readers.emplace_back([&, t] {
      for (std::uint64_t i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED) || looks[t] < 1000; i = i % 39 + 1, ++looks[t]) {
        address_piece around;
        if (a.all->find(at(i * 1000 + 7), around) != i || around.begin != i * 1000 || around.end != i * 1000 + 100) ++wrong[t];
        const std::uint32_t passing = a.all->find(at(i * 1000 + 507), around);
        if (passing != 0 && (around.begin != i * 1000 + 500 || around.end != i * 1000 + 550 || passing < 40)) ++wrong[t];
      }
    });
  std::mt19937 random(5);
  for (int step = 0; step != 20000; ++step) {
    const std::uint64_t i = std::uniform_int_distribution<std::uint64_t>(1, 39)(random);
    const std::uint32_t n = a.all->add(1, at(i * 1000 + 500), shape_of(100 + i, 50));
    a.all->remove(n, at(i * 1000 + 500));
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (std::thread& t : readers) t.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}
