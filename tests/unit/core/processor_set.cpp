#include <whywait/core/processor_set.hpp>

#include <doctest/doctest.h>

#include <thread>

using whywait::core::processor_set;

TEST_CASE("threads that are bound to one processor each may use all of these together") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  processor_set own{}, bound{};
  CHECK(own.size() == 0);
  own.add(0);
  CHECK(own.size() == CPU_COUNT(&allowed));
  int threads = 0;
  for (int i = 0; i != CPU_SETSIZE && threads != 3; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    std::thread([&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
      bound.add(0);
    }).join();
    CHECK(bound.size() == ++threads);
  }
  bound.add(0);
  CHECK(bound.size() == own.size());
  bound.add(0x7fffffff);  // no thread: adds nothing
  CHECK(bound.size() == own.size());
}
