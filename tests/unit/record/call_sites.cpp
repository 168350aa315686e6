#include <whywait/record/call_sites.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <vector>

using whywait::core::mpi_call;
using whywait::record::call_site;
using whywait::record::call_site_table;
using whywait::record::found_caller;

namespace {
struct fake_path {
  std::vector<std::uint32_t> open;
  std::uint64_t path() const {
    std::uint64_t key = 1;
    for (std::uint32_t region : open) key = whywait::core::combine(key, region);
    return key;
  }
  bool knows_path() const { return open.size() % 2 == 0; }  // without: another way to the same site
  std::uint32_t depth() const { return static_cast<std::uint32_t>(open.size()); }
  std::uint32_t open_region(std::uint32_t level) const { return open[level]; }
};
const void* address(std::uintptr_t n) { return reinterpret_cast<const void*>(n); }

// A call whose function has no caller, as without unwind tables.
struct only_address {
  const void* address;
  const void* read(const call_site::return_slot&) const { return nullptr; }
  found_caller find(std::uint32_t) const { return {}; }
};
only_address from(std::uintptr_t n) { return {address(n)}; }

// A call from `address`. The word that lies on the stack where the caller is expected is `word`; the unwinder says `truth`.
struct fake_frame {
  const void* address;
  const void* word;
  const void* truth;
  std::uint16_t offset = 24;
  int* unwound = nullptr;

  const void* read(const call_site::return_slot& slot) const {
    return slot.base == call_site::return_slot::none ? nullptr : word;
  }
  found_caller find(std::uint32_t) const {
    if (unwound != nullptr) ++*unwound;
    if (truth == nullptr) return {};
    return {truth, {offset, call_site::return_slot::frame}};
  }
};
fake_frame called_from(std::uintptr_t caller, int* unwound = nullptr) {
  return {address(16), address(caller), address(caller), 24, unwound};
}
}  // namespace

TEST_CASE("a call site is identified by address, open regions and call") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}}, main_only{{5}}, exchange{{5, 9}};
  const auto a = table.find_or_add(from(16), mpi_call::Send, outside);
  CHECK(a == 1);
  CHECK(table.find_or_add(from(16), mpi_call::Send, outside) == a);
  const auto b = table.find_or_add(from(16), mpi_call::Send, main_only);
  const auto c = table.find_or_add(from(16), mpi_call::Send, exchange);
  const auto d = table.find_or_add(from(17), mpi_call::Send, exchange);
  const auto e = table.find_or_add(from(17), mpi_call::Recv, exchange);
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
    REQUIRE(table.find_or_add(from(i * 8), mpi_call::Send, outside) == i);
  CHECK(table.find_or_add(from(0x7fffffff), mpi_call::Send, outside) == 0);
  CHECK(table.find_or_add(from(8), mpi_call::Send, outside) == 1);
  CHECK(table.find_or_add(from(8 * 65535), mpi_call::Send, outside) == 65535);
  table.release();
}

TEST_CASE("only the outermost regions of a deep stack are kept") {
  call_site_table table;
  REQUIRE(table.open());
  fake_path deep;
  for (std::uint32_t i = 0; i < 200; ++i) deep.open.push_back(i + 2);
  const auto n = table.find_or_add(from(1), mpi_call::Wait, deep);
  CHECK(table[n].depth == call_site_table::most_depth);
  CHECK(table.region(table[n], 63) == 65);
  table.release();
}

TEST_CASE("counting a call finds its site and adds up calls and time, also of the sites beyond capacity") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}}, inside{{5}};
  const auto a = table.count(from(16), mpi_call::Send, outside, 10);
  CHECK(a != 0);
  CHECK(table.count(from(16), mpi_call::Send, inside, 7) != a);
  CHECK(table.count(from(16), mpi_call::Send, outside, 5) == a);
  CHECK(table.count(from(16), mpi_call::Send, outside, 0) == a);
  CHECK(table[a].count == 3);
  CHECK(table[a].ticks == 15);
  for (std::uintptr_t i = 3; i < call_site_table::capacity; ++i) table.find_or_add(from(i * 8), mpi_call::Recv, outside);
  CHECK(table.count(from(1), mpi_call::Recv, outside, 4) == 0);
  CHECK(table[0].count == 1);
  CHECK(table[0].ticks == 4);
  table.release();
}

TEST_CASE("calls from one address are distinguished by the caller of their function") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}}, inside{{5}};
  const auto a = table.count(called_from(100), mpi_call::Wait, outside, 3);
  const auto b = table.count(called_from(200), mpi_call::Wait, outside, 4);
  const auto c = table.count(called_from(300), mpi_call::Wait, outside, 5);
  CHECK(a != b);
  CHECK(b != c);
  CHECK(a != c);
  CHECK(table[a].caller == address(100));
  CHECK(table[b].caller == address(200));
  CHECK(table[c].caller == address(300));
  CHECK(table[b].address == address(16));
  CHECK(table.count(called_from(200), mpi_call::Wait, outside, 4) == b);
  CHECK(table.count(called_from(100), mpi_call::Wait, outside, 3) == a);
  CHECK(table.count(called_from(300), mpi_call::Wait, outside, 5) == c);
  CHECK(table[a].ticks == 6);
  CHECK(table[b].ticks == 8);
  CHECK(table[c].ticks == 10);
  const auto other_call = table.find_or_add(called_from(200), mpi_call::Recv, outside);
  const auto other_path = table.find_or_add(called_from(200), mpi_call::Wait, inside);
  CHECK(table.size() == 6);
  CHECK(table[other_call].call == mpi_call::Recv);
  REQUIRE(table[other_path].depth == 1);
  CHECK(table[other_path].caller == address(200));
  table.release();
}

TEST_CASE("the unwinder runs once for each caller") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  for (int turn = 0; turn < 100; ++turn)
    for (std::uintptr_t caller = 100; caller < 105; ++caller)
      table.count(called_from(caller, &unwound), mpi_call::Wait, outside, 1);
  CHECK(unwound == 5);
  CHECK(table.size() == 6);
  for (std::uint32_t site = 1; site < 6; ++site) CHECK(table[site].count == 100);
  table.release();
}

TEST_CASE("without a caller a call site is what it is without callers") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  const fake_frame unknown{address(16), address(100), nullptr, 24, &unwound};
  const auto a = table.count(unknown, mpi_call::Wait, outside, 1);
  CHECK(table.count(fake_frame{address(16), address(200), nullptr, 24, &unwound}, mpi_call::Wait, outside, 1) == a);
  CHECK(table[a].caller == nullptr);
  CHECK(unwound == 1);
  table.release();
}

TEST_CASE("a word that the unwinder does not confirm is no caller, and later calls have none") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  const auto a = table.count(called_from(100, &unwound), mpi_call::Wait, outside, 1);
  const auto b = table.count(called_from(200, &unwound), mpi_call::Wait, outside, 1);
  SUBCASE("another caller") {
    const auto none =
        table.count(fake_frame{address(16), address(300), address(200), 24, &unwound}, mpi_call::Wait, outside, 1);
    CHECK(table[none].caller == nullptr);
    CHECK(none != a);
    CHECK(none != b);
  }
  SUBCASE("no caller") {
    const auto none = table.count(fake_frame{address(16), address(300), nullptr, 24, &unwound}, mpi_call::Wait, outside, 1);
    CHECK(table[none].caller == nullptr);
  }
  SUBCASE("the same caller at another distance") {
    const auto none =
        table.count(fake_frame{address(16), address(300), address(300), 40, &unwound}, mpi_call::Wait, outside, 1);
    CHECK(table[none].caller == nullptr);
  }
  CHECK(unwound == 3);
  for (std::uintptr_t caller : {100u, 200u, 300u, 400u}) {
    const auto none = table.count(called_from(caller, &unwound), mpi_call::Wait, outside, 1);
    CHECK(table[none].caller == nullptr);
    CHECK(none == 3);
  }
  CHECK(unwound == 3);
  CHECK(table[a].count == 1);
  CHECK(table[b].count == 1);
  CHECK(table[3].count == 5);
  CHECK(table.size() == 4);
  table.release();
}

TEST_CASE("the callers beyond the limit of an address share a site without a caller") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  const std::uintptr_t most = call_site_table::most_callers;
  for (int turn = 0; turn < 3; ++turn)
    for (std::uintptr_t caller = 1; caller <= most + 30; ++caller)
      table.count(called_from(caller * 8, &unwound), mpi_call::Wait, outside, 1);
  CHECK(unwound == static_cast<int>(most) + 1);
  CHECK(table.size() == most + 3);
  CHECK(table[most + 2].caller == nullptr);
  CHECK(table[most + 2].count == 3 * 29);
  for (std::uint32_t site = 1; site < most + 2; ++site) CHECK(table[site].count == 3);
  table.release();
}

TEST_CASE("beyond the capacity of the table callers share number 0") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  table.count(called_from(100, &unwound), mpi_call::Wait, outside, 1);
  for (std::uintptr_t i = 2; i < call_site_table::capacity; ++i) table.find_or_add(from(i * 8192), mpi_call::Send, outside);
  CHECK(table.count(called_from(200, &unwound), mpi_call::Wait, outside, 1) == 0);
  CHECK(table.count(called_from(100, &unwound), mpi_call::Wait, outside, 1) == 1);
  CHECK(unwound == 1);
  table.release();
}

namespace {
// A call through functions of a library, which are below 1000: callers from the inside to the outside, as words on the stack.
struct fake_stack {
  const void* address;
  std::vector<std::uintptr_t> callers;
  int* unwound;
  std::uintptr_t truth = 0;  // of the outermost caller, if it is not the word

  const void* read(const call_site::return_slot& slot) const {
    return slot.base == call_site::return_slot::none ? nullptr : ::address(callers[slot.offset / 8 - 1u]);
  }
  found_caller find(std::uint32_t level) const {
    ++*unwound;
    if (level >= callers.size()) return {};
    const bool last = level + 1 == callers.size();
    return {::address(last && truth != 0 ? truth : callers[level]),
            {static_cast<std::uint16_t>(8 * (level + 1)), call_site::return_slot::frame}};
  }
  static bool goes_on(const call_site& site) { return reinterpret_cast<std::uintptr_t>(site.caller) < 1000; }
};
std::vector<std::uintptr_t> frames(const call_site_table& table, std::uint32_t number) {
  const void* all[call_site_table::most_levels + 2];
  std::vector<std::uintptr_t> found;
  for (std::uint32_t i = 0, count = table.frames(number, all); i != count; ++i)
    found.push_back(reinterpret_cast<std::uintptr_t>(all[i]));
  return found;
}
}  // namespace

TEST_CASE("calls through functions of a library are distinguished by the first callers outside of it") {
  call_site_table table;
  REQUIRE(table.open());
  const fake_path outside{{}};
  int unwound = 0;
  const auto number = [&](std::vector<std::uintptr_t> callers, std::uintptr_t truth = 0) {
    const fake_stack from{address(16), std::move(callers), &unwound, truth};
    return table.find_outer(table.find_or_add(from, mpi_call::Wait, outside), from, outside);
  };
  const std::vector<std::vector<std::uintptr_t>> chains = {
      {100, 200, 1000}, {100, 200, 2000}, {100, 201, 1000}, {101, 200, 1000}, {3000}};
  std::vector<std::uint32_t> numbers;
  for (const auto& chain : chains) numbers.push_back(number(chain));
  const int once = unwound;
  for (int turn = 0; turn != 3; ++turn)
    for (std::size_t i = 0; i != chains.size(); ++i) {
      CHECK(number(chains[i]) == numbers[i]);
      std::vector<std::uintptr_t> all = {16};
      all.insert(all.end(), chains[i].begin(), chains[i].end());
      CHECK(frames(table, numbers[i]) == all);
      for (std::size_t other = 0; other != i; ++other) CHECK(numbers[other] != numbers[i]);
    }
  CHECK(unwound == once);
  SUBCASE("a word that the unwinder does not confirm is no caller, and later calls have none there") {
    const auto unknown = number({100, 200, 4000}, 5000);
    CHECK(frames(table, unknown) == std::vector<std::uintptr_t>{16, 100, 200, 0});
    CHECK(number({100, 200, 1000}) == unknown);
    CHECK(number({100, 201, 1000}) == numbers[2]);
  }
  SUBCASE("a chain without end") {
    const auto deep = number(std::vector<std::uintptr_t>(100, 7));
    CHECK(frames(table, deep).size() == call_site_table::most_levels + 2);
    CHECK(number(std::vector<std::uintptr_t>(100, 7)) == deep);
  }
  table.release();
}
