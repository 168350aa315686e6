#include <whywait/core/pages.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>
#include <vector>

using namespace whywait::core;

TEST_CASE("pages are zero, and too many are refused") {
  for (const bool now : {false, true}) {
    auto* pages = static_cast<unsigned char*>(map_pages(100'000, now));
    REQUIRE(pages != nullptr);
    bool zero = true;
    for (int i = 0; i < 100'000; ++i) zero = zero && pages[i] == 0;
    CHECK(zero);
    pages[99'999] = 1;
    unmap_pages(pages, 100'000);
  }
  CHECK(map_pages(std::size_t(1) << 60, false) == nullptr);
  unmap_pages(nullptr, 4096);
}

TEST_CASE("a budget gives what it has and no more") {
  memory_budget budget;
  budget.limit(100);
  CHECK(budget.take(60));
  CHECK_FALSE(budget.take(41));
  CHECK(budget.take(40));
  CHECK(budget.used() == 100);
  budget.give_back(60);
  CHECK(budget.used() == 40);
  CHECK_FALSE(budget.take(~std::uint64_t(0)));  // no overflow
  budget.limit(10);                             // less than is used
  CHECK_FALSE(budget.take(1));
  budget.forget();
  CHECK(budget.take(10));
}

TEST_CASE("threads that share a budget never exceed it") {
  memory_budget budget;
  budget.limit(1000);
  std::uint64_t taken[4] = {};
  std::vector<std::thread> threads;
  for (std::uint64_t& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) mine += budget.take(1) ? 1 : 0;
    });
  for (std::thread& each : threads) each.join();
  CHECK(taken[0] + taken[1] + taken[2] + taken[3] == 1000);
  CHECK(budget.used() == 1000);
}
