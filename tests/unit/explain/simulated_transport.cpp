#include <whywait/base/vector.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include "reference_simulation.hpp"

#include <doctest/doctest.h>

#include <numeric>

using whywait::base::packet;
using whywait::base::put;
using whywait::explain::simulated_transport;

TEST_CASE("an exchange delivers every packet and ends when no rank sends") {
  const std::int32_t ranks = 5;
  simulated_transport t(ranks);
  whywait::base::vector<int> got(ranks, 0), said(ranks, 0);
  t.exchange(
      [&](std::int32_t i, auto&& to, std::size_t room) {
        CHECK(room > 0);
        if (said[static_cast<std::size_t>(i)]++ > 1) return;  // sends twice
        for (std::int32_t k = 0; k <= i; ++k) put(to(k), i);
      },
      [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
        whywait::base::packet_reader in(data, size);
        CHECK(in.get<std::int32_t>() == source);
        CHECK(in.empty());
        CHECK(source >= i);
        ++got[static_cast<std::size_t>(i)];
      });
  CHECK(got == whywait::base::vector<int>{10, 8, 6, 4, 2});
  CHECK(said == whywait::base::vector<int>{3, 3, 3, 3, 3});
}

TEST_CASE("packets of an exchange may be answered in its next round") {
  simulated_transport t(2);
  whywait::base::vector<int> next{7, 0};
  int heard = 0;
  t.exchange(
      [&](std::int32_t i, auto&& to, std::size_t) {
        int& mine = next[static_cast<std::size_t>(i)];
        if (mine > 0) put(to(1 - i), mine);
        mine = 0;
      },
      [&](std::int32_t i, std::int32_t, const unsigned char* data, std::size_t size) {
        next[static_cast<std::size_t>(i)] = whywait::base::packet_reader(data, size).get<int>() - 1;
        ++heard;
      });
  CHECK(heard == 7);
}

TEST_CASE("a reduction reaches rank 0 from every rank once") {
  for (std::int32_t ranks = 1; ranks != 18; ++ranks) {
    simulated_transport t(ranks);
    whywait::base::vector<int> sum(static_cast<std::size_t>(ranks));
    std::iota(sum.begin(), sum.end(), 1);
    t.reduce(
        [&](std::int32_t i) {
          packet p;
          put(p, sum[static_cast<std::size_t>(i)]);
          return p;
        },
        [&](std::int32_t i, const unsigned char* data, std::size_t size) {
          sum[static_cast<std::size_t>(i)] += whywait::base::packet_reader(data, size).get<int>();
        });
    CHECK(sum[0] == ranks * (ranks + 1) / 2);
  }
}

TEST_CASE("ranks that wait for each other in a circle are an error, not a hang") {
  simulated_transport t(2);
  CHECK_THROWS_AS(t.forward([](std::int32_t, auto&&) { return false; },
                            [](std::int32_t, std::int32_t, const unsigned char*, std::size_t) {}),
                  std::logic_error);
}

TEST_CASE("clock errors cannot cause a deadlock") {
  using namespace histories;
  // Each sends before it receives, but by its clock the other's send comes during its receive.
  run r(2);
  for (int k = 0; k != 3; ++k) {
    const auto t = static_cast<std::uint64_t>(100 * k);
    for (int i = 0; i != 2; ++i) {
      r[i].send(t + 10, t + 60, 1 - i);
      r[i].receive(t + 60, t + 90, 1 - i);
    }
  }
  for (int shift = -300; shift <= 300; shift += 7) {
    r[1].clock.offset_ns = shift;
    CHECK_NOTHROW(r.explain());
  }
}

TEST_CASE("the number of histories must be that of the hosted ranks") {
  simulated_transport t(2);
  whywait::base::vector<whywait::explain::rank_history> one(1);
  CHECK_THROWS_AS(whywait::explain::explain(t, one), std::invalid_argument);
}

TEST_CASE("the result does not depend on how much fits into the packets of an exchange") {
  using namespace histories;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    reference::shape shape;
    shape.ranks = 2 + static_cast<int>(seed % 5);
    shape.events = 60;
    reference::program program(seed, shape);
    run& r = program.histories();
    const auto expected = r.explain();
    const auto all = r.views();
    for (const std::size_t room : {std::size_t{1}, std::size_t{200}, std::size_t{1} << 30}) {
      CAPTURE(seed);
      CAPTURE(room);
      simulated_transport t(r.ranks(), room);
      const auto found = explain::explain(t, all, run::exact());
      CHECK(found.waiting_ns == expected.waiting_ns);
      CHECK(found.unmatched == expected.unmatched);
      CHECK(found.clock_violations == expected.clock_violations);
      REQUIRE(found.waits.size() == expected.waits.size());
      for (std::size_t i = 0; i != found.waits.size(); ++i) {
        const auto &a = found.waits[i], &b = expected.waits[i];
        CHECK(a.why == b.why);
        CHECK(a.operation == b.operation);
        CHECK(a.cause == b.cause);
        CHECK(a.trust == b.trust);
        CHECK(a.count == b.count);
        CHECK(a.wait_ns == b.wait_ns);
        CHECK(a.unexplained_ns == b.unexplained_ns);
        CHECK(a.indirect_ns == b.indirect_ns);
        REQUIRE(a.residual.size() == b.residual.size());
        for (std::size_t k = 0; k != a.residual.size(); ++k) {
          CHECK(a.residual[k].block == b.residual[k].block);
          CHECK(a.residual[k].total_ns == b.residual[k].total_ns);
          CHECK(a.residual[k].causer_visits == b.residual[k].causer_visits);
          CHECK(a.residual[k].waiter_visits == b.residual[k].waiter_visits);
        }
      }
    }
  }
}

TEST_CASE("before a rank advances its memory is prefetched step by step, and its messages arrive in order") {
  constexpr int ranks = 150, steps = 3, rounds = 4;  // more than two blocks
  simulated_transport t(ranks);
  whywait::base::vector<int> asked(ranks, 0), sent(ranks, 0), heard(ranks, 0);
  std::uint64_t random = 7;
  t.forward(
      [&](std::int32_t i, auto&& post) {
        CHECK(asked[static_cast<std::size_t>(i)] == steps);
        asked[static_cast<std::size_t>(i)] = 0;
        // Starts a round when all messages of the previous round have arrived, with two messages to the next rank and
        // one to another.
        int& mine = sent[static_cast<std::size_t>(i)];
        for (; mine != rounds && heard[static_cast<std::size_t>(i)] >= 2 * mine; ++mine) {
          for (int k = 0; k != 2; ++k) {
            post((i + 1) % ranks, packet{static_cast<unsigned char>(2 * mine + k), 1});
          }
          random = random * 6364136223846793005u + 1442695040888963407u;
          post(static_cast<std::int32_t>((random >> 33) % ranks), packet{0});
        }
        return mine == rounds && heard[static_cast<std::size_t>(i)] == 2 * rounds;
      },
      [&](std::int32_t i, std::int32_t source, const unsigned char* data, std::size_t size) {
        CHECK(asked[static_cast<std::size_t>(i)] == steps);
        if (size == 1) return;
        CHECK(source == (i + ranks - 1) % ranks);
        CHECK(int(data[0]) == heard[static_cast<std::size_t>(i)]++);
      },
      [&](std::int32_t i, int step) { CHECK(step == asked[static_cast<std::size_t>(i)]++); }, steps);
  for (const int h : heard) CHECK(h == 2 * rounds);
}
