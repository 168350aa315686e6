#include <whywait/record/listen.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/region.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "recorded.hpp"

using namespace whywait;

namespace {

std::uint32_t locations_in_list() {
  std::uint32_t count = 0;
  for (const core::location_base* each = core::the_registry()->locations; each != nullptr; each = each->next) ++count;
  return count;
}

std::size_t free_locations() {
  std::size_t count = 0;
  for (core::location_base* each = core::the_registry()->free_locations; each != nullptr; each = each->next_free) ++count;
  return count;
}

}  // namespace

TEST_CASE("a thread has one location, found again by every module, and outlives its thread") {
  const std::uint32_t before = core::the_registry()->location_count;
  const std::size_t free = free_locations();
  record::location* first = nullptr;
  std::thread([&] {
    first = record::this_location();
    REQUIRE(first != nullptr);
    CHECK(record::this_location() == first);
    record::detail::set_here(&record::detail::nowhere.head);  // as before the first mark of the thread
    CHECK(record::this_location() == first);
    CHECK(first->finished == 0);
    { region r("outlives"); }
    begin("outlives");  // never ended, so that no other thread gets the location
  }).join();
  CHECK(core::the_registry()->location_count == (free != 0 ? before : before + 1));
  CHECK(locations_in_list() == core::the_registry()->location_count);
  CHECK(first->finished == 1);
  std::uint64_t visits = 0;
  first->path.peek(0, [&](const core::path_step& step) { visits += step.visits; });
  CHECK(visits == 2);
}

TEST_CASE("many threads at once get locations of their own") {
  std::vector<std::thread> threads;
  std::vector<record::location*> found(8);
  static int ready;
  ready = 0;
  for (record::location*& mine : found)
    threads.emplace_back([&mine] {
      mine = record::this_location();
      __atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 8) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) region r("many threads");
    });
  for (std::thread& each : threads) each.join();
  CHECK(locations_in_list() == core::the_registry()->location_count);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      CHECK(found[i] != found[k]);
      CHECK(found[i]->index != found[k]->index);
    }
}

TEST_CASE("until a recorder listens marks are inert, and each is recorded from then on") {
  core::registry& registry = *core::the_registry();
  const std::uint32_t before = registry.location_count;
  const std::size_t free = free_locations();
  static site place(site_kind::step, "heard later");
  registry.listening = 0;
  whywait_v0_module.here = 0;  // as the module was loaded
  std::thread([&registry, before] {
    for (int i = 0; i < 5; ++i) visit(place);
    { region r(place); }
    record::detail::attach_module(whywait_v0_module);
    visit(place);
    CHECK(record::this_location() == nullptr);
    CHECK(place.known_id() == 0);
    CHECK(registry.location_count == before);
    registry.listening = 1;
    record::listen();
    for (int i = 0; i < 7; ++i) visit(place);
    CHECK(record::this_location() != nullptr);
    CHECK(recorded().visits("heard later") == 7);
  }).join();
  CHECK(registry.location_count == (free != 0 ? before : before + 1));
}

TEST_CASE("a region that began while marks were inert is not recorded when it ends") {
  whywait_v0_module.here = 0;
  std::thread([] {
    static site early(site_kind::region, "begun early"), later(site_kind::region, "begun later");
    region r(early);
    record::listen();
    region inner(later);
    r.next(early);
    work(1);
    CHECK(recorded().visits("begun early") == 0);
    CHECK(recorded().visits("begun later") == 1);
  }).join();
}

TEST_CASE("places beyond those that the inline part of a mark counts are counted, too") {
  std::thread([] {
    static site far_step(site_kind::step, "far step"), far_region(site_kind::region, "far region"),
        far_next(site_kind::region, "far next");
    core::site_table& sites = core::the_registry()->sites;
    for (std::uint32_t line = 0; sites.size() <= record::near_blocks; ++line)
      sites.intern(site_kind::step, "many", "many.cpp", line);
    for (int round = 0; round < 3; ++round) {
      region r(far_region);
      visit(far_step);
      next(far_next);
      r.next(far_region);
      work(2);
    }
    CHECK(far_step.known_id() >= record::near_blocks);
    const recorded all;
    CHECK(all.visits("far step") == 3);
    CHECK(all.visits("far region") == 6);
    CHECK(all.visits("far next") == 3);
    CHECK(all.work("far region") == 6);
    CHECK(all.here().mismatched_ends == 0);
    CHECK(all.here().path.depth() == 0);
  }).join();
}

TEST_CASE("threads that visit the same places for the first time at once lose no visit") {
  constexpr int threads = 4, places = 2000, visits = 3;
  static std::vector<site> all;
  for (std::uint32_t i = 0; i < places; ++i) all.emplace_back(site_kind::step, "at once", "at_once.cpp", i);
  std::vector<std::uint64_t> counted(threads);
  std::vector<std::thread> running;
  static int ready;
  ready = 0;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([t, &counted] {
      record::this_location();
      __atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
      while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != threads) std::this_thread::yield();
      for (site& place : all)
        for (int i = 0; i < visits; ++i) visit(place);
      counted[static_cast<std::size_t>(t)] = recorded().visits("at once");
    });
  for (std::thread& each : running) each.join();
  for (const std::uint64_t sum : counted) CHECK(sum == places * visits);
}

TEST_CASE("with recording switched off no module is attached, and marking is harmless") {
  core::registry& registry = *core::the_registry();
  const std::uint32_t before = registry.location_count;
  registry.config.enable = false;
  whywait_v0_module.here = 0;  // as the module was loaded
  std::thread([] {
    record::listen();
    CHECK(record::this_location() == nullptr);
    CHECK(record::is_off());
    static site place(site_kind::region, "not recorded");
    region r(place);
    region named("not recorded");
    r.next(place);
    begin("not recorded");
    visit(place);
    work(1);
    end("not recorded");
    CHECK(record::this_location() == nullptr);
    CHECK(place.known_id() == 0);
  }).join();
  registry.config.enable = true;
  record::listen();
  CHECK(registry.location_count == before);
}

TEST_CASE("a forked child records into a location of its own, the parent goes on with its own") {
  region around("around fork");
  record::location* const mine = record::this_location();
  const std::uint64_t visits = recorded().visits("in parent and child");
  const pid_t child = fork();
  if (child == 0) {
    // `around` is still open on the parent's copy of the stack; leaving it must be harmless
    record::location* const own = record::this_location();
    bool right = own != nullptr && own != mine && own->path.depth() == 0 && core::the_registry()->location_count == 1;
    for (int i = 0; i < 10; ++i) region r("in parent and child");
    std::uint64_t seen = 0;
    own->path.peek(0, [&](const core::path_step& step) { seen += step.visits; });
    right = right && seen == 10;
    std::thread([&] { right = right && record::this_location() != own; }).join();
    _exit(right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(record::this_location() == mine);
  { region r("in parent and child"); }
  CHECK(recorded().visits("in parent and child") == visits + 1);
}
