#include <whywait/thread/gomp_runtime.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

TEST_CASE("atomic operations of the OpenMP runtime are frequent from some ten thousand in a second on") {
  using whywait::threads::gomp::atomic_rate;
  atomic_rate all{};
  for (int i = 0; i != 2047; ++i) CHECK_FALSE(all.are_frequent());  // two instants are needed for a rate
  CHECK(all.are_frequent());

  atomic_rate slow{};
  bool frequent = false;
  for (int i = 0; i != 3 * 1024; ++i) {
    if (i % 128 == 0) usleep(5000);
    frequent = slow.are_frequent() || frequent;
  }
  CHECK_FALSE(frequent);
}
