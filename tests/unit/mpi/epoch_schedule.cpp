#include <whywait/mpi/epoch_schedule.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

using whywait::mpi::epoch_schedule;

namespace {

// A program in which the fullest process fills another `percent` of its memory between meetings.
struct meetings {
  epoch_schedule schedule{};
  double full = 0;
  int compared = 0, ended = 0;

  void go(int count, double each) {
    for (int i = 0; i != count; ++i) {
      full += each;
      CHECK(full <= 100);
      if (!schedule.meet()) continue;
      ++compared;
      if (!schedule.ends(static_cast<std::uint32_t>(full * 1e4), false)) continue;
      ++ended;
      full = 0;
    }
  }
};

}  // namespace

TEST_CASE("memory that fills evenly stays within its limit and is seldom compared") {
  for (const double each : {0.0001, 0.01, 0.1, 1.0, 6.0, 19.0}) {
    meetings program;
    for (int i = 0; i != 100000; ++i) {
      program.go(1, each);
      REQUIRE(program.full * 1e4 <= epoch_schedule::most_ppm);
    }
    CAPTURE(each);
    CHECK((program.ended > 0) == (each > 0.0005));
    if (each <= 0.01) CHECK(program.compared < 1500);
    // epochs are not small
    if (each >= 0.01) CHECK(program.ended * (epoch_schedule::most_ppm * 1e-4) < 4 * 100000 * each);
  }
}

TEST_CASE("a program whose rate changes is compared again soon") {
  std::mt19937_64 random(7);
  for (int seed = 0; seed != 50; ++seed) {
    meetings program;
    for (int phase = 0; phase != 40; ++phase)
      program.go(1 + static_cast<int>(random() % 3000), static_cast<double>(random() % 1000) / 2500);  // up to 0.4 %
    CHECK(program.full <= 100);
    CHECK(program.ended > 40);
  }
}

TEST_CASE("all processes decide alike from shared data, and one that runs full ends the epoch for all") {
  epoch_schedule a{}, b{};
  std::mt19937_64 random(9);
  for (int i = 0; i != 10000; ++i) {
    const bool now = a.meet();
    REQUIRE(now == b.meet());
    if (!now) continue;
    const std::uint32_t most = static_cast<std::uint32_t>(random() % 300000);
    const bool need = random() % 50 == 0;
    const bool ends = a.ends(most, need);
    REQUIRE(ends == b.ends(most, need));
    if (need) REQUIRE(ends);
  }
  CHECK(a.epochs == b.epochs);
  CHECK(a.epochs > 0);
}
