#include <whywait/core/registry.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

using namespace whywait::core;

namespace {

// Runs `check` in a forked child; returns its result.
template <class Check>
bool in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a process has one registry, which stores its process id") {
  registry* const one = the_registry();
  REQUIRE(one != nullptr);
  CHECK(the_registry() == one);
  CHECK(one->layout == sizeof(registry));
  CHECK(one->pid == getpid());
  CHECK(one->memory.limit() == one->config.memory_bytes);
  CHECK(one->sites.size() >= 2);
}

TEST_CASE("modules find the registry through the notes of the program") {
  detail::registry_search search;
  search.run();
  CHECK(search.found == the_registry());
}

TEST_CASE("threads that look for the registry at once make one") {
  registry* const mine = the_registry();
  CHECK(in_child([&] {
    alarm(20);
    whywait_v0_module.shared = nullptr;  // resets the child to the state at program start
    bool go = false;
    std::vector<registry*> found(4);
    std::vector<std::thread> threads;
    for (registry*& each : found)
      threads.emplace_back([&go, &each] {
        while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) std::this_thread::yield();
        each = the_registry();
      });
    __atomic_store_n(&go, true, __ATOMIC_RELEASE);
    for (std::thread& each : threads) each.join();
    bool one = the_registry() != nullptr && the_registry() != mine;
    for (registry* each : found) one = one && each == the_registry();
    return one;
  }));
  CHECK(the_registry() == mine);
}

TEST_CASE("the clock of the registry is the clock of the module") { CHECK(the_registry()->clock == cycle_clock::used()); }

TEST_CASE("the end of a thread is noted with its time") {
  location_base location{};
  const auto end_location = std::exchange(the_registry()->end_location, nullptr);  // which expects locations of the recorder
  const std::uint64_t before = cycle_clock::now();
  std::thread([&] { pthread_setspecific(the_registry()->thread_key, &location); }).join();
  the_registry()->end_location = end_location;
  CHECK(location.finished == 1);
  CHECK(location.end_ticks >= before);
  CHECK(location.end_ticks <= cycle_clock::now());
}

TEST_CASE("a forked child starts without locations and room state and is distinguished from its parent") {
  registry& mine = *the_registry();
  location_base location{};
  location.next = mine.locations;
  mine.locations = &location;
  ++mine.location_count;
  mine.extension[3] = &location;
  const std::uint32_t site = mine.sites.intern(site_kind::region, "before fork", "f.cpp", 1);
  mine.memory.take(4096);
  CHECK(in_child([&] {
    registry& own = *the_registry();
    return &own == &mine && own.pid != getpid() && own.locations == nullptr && own.location_count == 0 &&
           own.extension[3] == nullptr && own.memory.used() == 0 &&
           own.sites.intern(site_kind::region, "before fork", "f.cpp", 1) == site &&  // static numbers stay valid
           own.sites.intern(site_kind::region, "in child", "f.cpp", 1) == own.sites.size() - 1;
  }));
  CHECK(mine.locations == &location);  // the parent's registry is unchanged
  CHECK(mine.extension[3] == &location);
  CHECK(mine.memory.used() >= 4096);
  mine.memory.give_back(4096);
  mine.extension[3] = nullptr;
  mine.locations = location.next;
  --mine.location_count;
}

TEST_CASE("a fork while other threads add sites leaves the child a table it can use") {
  bool stop = false;
  std::thread adder([&] {
    for (std::uint32_t line = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED) && line < 20'000; ++line)
      the_registry()->sites.intern(site_kind::region, "while forking", "f.cpp", line);
  });
  for (int i = 0; i < 20; ++i)
    CHECK(in_child([&] {
      alarm(20);  // a held lock would block forever
      return the_registry()->sites.intern(site_kind::region, "child of many", "f.cpp", 1) != 0;
    }));
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  adder.join();
}
