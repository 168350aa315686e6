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

TEST_CASE("touching pages keeps their content") {
  auto* pages = static_cast<unsigned char*>(map_pages(1u << 16, false));
  REQUIRE(pages != nullptr);
  pages[5] = 7;
  pages[40'000] = 8;
  touch_pages(pages, 1u << 16);
  CHECK(pages[5] == 7);
  CHECK(pages[40'000] == 8);
  CHECK(pages[60'000] == 0);
  unmap_pages(pages, 1u << 16);
}

TEST_CASE("the pieces of a supply are zeroed and disjoint, and each can be released separately") {
  constexpr std::size_t bytes = 1u << 16;
  constexpr std::size_t count = (page_supply::small_bytes + 2 * page_supply::slab_bytes) / bytes + 3;
  page_supply supply;
  std::vector<unsigned char*> pieces;
  bool zero = true;
  for (std::size_t i = 0; i < count; ++i) {
    auto* const piece = static_cast<unsigned char*>(supply.take(bytes, true));
    REQUIRE(piece != nullptr);
    for (std::size_t at = 0; at < bytes; at += 512) zero = zero && piece[at] == 0;
    for (std::size_t at = 0; at < bytes; at += 512) piece[at] = static_cast<unsigned char>(i + 1);
    pieces.push_back(piece);
    if (i % 3 == 2) {  // from the middle of slabs
      unmap_pages(pieces[i - 1], bytes);
      pieces[i - 1] = nullptr;
    }
  }
  CHECK(zero);
  bool kept = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i] == nullptr) continue;
    for (std::size_t at = 0; at < bytes; at += 512) kept = kept && pieces[i][at] == static_cast<unsigned char>(i + 1);
  }
  CHECK(kept);
  supply.release();
  for (std::size_t i = count; i-- > 0;) unmap_pages(pieces[i], bytes);
}

TEST_CASE("a supply begins no slab where there is not plenty, nor cuts pieces that do not fit one") {
  constexpr std::size_t bytes = 1u << 16;
  const auto adjacent = [](page_supply& supply, std::size_t size, bool plenty) {
    std::vector<char*> pieces;
    for (std::size_t taken = 0; taken < page_supply::small_bytes + 8 * size; taken += size)
      pieces.push_back(static_cast<char*>(supply.take(size, plenty)));
    const bool cut = pieces.back() == pieces[pieces.size() - 2] + size &&
                     (reinterpret_cast<std::uintptr_t>(pieces[pieces.size() - 8]) & (page_supply::slab_bytes - 1)) == 0;
    for (char* piece : pieces) unmap_pages(piece, size);
    return cut;
  };
  page_supply rich, poor, odd;
  CHECK(adjacent(rich, bytes, true));
  CHECK_FALSE(adjacent(poor, bytes, false));
  CHECK_FALSE(adjacent(odd, 3 * bytes, true));
  rich.release();
  poor.release();
  odd.release();
}

TEST_CASE("a budget grants at most its limit") {
  memory_budget budget;
  budget.limit(100);
  CHECK(budget.take(60));
  CHECK_FALSE(budget.take(41));
  CHECK(budget.take(40));
  CHECK(budget.used() == 100);
  CHECK(budget.left() == 0);
  budget.give_back(60);
  CHECK(budget.left() == 60);
  CHECK(budget.used() == 40);
  CHECK_FALSE(budget.take(~std::uint64_t(0)));  // no overflow
  budget.limit(10);                             // below the memory in use
  CHECK_FALSE(budget.take(1));
  CHECK(budget.left() == 0);
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
