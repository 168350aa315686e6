#include <whywait/record/region.hpp>
#include "recorded.hpp"

#include <whywait/record/totals.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <thread>

using namespace whywait;

namespace {

// Closes the open segment into the location, like a synchronisation.
void synchronise(record::location& here, std::uint64_t begin, std::uint64_t end) {
  here.path.close(begin, [&](const core::path_step& step) {
    if (core::path_step* place = here.steps.claim()) {
      *place = step;
      here.steps.publish();
    }
  });
  here.path.resume(end);
}

struct counted {
  std::uint64_t visits = 0, ticks = 0, work = 0;
};

counted of(const record::totals& totals, site& place) {
  const record::site_total& t = totals[record::detail::number_of(place)];
  return {t.visits, t.ticks, t.work};
}

}  // namespace

TEST_CASE("totals add closed segments and the open one") {
  std::thread([] {
    static site outer(site_kind::region, "totals outer");
    static site inner(site_kind::region, "totals inner");
    record::location& here = *record::this_location();
    record::totals totals;
    REQUIRE(totals.open());
    std::uint64_t begin = 0, end = 0;
    {
      region a(outer);
      work(5);
      { region b(inner); }
      begin = core::cycle_clock::now();
      end = begin + 1'000'000'000'000;  // a long wait, which belongs to no block
      synchronise(here, begin, end);
      { region b(inner); }
      work(2);
      totals.add(here, 0);
    }
    CHECK(of(totals, outer).visits == 1);
    CHECK(of(totals, outer).work == 7);
    CHECK(of(totals, inner).visits == 2);
    CHECK(of(totals, outer).ticks + of(totals, inner).ticks < 1'000'000'000'000);
    totals.release();
  }).join();
}

TEST_CASE("running time counts up to the given moment, and to the end for a thread that has ended") {
  static site place(site_kind::region, "totals running");
  record::location* location = nullptr;
  std::uint64_t begun = 0;
  std::thread([&] {
    location = record::this_location();
    location->path.enter(record::detail::number_of(place), core::cycle_clock::now());  // never left
    begun = core::cycle_clock::now();
    record::totals totals;
    REQUIRE(totals.open());
    totals.add(*location, begun + 1000);
    CHECK(of(totals, place).ticks >= 1000);
    totals.release();
  }).join();
  CHECK(location->finished == 1);
  record::totals totals;
  REQUIRE(totals.open());
  totals.add(*location, core::cycle_clock::now() + 1'000'000'000'000);
  CHECK(of(totals, place).ticks < 1'000'000'000'000);
  CHECK(of(totals, place).ticks >= location->end_ticks - begun);
  totals.release();
}

TEST_CASE("totals of all threads are one sum") {
  static site place(site_kind::region, "totals of threads");
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      for (int k = 0; k < 100; ++k) region r(place);
    }).join();
  record::totals totals;
  REQUIRE(totals.open());
  totals.add_all(*core::the_registry(), core::cycle_clock::now());
  CHECK(of(totals, place).visits == 300);
  totals.release();
}

TEST_CASE("an array of the caller's is enough; sites beyond it are left out") {
  std::thread([] {
    static site place(site_kind::region, "totals in an array");
    { region r(place); }
    const std::uint32_t size = record::detail::number_of(place) + 1;
    const auto entries = std::make_unique<record::site_total[]>(size);
    record::totals totals;
    totals.use(entries.get(), size);
    totals.add(*record::this_location(), 0);
    CHECK(totals.size() == size);
    CHECK(entries[record::detail::number_of(place)].visits == 1);
    const auto fewer = std::make_unique<record::site_total[]>(record::detail::number_of(place));
    totals.use(fewer.get(), record::detail::number_of(place));
    totals.add(*record::this_location(), 0);  // AddressSanitizer detects a write beyond the end
    for (std::uint32_t i = 0; i < record::detail::number_of(place); ++i) CHECK(fewer[i].visits == 0);
    totals.release();
  }).join();
}
