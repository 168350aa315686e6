#include <whywait/mpi/call_sites.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <vector>

using namespace whywait::mpi;
using whywait::core::mpi_call;

namespace {
struct fake_path {
  std::vector<std::uint32_t> open;
  std::uint64_t path() const {
    std::uint64_t key = 1;
    for (std::uint32_t region : open) key = whywait::core::combine(key, region);
    return key;
  }
  std::uint32_t depth() const { return static_cast<std::uint32_t>(open.size()); }
  std::uint32_t open_region(std::uint32_t level) const { return open[level]; }
};
const void* address(std::uintptr_t n) { return reinterpret_cast<const void*>(n); }
}  // namespace

TEST_CASE("a call site is identified by address, open regions and call") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}}, main_only{{5}}, exchange{{5, 9}};
  const auto a = table.find_or_add(address(16), mpi_call::Send, outside);
  CHECK(a == 1);
  CHECK(table.find_or_add(address(16), mpi_call::Send, outside) == a);
  const auto b = table.find_or_add(address(16), mpi_call::Send, main_only);
  const auto c = table.find_or_add(address(16), mpi_call::Send, exchange);
  const auto d = table.find_or_add(address(17), mpi_call::Send, exchange);
  const auto e = table.find_or_add(address(17), mpi_call::Recv, exchange);
  CHECK(table.size() == 6);
  CHECK(b != a);
  CHECK(c != b);
  CHECK(d != c);
  CHECK(e != d);
  REQUIRE(table[c].depth == 2);
  CHECK(table.region(table[c], 0) == 5);
  CHECK(table.region(table[c], 1) == 9);
  CHECK(table[e].call == mpi_call::Recv);
  table.release();
}

TEST_CASE("beyond its capacity all call sites are number 0 and old ones are still found") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  for (std::uintptr_t i = 1; i < call_site_table::capacity; ++i)
    REQUIRE(table.find_or_add(address(i * 8), mpi_call::Send, outside) == i);
  CHECK(table.find_or_add(address(0x7fffffff), mpi_call::Send, outside) == 0);
  CHECK(table.find_or_add(address(8), mpi_call::Send, outside) == 1);
  CHECK(table.find_or_add(address(8 * 65535), mpi_call::Send, outside) == 65535);
  table.release();
}

TEST_CASE("only the outermost regions of a deep stack are kept") {
  call_site_table table;
  REQUIRE(table.open());
  fake_path deep;
  for (std::uint32_t i = 0; i < 200; ++i) deep.open.push_back(i + 2);
  const auto n = table.find_or_add(address(1), mpi_call::Wait, deep);
  CHECK(table[n].depth == call_site_table::most_depth);
  CHECK(table.region(table[n], 63) == 65);
  table.release();
}

TEST_CASE("counting a call finds its site and adds up calls and time, also of the sites beyond capacity") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}}, inside{{5}};
  const auto a = table.count(address(16), mpi_call::Send, outside, 10);
  CHECK(a != 0);
  CHECK(table.count(address(16), mpi_call::Send, inside, 7) != a);
  CHECK(table.count(address(16), mpi_call::Send, outside, 5) == a);
  CHECK(table.count(address(16), mpi_call::Send, outside, 0) == a);
  CHECK(table[a].count == 3);
  CHECK(table[a].ticks == 15);
  for (std::uintptr_t i = 3; i < call_site_table::capacity; ++i) table.find_or_add(address(i * 8), mpi_call::Recv, outside);
  CHECK(table.count(address(1), mpi_call::Recv, outside, 4) == 0);
  CHECK(table[0].count == 1);
  CHECK(table[0].ticks == 4);
  table.release();
}
