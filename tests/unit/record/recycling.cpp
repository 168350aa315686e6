#include <whywait/record/region.hpp>
#include "../../sanitizers.hpp"
#include "recorded.hpp"

#include <whywait/record/recycling.hpp>

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

using namespace whywait;

namespace {

core::registry& registry() { return *core::the_registry(); }

std::uint64_t visits(site& place) {
  record::totals totals;
  REQUIRE(totals.open());
  totals.add_all(registry(), core::cycle_clock::now());
  const std::uint64_t found = totals[record::detail::number_of(place)].visits;
  totals.release();
  return found;
}

long resident_kib() {
  long pages = 0, resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%ld %ld", &pages, &resident) == 2);
  std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}
long mappings() {
  long lines = 0;
  FILE* const file = std::fopen("/proc/self/maps", "r");
  REQUIRE(file != nullptr);
  for (int c; (c = std::fgetc(file)) != EOF;) lines += c == '\n' ? 1 : 0;
  std::fclose(file);
  return lines;
}

#if WHYWAIT_TEST_THREAD_SANITIZER || WHYWAIT_TEST_ADDRESS_SANITIZER
constexpr int many = 3000;
constexpr long allowed_kib = 1 << 20;  // sanitizers keep memory of their own for each thread
#else
constexpr int many = 100000;
constexpr long allowed_kib = 1024;
#endif

core::path_step step(std::uint32_t block, std::uint64_t visits, std::uint64_t ticks) { return {block, 0, visits, ticks, 0}; }

struct thread_log {
  std::unique_ptr<record::ended_threads> threads = std::make_unique<record::ended_threads>();
  core::memory_budget budget;
  thread_log() { REQUIRE(threads->open(budget)); }
  void thread(std::uint64_t gap, std::uint64_t begin, std::uint64_t end, std::uint32_t block = 7) {
    threads->begin_thread(gap, begin);
    threads->add_work(step(block, 1, end - begin));
    threads->end_thread(begin, end);
  }
};

}  // namespace

TEST_CASE("many short threads leave neither memory nor mappings behind, and all that they did is counted") {
  static site place(site_kind::region, "recycling short");
  const auto run = [](int count) {
    for (int i = 0; i < count; ++i) std::thread([] { region r(place); }).join();
  };
  run(200);
  const std::uint32_t locations = registry().location_count;
  const std::uint64_t ended = registry().ended->count();
  const long memory = resident_kib(), maps = mappings();
  run(many);
  CHECK(registry().location_count == locations);
  CHECK(resident_kib() - memory <= allowed_kib);
  CHECK(mappings() - maps <= 4);
  CHECK(visits(place) == 200 + many);
  CHECK(registry().ended->count() == ended + many);
}

TEST_CASE("threads side by side have locations of their own, and later ones use them again") {
  static site place(site_kind::region, "recycling side by side");
  constexpr int threads = 8, rounds = 50;
  std::uint32_t locations = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([] {
        for (int k = 0; k < 100; ++k) region r(place);
      });
    for (std::thread& each : all) each.join();
    if (round == 0) locations = registry().location_count;
  }
  CHECK(registry().location_count <= locations + threads);
  CHECK(visits(place) == std::uint64_t(threads) * rounds * 100);
}

TEST_CASE("a thread begins with an empty location, whatever the one before it did there") {
  static site place(site_kind::region, "recycling first"), other(site_kind::region, "recycling second");
  record::location* first = nullptr;
  std::thread([&] {
    first = record::this_location();
    region r(place);
    begin("never begun elsewhere");
    end("never begun elsewhere");
    end("never begun");
  }).join();
  const std::uint64_t mismatches = registry().ended->mismatches;
  CHECK(mismatches >= 1);
  CHECK(first->finished == 2);
  std::thread([&] {
    CHECK(record::this_location() == first);
    CHECK(first->finished == 0);
    CHECK(first->mismatched_ends == 0);
    CHECK(first->path.depth() == 0);
    CHECK(recorded().visits("recycling first") == 0);
    { region r(other); }
    CHECK(recorded().visits("recycling second") == 1);
  }).join();
  CHECK(registry().ended->mismatches == mismatches);
  CHECK(visits(place) == 1);
  CHECK(visits(other) == 1);
}

TEST_CASE("a thread that ends inside a region keeps its location") {
  record::location *first = nullptr, *second = nullptr;
  std::thread([&] {
    first = record::this_location();
    begin("recycling never ended");
  }).join();
  std::thread([&] { second = record::this_location(); }).join();
  CHECK(first->finished == 1);
  CHECK(first->path.depth() == 1);
  CHECK(second != first);
}

TEST_CASE("marks in a destructor that runs after the location was given back are recorded") {
  static site place(site_kind::region, "recycling in a destructor");
  static pthread_key_t key;
  static const bool made = pthread_key_create(&key, [](void*) { region r(place); }) == 0;
  REQUIRE(made);
  const std::uint64_t before = visits(place);
  const std::uint32_t locations = registry().location_count;
  for (int i = 0; i < 100; ++i)
    std::thread([] {
      region r(place);
      pthread_setspecific(key, &key);
    }).join();
  CHECK(visits(place) == before + 200);
  CHECK(registry().location_count <= locations + 1);
}

TEST_CASE("threads that ended in one gap are one group, with the time in which at least one ran") {
  thread_log all;
  all.thread(3, 100, 200);
  all.thread(3, 150, 250);  // overlaps
  all.thread(3, 300, 310);  // apart
  all.thread(3, 90, 400);   // around all of them
  all.thread(3, 380, 410, 9);
  all.thread(record::ended_threads::no_gap, 500, 600);
  all.thread(4, 700, 710);
  const auto groups = all.threads->groups();
  const auto steps = all.threads->steps();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].begin == 90);
  CHECK(groups[0].end == 410);
  CHECK(groups[0].used == 320);
  CHECK(groups[0].threads == 5);
  REQUIRE(groups[0].steps == 2);
  CHECK(steps[0].block == 7);
  CHECK(steps[0].visits == 4);
  CHECK(steps[0].ticks == 291);  // of the one around the others, until the last one began
  CHECK(steps[1].block == 9);
  CHECK(steps[1].ticks == 30);
  CHECK(groups[1].gap == 4);
  CHECK(groups[1].used == 10);
  REQUIRE(groups[1].steps == 1);
  CHECK(steps[groups[1].first_step].visits == 1);
  CHECK(all.threads->count() == 7);
  CHECK(all.threads->ticks() == 100 + 100 + 10 + 310 + 30 + 100 + 10);
  all.threads->forget_groups();
  CHECK(all.threads->groups().size() == 0);
  all.thread(4, 800, 810);
  REQUIRE(all.threads->groups().size() == 1);
  CHECK(all.threads->groups()[0].steps == 1);
}

TEST_CASE("a group of many threads apart from each other stays small, and its time exact") {
  thread_log all;
  for (std::uint64_t i = 0; i < 100000; ++i) all.thread(1, 10 * i, 10 * i + 4);
  REQUIRE(all.threads->groups().size() == 1);
  CHECK(all.threads->groups()[0].used == 400000);
  CHECK(all.threads->groups()[0].threads == 100000);
  CHECK(all.threads->steps().size() == 1);
  CHECK(all.threads->used_bytes() < 1000);
  all.thread(1, 999900, 1000000);  // around the last ten
  CHECK(all.threads->groups()[0].used == 400000 - 10 * 4 + 100);
}

TEST_CASE("without memory for groups the sums stay") {
  thread_log all;
  all.budget.limit(0);
  all.thread(1, 10, 20);
  CHECK(all.threads->groups().size() == 0);
  CHECK(all.threads->count() == 1);
  CHECK(all.threads->ticks() == 10);
}
