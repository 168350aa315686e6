#include <whywait/mpi/requests.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace whywait::mpi;

namespace {

held_request hold(pending* p) {
  held_request h{};
  h.hold(p);
  return h;
}

}  // namespace

TEST_CASE("the request table finds its entries, also after growing") {
  static request_table table;
  REQUIRE(table.open());
  const std::uint64_t slots = table.slots();
  std::map<std::uint64_t, pending*> truth;
  std::mt19937_64 random(3);
  for (std::uint32_t i = 0; i < 30000; ++i) {
    const std::uint64_t handle = 0x2c000000u + random() % 6000 * 16;
    pending* const known = table.find(handle);
    if (known == nullptr) {
      CHECK(truth.count(handle) == 0);
      pending* const fresh = table.add(handle, i % 2 == 0);
      REQUIRE(fresh != nullptr);
      CHECK(fresh->record == nullptr);
      CHECK(fresh->handle == handle);
      CHECK_FALSE(fresh->persistent);
      fresh->persistent = random() % 8 == 0;
      truth[handle] = fresh;
    } else if (random() % 2 == 0) {
      REQUIRE(truth[handle] == known);
      table.close(known);
      truth.erase(handle);
    }
    if (i % 64 == 0) REQUIRE(table.size() == truth.size());
  }
  CHECK(table.size() > 2000);
  CHECK(table.slots() > slots);
  CHECK(table.replaced() == 0);
  std::size_t visited = 0;
  table.each([&](pending& p) { visited += truth.at(p.handle) == &p ? 1 : 0; });
  CHECK(visited == truth.size());
}

TEST_CASE("the entry of a handle that MPI gives out again is fresh") {
  static request_table table;
  REQUIRE(table.open());
  pending* const first = table.add(42, false);
  first->persistent = first->wildcard = true;
  first->bytes = 8;
  first->partitions = 3;
  table.close(first);
  CHECK(table.find(42) == nullptr);
  pending* const again = table.add(42, false);
  CHECK(table.find(42) == again);
  CHECK(again->is_plain());
  CHECK(again->partitions == 0);
  CHECK(again->bytes == 0);
  CHECK(table.size() == 1);
  CHECK(table.replaced() == 0);
  CHECK(table.add(42, true) != nullptr);  // no call was seen that completed it
  CHECK(table.replaced() == 1);
  CHECK(table.size() == 1);
}

TEST_CASE("a request that a completing call holds survives the reuse of its handle by another thread") {
  static request_table table;
  REQUIRE(table.open());
  pending* const entry = table.add(42, true);
  entry->index = 7;
  const held_request mine = hold(entry);
  table.keep(mine);
  pending* const theirs = table.add(42, true);
  theirs->index = 8;
  CHECK(mine.index == 7);
  table.close(mine);  // closing the first request late does not affect the second
  REQUIRE(table.find(42) == theirs);
  CHECK(table.find(42)->index == 8);
  table.close(hold(theirs));
  CHECK(table.find(42) == nullptr);
}

TEST_CASE("a request that turned out to be pending can be put back") {
  static request_table table;
  REQUIRE(table.open());
  pending* const p = table.add(9, false);
  const held_request held = hold(p);
  table.close(p);
  CHECK(table.find(9) == nullptr);
  table.keep(held);
  CHECK(table.find(9) == p);
  table.close(p);
  table.close(p);  // closing twice is harmless
  CHECK(table.size() == 0);
}

TEST_CASE("a held request has what its completion needs") {
  static request_table table;
  REQUIRE(table.open());
  int communicator = 0;
  whywait::core::sync_record record{};
  pending* const p = table.add(9, false);
  p->record = &record;
  p->index = 3;
  p->location = 4;
  CHECK(hold(p).plain);
  p->twin = table.add_twin(false);
  REQUIRE(p->twin != nullptr);
  p->new_comm = &communicator;
  p->comm = 5;
  p->cancel_seen = true;
  const held_request h = hold(p);
  CHECK_FALSE(h.plain);
  CHECK(h.record == &record);
  CHECK(h.index == 3);
  CHECK(h.location == 4);
  CHECK(h.twin == p->twin);
  CHECK(h.new_comm == &communicator);
  CHECK(h.comm == 5);
  CHECK(h.needs_status());
  std::size_t visited = 0;
  table.each([&](pending& each) { visited += &each == p || &each == p->twin ? 1 : 0; });
  CHECK(visited == 2);
  table.recycle(h.twin, false);
  CHECK(table.add_twin(false) == h.twin);
}

TEST_CASE("handles that never come back need no more memory than those in use") {
  static request_table table;
  REQUIRE(table.open());
  const std::uint64_t slots = table.slots();
  std::vector<pending*> kept;
  for (std::uint64_t handle = 1; handle <= 200; ++handle) kept.push_back(table.add(handle * 64, false));
  for (std::uint64_t handle = 201; handle < 300000; ++handle) {
    pending* const p = table.add(handle * 64, handle % 2 == 0);
    REQUIRE(p != nullptr);
    REQUIRE(p->handle == handle * 64);
    table.close(p);
  }
  CHECK(table.slots() == slots);
  CHECK(table.size() == 200);
  for (std::uint64_t handle = 1; handle <= 200; ++handle) CHECK(table.find(handle * 64) == kept[handle - 1]);
  CHECK(table.find(201 * 64) == nullptr);
}

// MPI is compiled without ThreadSanitizer, which therefore sees no order in how MPI passes handles from thread to thread. So it
// is here: what orders the fields of an entry must be the table itself.
TEST_CASE(
    "threads that make and complete requests at the same time read their own, with handles that MPI gives to any of them") {
  static request_table table;
  REQUIRE(table.open());
  constexpr int threads = 3, each = 40000, handles = 24;
  static std::atomic<bool> in_use[handles];
  static std::atomic<std::uint64_t> next_handle{1u << 20};
  std::uint32_t wrong[threads] = {};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < each; ++i) {
        const std::size_t number = random() % handles;
        const bool returns = random() % 4 != 0;  // else a handle that is never used again
        if (returns && in_use[number].exchange(true, std::memory_order_relaxed)) continue;
        const std::uint64_t handle = returns ? 0x1000 + number : next_handle.fetch_add(1, std::memory_order_relaxed);
        pending* const p = table.add(handle, true);
        if (p == nullptr) {
          ++wrong[t];
          continue;
        }
        p->index = static_cast<std::uint32_t>(i * threads + t);
        p->persistent = random() % 16 == 0;
        pending* const found = table.find(handle);
        held_request held = hold(found);
        if (found != p || held.index != static_cast<std::uint32_t>(i * threads + t)) ++wrong[t];
        const bool certain = random() % 2 == 0;
        if (certain) table.close(p);
        else table.keep(held);
        if (returns) in_use[number].store(false, std::memory_order_relaxed);
        if (!certain) table.close(held);
      }
    });
  for (std::thread& t : all) t.join();
  for (const std::uint32_t count : wrong) CHECK(count == 0);
  CHECK(table.size() == 0);
}
