#include <whywait/base/vector.hpp>
#include <whywait/explain/interval_diff.hpp>

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>
#include <string>

using namespace whywait::explain;

namespace {

const interval_diff<std::string>::term& find(const whywait::base::vector<interval_diff<std::string>::term>& terms,
                                             const char* block) {
  for (const auto& t : terms) {
    if (t.block == block) return t;
  }
  throw std::out_of_range(block);
}

}  // namespace

TEST_CASE("oracle: assemble, smooth, rebuild and check explain a wait of 2.15 s") {
  interval_diff<std::string> d;  // milliseconds
  d.waiter("assemble", 100, 1000);
  d.waiter("smooth", 50, 2000);
  d.waiter("check", 10, 100);
  d.causer("assemble", 160, 1600);
  d.causer("smooth", 50, 2900);
  d.causer("rebuild", 1, 750);
  CHECK(d.total_ns() == 2150);
  const auto terms = d.terms();
  REQUIRE(terms.size() == 4);
  CHECK(terms[0].block == "smooth");  // sorted, largest first
  CHECK(find(terms, "assemble").difference.total_ns == 600);
  CHECK(find(terms, "assemble").difference.visits_ns == 600);
  CHECK(find(terms, "assemble").difference.speed_ns == 0);
  CHECK(find(terms, "smooth").difference.visits_ns == 0);
  CHECK(find(terms, "smooth").difference.speed_ns == 900);
  CHECK(find(terms, "rebuild").difference.visits_ns == 750);
  CHECK(find(terms, "check").difference.total_ns == -100);
  std::int64_t visits = 0, speed = 0;
  for (const auto& t : terms) {
    visits += t.difference.visits_ns;
    speed += t.difference.speed_ns;
  }
  CHECK(visits == 1250);
  CHECK(speed == 900);
}

TEST_CASE("oracle: 10 visits of 1.0 s against 15 of 2.0 s differ by 7.5 for visits and 12.5 for speed") {
  const block_split s = split({10, 10000, 0}, {15, 30000, 0});
  CHECK(s.total_ns == 20000);
  CHECK(s.visits_ns == 7500);
  CHECK(s.speed_ns == 12500);
}

TEST_CASE("work units replace visits where both sides have them") {
  const block_split by_work = split({1, 1000, 10}, {1, 2000, 20});
  CHECK(by_work.visits_ns == 1000);
  CHECK(by_work.speed_ns == 0);
  const block_split one_side = split({1, 1000, 0}, {1, 2000, 20});
  CHECK(one_side.visits_ns == 0);
  CHECK(one_side.speed_ns == 1000);
}

TEST_CASE("time without visits is a matter of speed, unless only one side has units of work") {
  CHECK(split({0, 1000, 0}, {0, 3000, 0}).speed_ns == 2000);
  CHECK(split({0, 1000, 10}, {0, 3000, 30}).speed_ns == 0);
  CHECK(split({0, 0, 0}, {0, 8000, 80}).visits_ns == 8000);
  CHECK(split({0, 8000, 80}, {0, 0, 0}).visits_ns == -8000);
}

TEST_CASE("visits and speed add up to the difference, and swapping the sides negates both") {
  std::mt19937_64 random(1);
  const auto any = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (int i = 0; i != 20000; ++i) {
    const block_use a{any(20), any(1000000), any(3)}, b{any(20), any(1000000), any(3)};
    const block_split x = split(a, b), y = split(b, a);
    CAPTURE(i);
    REQUIRE(x.total_ns == b.ns - a.ns);
    REQUIRE(x.visits_ns + x.speed_ns == x.total_ns);
    REQUIRE(x.total_ns == -y.total_ns);
    REQUIRE(x.visits_ns == -y.visits_ns);
    REQUIRE(x.speed_ns == -y.speed_ns);
  }
}

TEST_CASE("blocks that both sides ran equally are absent") {
  interval_diff<int> d;
  d.waiter(1, 5, 100);
  d.causer(1, 5, 100);
  d.causer(2, 1, 1);
  CHECK(d.terms().size() == 1);
}
