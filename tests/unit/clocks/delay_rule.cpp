#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_pairs.hpp>
#include <whywait/clocks/delay_rule.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace whywait::clocks;
using time_ns = std::int64_t;

TEST_CASE("a wait that measurement alone caused disappears, and becomes delay") {
  delay_rule<> r(2000, 4200);
  r.input(9000, 0);
  CHECK(r.wait() == 0);
  CHECK(r.delay() == 6200);
}

TEST_CASE("a wait that overhead on the receiver hid appears") {
  delay_rule<> r(4000, 0);
  r.input(1000, 2800);
  CHECK(r.wait() == 200);
  CHECK(r.delay() == 3800);
}

TEST_CASE("an input without a clock changes nothing as a number, and everything it could as an interval") {
  delay_rule<> number(4000, 0);
  number.input_unknown(1000);
  CHECK(number.wait() == 0);
  CHECK(number.delay() == 4000);
  delay_rule<delay_range> range(delay_range{4000, 4000}, 0);
  range.input_unknown({1000, 1000});
  CHECK(range.wait().lo == 0);
  CHECK(range.wait().hi == 3000);
  CHECK(range.delay().lo == 1000);
  CHECK(range.delay().hi == 4000);
}

TEST_CASE("inconsistent clocks are clamped, so that no message comes from the future") {
  delay_rule<> r(500, 0);
  r.input(300, -1000);
  CHECK(r.delay() == 300);
}

namespace {

struct input {
  time_ns x, slack, cost;
};

whywait::base::vector<input> random_inputs(std::mt19937_64& random) {
  whywait::base::vector<input> all(random() % 5);
  for (input& i : all) {
    i = {static_cast<time_ns>(random() % 9000), static_cast<time_ns>(random() % 9000), static_cast<time_ns>(random() % 400)};
  }
  return all;
}

}  // namespace

TEST_CASE("C1, C2: the reduction of a wait becomes delay, and neither is ever negative") {
  std::mt19937_64 random(20051);
  for (int n = 0; n != 20000; ++n) {
    const time_ns x = static_cast<time_ns>(random() % 9000), w = static_cast<time_ns>(random() % 9000);
    delay_rule<> r(x, w);
    for (const input& i : random_inputs(random)) r.input(i.x, i.slack, i.cost);
    REQUIRE(r.delay() - x == w - r.wait());
    REQUIRE(r.delay() >= 0);
    REQUIRE(r.wait() >= 0);
  }
}

TEST_CASE("C4: errors never grow: the result errs by no more than the worst input") {
  std::mt19937_64 random(20054);
  for (int n = 0; n != 20000; ++n) {
    const time_ns x = static_cast<time_ns>(random() % 9000), w = static_cast<time_ns>(random() % 9000);
    const auto error = [&random] { return static_cast<time_ns>(random() % 201) - 100; };
    const time_ns own_error = error();
    time_ns worst = std::abs(own_error);
    delay_rule<> exact(x, w), wrong(x + own_error, w);
    for (const input& i : random_inputs(random)) {
      const time_ns x_error = error(), cost_error = error();
      worst = std::max(worst, std::abs(x_error) + std::abs(cost_error));
      exact.input(i.x, i.slack, i.cost);
      wrong.input(i.x + x_error, i.slack, i.cost + cost_error);
    }
    REQUIRE(std::abs(exact.delay() - wrong.delay()) <= worst);
  }
}

TEST_CASE("C5: the same delay on all inputs changes no wait") {
  std::mt19937_64 random(20055);
  for (int n = 0; n != 20000; ++n) {
    const time_ns x = static_cast<time_ns>(random() % 9000), w = static_cast<time_ns>(random() % 9000);
    const time_ns shift = static_cast<time_ns>(random() % 5000);
    delay_rule<> here(x, w), there(x + shift, w);
    for (const input& i : random_inputs(random)) {
      here.input(i.x, i.slack, i.cost);
      there.input(i.x + shift, i.slack, i.cost);
    }
    REQUIRE(here.wait() == there.wait());
    REQUIRE(here.delay() + shift == there.delay());
  }
}

TEST_CASE("C6: an input that was there longer than own delay and wait together cannot matter") {
  std::mt19937_64 random(20056);
  for (int n = 0; n != 20000; ++n) {
    const time_ns x = static_cast<time_ns>(random() % 9000), w = static_cast<time_ns>(random() % 9000);
    delay_rule<> with(x, w), without_it(x, w);
    for (const input& i : random_inputs(random)) {
      with.input(i.x, i.slack, i.cost);
      without_it.input(i.x, i.slack, i.cost);
    }
    with.input(static_cast<time_ns>(random() % 9000), x + w + static_cast<time_ns>(random() % 100));
    REQUIRE(with.delay() == without_it.delay());
    REQUIRE(with.wait() == without_it.wait());
  }
}

TEST_CASE("C7: intervals contain the result of each of their points") {
  std::mt19937_64 random(20057);
  for (int n = 0; n != 20000; ++n) {
    const time_ns x = static_cast<time_ns>(random() % 9000), w = static_cast<time_ns>(random() % 9000);
    const auto around = [&random](time_ns v) {
      return delay_range{v - static_cast<time_ns>(random() % 300), v + static_cast<time_ns>(random() % 300)};
    };
    delay_rule<> point(x, w);
    delay_rule<delay_range> range(around(x), w);
    for (const input& i : random_inputs(random)) {
      point.input(i.x, i.slack, i.cost);
      if (random() % 4 == 0) {
        range.input_unknown(around(i.x + i.cost));
      } else {
        range.input(around(i.x), i.slack, {i.cost, i.cost});
      }
    }
    REQUIRE(range.delay().lo <= point.delay());
    REQUIRE(range.delay().hi >= point.delay());
    REQUIRE(range.wait().lo <= point.wait());
    REQUIRE(range.wait().hi >= point.wait());
  }
}

TEST_CASE("the arithmetic of pairs of clocks is that of each clock") {
  std::mt19937_64 random(17);
  for (int n = 0; n != 2000; ++n) {
    const std::size_t clocks = 1 + random() % 6;
    const time_ns w = static_cast<time_ns>(random() % 9000), go = static_cast<time_ns>(random() % 90000);
    const time_ns far = n % 3 == 0 ? time_ns{1} << 60 : 0;  // nothing is cut to 32 bits
    clock_bank<6> delay, ready, waits, more, at;
    for (std::size_t h = 0; h != clocks; ++h) {
      delay[h] = static_cast<time_ns>(random() % 9000) - 1000 + far;
      ready[h] = go - static_cast<time_ns>(random() % 20000) + 5000 - far;
      more[h] = static_cast<time_ns>(random() % 500) - 100;
    }
    const clock_bank<6> before = delay;
    whywait::clocks::take_input(delay, w, go, ready, waits, clocks);
    clock_bank<6> sum = delay;
    whywait::clocks::add(sum, more, clocks);
    whywait::clocks::set_without(at, go, sum, clocks);
    for (std::size_t h = 0; h != clocks; ++h) {
      delay_rule<> alone(before[h], w);
      alone.input(whywait::clocks::without(go, ready[h]), 0);
      REQUIRE(delay[h] == alone.delay());
      REQUIRE(waits[h] == alone.wait());
      REQUIRE(at[h] == whywait::clocks::without(go, alone.delay() + more[h]));
    }
  }
}

TEST_CASE("a bank of clocks is as many rules at once") {
  std::mt19937_64 random(16);
  for (int n = 0; n != 2000; ++n) {
    const time_ns w = static_cast<time_ns>(random() % 9000);
    clock_bank<4> own;
    for (std::size_t h = 0; h != 4; ++h) own[h] = static_cast<time_ns>(random() % 9000) - 1000;
    delay_rule<clock_bank<4>> together(own, w);
    whywait::base::vector<delay_rule<>> apart;
    for (std::size_t h = 0; h != 4; ++h) apart.emplace_back(own[h], w);
    for (int k = 0; k != 3; ++k) {
      clock_bank<4> x, cost;
      const time_ns slack = static_cast<time_ns>(random() % 5000);
      for (std::size_t h = 0; h != 4; ++h) {
        x[h] = static_cast<time_ns>(random() % 9000) - 1000;
        cost[h] = static_cast<time_ns>(random() % 400);
        apart[h].input(x[h], slack, cost[h]);
      }
      together.input(x, slack, cost);
    }
    for (std::size_t h = 0; h != 4; ++h) {
      REQUIRE(together.delay()[h] == apart[h].delay());
      REQUIRE(together.wait()[h] == apart[h].wait());
    }
  }
}
