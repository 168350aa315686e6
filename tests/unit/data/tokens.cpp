#include <whywait/data/analysis/tokens.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

namespace data = whywait::data;

TEST_CASE("equal tokens in a row are one entry, however they are taken") {
  data::token_queue q;
  for (std::uint32_t i = 1; i <= 1000; ++i) q.push({7, i, 1, 3, 1, 1, 0, 0, 0});
  CHECK(q.entries() == 1);
  data::token t;
  CHECK(q.take(500, t));
  CHECK(q.take(1, t));
  CHECK(q.take(1000, t));
  CHECK_FALSE(q.take(500, t));
  CHECK_FALSE(q.take(1001, t));
  CHECK(q.entries() == 2);
  CHECK(q.left() == 997);
}

TEST_CASE("every token is taken once, with what it carried, in any order") {
  for (std::uint64_t seed = 1; seed != 100; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint32_t low, std::uint32_t high) {
      return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
    };
    data::token_queue q;
    std::map<std::uint32_t, std::uint32_t> waiting;
    std::uint32_t next = 1;
    for (int step = 0; step != 400; ++step) {
      if (pick(0, 1) == 0) {
        const std::uint32_t offer = pick(0, 2);
        q.push({7, next, 1, offer, 1, 1, 0, 0, 0});
        waiting[next++] = offer;
        continue;
      }
      const std::uint32_t order = pick(0, 3) == 0 || waiting.empty() ? pick(1, next + 2) : waiting.begin()->first;
      data::token t;
      const bool there = q.take(order, t);
      REQUIRE(there == (waiting.count(order) != 0));
      if (there) CHECK(t.offer == waiting[order]);
      waiting.erase(order);
    }
    CHECK(q.left() == static_cast<std::int64_t>(waiting.size()));
  }
}

TEST_CASE("announced messages are found again, in whatever order they were announced") {
  data::announcements sent, received;
  std::set<std::uint32_t> plain;
  for (std::uint32_t i = 1; i != 200; ++i) {
    if (i % 7 == 0 || i % 5 == 0) continue;
    sent.add(9, i, i);
    plain.insert(i);
  }
  sent.add(9, 500, 500);
  sent.add(9, 300, 310);
  whywait::base::packet packet;
  sent.pack(packet);
  received.receive(packet.data(), packet.size());
  for (std::uint32_t i = 0; i != 200; ++i) CHECK(received.holds(9, i) == (plain.count(i) != 0));
  CHECK(received.holds(9, 305));
  CHECK(received.holds(9, 500));
  CHECK_FALSE(received.holds(9, 311));
  CHECK_FALSE(received.holds(8, 1));
}
