#include <whywait/mpi/requests.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace whywait::mpi;

TEST_CASE("the request table finds its entries, also after growing") {
  static request_table table;
  REQUIRE(table.open());
  std::map<std::uint64_t, pending*> truth;
  std::mt19937_64 random(3);
  for (std::uint32_t i = 0; i < 30000; ++i) {
    const std::uint64_t handle = 0x2c000000u + random() % 6000 * 16;
    pending* const known = table.find(handle);
    if (known == nullptr) {
      CHECK(truth.count(handle) == 0);
      pending* const fresh = table.add(handle);
      REQUIRE(fresh != nullptr);
      CHECK(fresh->record == nullptr);
      CHECK(fresh->holders == 0);
      CHECK_FALSE(fresh->persistent);
      truth[handle] = fresh;
    } else if (random() % 2 == 0) {
      REQUIRE(truth[handle] == known);
      table.unlink(known);
      table.recycle(known);
      truth.erase(handle);
    }
    REQUIRE(table.size() == truth.size());
  }
  CHECK(table.size() > 512);
  CHECK(table.replaced() == 0);
}

TEST_CASE("a handle that MPI reuses replaces its stale entry") {
  static request_table table;
  REQUIRE(table.open());
  pending* const old = table.add(42);
  pending* const fresh = table.add(42);
  CHECK(table.find(42) == fresh);
  CHECK(table.size() == 1);
  CHECK(table.replaced() == 1);
  CHECK(table.add(43) == old);  // it had no holder, so that its slot is reused
}

TEST_CASE("an entry that a completing call holds survives the reuse of its handle by another thread") {
  static request_table table;
  REQUIRE(table.open());
  pending* const mine = table.add(42);
  mine->holders = 1;
  mine->posting = 7;
  pending* const theirs = table.add(42);
  CHECK(theirs != mine);
  CHECK_FALSE(mine->linked);
  CHECK(mine->posting == 7);
  CHECK(table.add(43) != mine);
  table.unlink(mine);  // unlinking the first owner late does not affect the second
  CHECK(table.find(42) == theirs);
  mine->holders = 0;
  table.recycle(mine);
  CHECK(table.add(44) == mine);
}

TEST_CASE("a request that turned out to be pending can be put back") {
  static request_table table;
  REQUIRE(table.open());
  pending* const p = table.add(9);
  table.unlink(p);
  CHECK(table.find(9) == nullptr);
  table.link(p);
  CHECK(table.find(9) == p);
  table.unlink(p);
  table.unlink(p);  // unlinking twice is harmless
  CHECK(table.size() == 0);
}

TEST_CASE("entries that other threads recycle without the lock are neither lost nor given out twice") {
  static request_table table;
  REQUIRE(table.open());
  constexpr int threads = 3, each = 20000, batch = 50;
  static int held;  // the lock of add and unlink
  const auto locked = [](auto&& run) {
    while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    run();
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
  };
  std::uint32_t wrong[threads] = {};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      pending* mine[batch];
      for (int i = 0; i < each; i += batch) {
        for (int k = 0; k < batch; ++k)
          locked([&] {
            mine[k] = table.add(static_cast<std::uint64_t>(t) * each + static_cast<std::uint64_t>(i + k) + 1);
            table.unlink(mine[k]);
          });
        for (pending* p : mine) p->index = static_cast<std::uint32_t>(t);
        for (pending* p : mine) wrong[t] += p->index != static_cast<std::uint32_t>(t) ? 1 : 0;
        for (pending* p : mine) table.recycle(p);
      }
    });
  for (std::thread& t : all) t.join();
  for (const std::uint32_t count : wrong) CHECK(count == 0);
  CHECK(table.size() == 0);
}
