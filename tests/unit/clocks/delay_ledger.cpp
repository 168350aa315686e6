#include <whywait/base/vector.hpp>
#include <whywait/clocks/delay_ledger.hpp>

#include "delay_simulation.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace delays;

TEST_CASE("the books of two calls: the wait without the overhead") {
  delay_ledger<> books(2);
  const auto sent = books.call(0, 5600, 0, 1600);
  const auto received = books.call(1, 2850, 3950, 850);
  books.needs(received.end, sent.begin, 6800);
  books.close(0, 5800);
  books.close(1, 7100);
  books.replay();
  CHECK(books.wait(received) == 3200);
  CHECK(books.delay(received.end) == 1600);
  CHECK(books.total() == 5500);
  CHECK(books.bound(received.end) == 1600);
  CHECK(books.executed() == 2450);
  CHECK(books.trust(received) == quality::exact);
}

TEST_CASE("an input of a call that was not blocked, without a stamp, changes nothing and is bounded") {
  delay_ledger<> books(2);
  const auto sent = books.call(0, 1000, 0, 0);
  const auto received = books.call(1, 9000, 0, 4000);
  books.needs(received.end, sent.begin, delay_ledger<>::no_stamp);
  books.replay();
  CHECK(books.wait(received) == 0);
  CHECK(books.delay(received.end) == 4000);
  CHECK(books.trust(received) == quality::bounded);
  delay_ledger<delay_range> range(2);
  const auto a = range.call(0, 1000, 0), b = range.call(1, 9000, 0, {4000, 4000});
  range.needs(b.end, a.begin, delay_ledger<delay_range>::no_stamp);
  range.replay();
  CHECK(range.delay(b.end).lo == 0);
  CHECK(range.delay(b.end).hi == 4000);
  CHECK(range.wait(b).hi == 4000);
}

TEST_CASE("a blocked call with one input needs no clock, and a wrong one does no harm") {
  for (const std::int64_t stamp : {std::int64_t{0}, std::int64_t{6800}, std::int64_t{99999}, delay_ledger<>::no_stamp}) {
    delay_ledger<> books(2);
    const auto sent = books.call(0, 5600, 0, 1600), received = books.call(1, 2850, 3950, 850);
    books.needs(received.end, sent.begin, stamp);
    books.replay();
    CHECK(books.wait(received) == 3200);
    CHECK(books.trust(received) == quality::exact);
  }
}

TEST_CASE("a wait below the jitter does not pull the receiver to the sender's delay") {
  delay_ledger<> books(2, 100);
  const auto sent = books.call(0, 5000, 0, 0), received = books.call(1, 5990, 20, 3000);
  books.needs(received.end, sent.begin, 3500);
  books.replay();
  CHECK(books.delay(received.end) == 2510);  // min(3000 + 20, 0 + 2510)
}

TEST_CASE("calls that need each other in a circle are an error, not a hang") {
  delay_ledger<> books(2);
  const auto a = books.call(0, 0, 5), b = books.call(1, 0, 5);
  books.needs(a.end, b.end, 5);
  books.needs(b.end, a.end, 5);
  CHECK_THROWS_AS(books.replay(), std::logic_error);
  CHECK_THROWS_AS(books.needs(a.end, 99, 5), std::out_of_range);
}

TEST_CASE("the caller marks a hidden tree") {
  delay_ledger<> books(1);
  const auto call = books.call(0, 0, 5);
  books.mark(call, quality::hidden_tree);
  books.replay();
  CHECK(books.trust(call) == quality::hidden_tree);
}

TEST_CASE("replay of random programs with stamps equals the run without overhead, to the nanosecond") {
  int calls = 0, inversions = 0;
  ns overhead = 0, waiting = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    program p(seed, 2 + static_cast<int>(seed % 7), 60);
    p.run(true);
    p.keep_record();
    const auto measured_ends = p.ends;
    const auto measured = p.calls;
    const auto waits = p.waits;
    delay_ledger<> books(static_cast<std::size_t>(p.ranks()));
    const auto handles = p.fill(books, [](ns v) { return v; });
    REQUIRE(handles.size() == waits.size());
    books.replay();
    p.run(false);
    REQUIRE(p.waits.size() == waits.size());
    ns total = 0;
    for (std::size_t r = 0; r != p.ends.size(); ++r) {
      REQUIRE(books.final_delay(r) == measured_ends[r].t - p.ends[r].t);
      total = std::max(total, p.ends[r].t);
      overhead += measured_ends[r].t - p.ends[r].t;
    }
    REQUIRE(books.total() == total);
    for (std::size_t c = 0; c != handles.size(); ++c) {
      CAPTURE(c);
      const ns begin = books.delay(handles[c].begin), end = books.delay(handles[c].end);
      REQUIRE(books.wait(handles[c]) == p.waits[c]);
      REQUIRE(begin == measured[c].first.t - p.calls[c].first.t);
      REQUIRE(end == measured[c].second.t - p.calls[c].second.t);
      // C3 (docs/method.md 4.2). The delay lies between the overhead on the critical path without overhead and that on
      // the measured critical path.
      REQUIRE(p.calls[c].second.carried <= end);
      REQUIRE(end <= books.bound(handles[c].end));
      REQUIRE(books.bound(handles[c].end) <= measured[c].second.carried);
      const bool inverted = p.inverted.count(static_cast<int>(c)) != 0;
      REQUIRE((books.trust(handles[c]) == quality::order_suspect) == inverted);
      inversions += inverted ? 1 : 0;
      waiting += p.waits[c];
      ++calls;
    }
    // C8 (docs/method.md 4.2). No message is received before it was sent.
    for (const entry& e : p.log) {
      if (e.what != entry::needs || e.to < 0 || e.from < 0) continue;
      const auto &to = handles[static_cast<std::size_t>(e.to)], &from = handles[static_cast<std::size_t>(e.from)];
      REQUIRE(p.calls[static_cast<std::size_t>(e.to)].second.t >= p.calls[static_cast<std::size_t>(e.from)].first.t);
      REQUIRE(without(measured[static_cast<std::size_t>(e.to)].second.t, books.delay(to.end)) >=
              without(measured[static_cast<std::size_t>(e.from)].first.t, books.delay(from.begin)));
    }
  }
  MESSAGE("400 programs, " << calls << " calls, " << inversions << " inversions");
  CHECK(calls > 20000);
  CHECK(inversions > 100);
  CHECK(overhead > 0);
  CHECK(waiting > 0);
}

TEST_CASE("C4: no result errs by more than the errors on one path") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    program p(seed, 4, 60);
    p.run(true);
    p.keep_record();
    delay_ledger<> exact(4), wrong(4);
    const auto handles = p.fill(exact, [](ns v) { return v; });
    p.fill(wrong, [](ns v) { return v * 2; });  // every overhead has an error of its own size
    exact.replay();
    wrong.replay();
    for (std::size_t c = 0; c != handles.size(); ++c) {
      const ns error = wrong.delay(handles[c].end) - exact.delay(handles[c].end);
      REQUIRE(std::abs(error) <= p.calls[c].second.worst);
    }
  }
}

TEST_CASE("C5: an overhead before everything, the same on all locations, changes no wait") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    program p(seed, 3, 60);
    p.run(true);
    p.keep_record();
    delay_ledger<> plain(3), shifted(3);
    const auto handles = p.fill(plain, [](ns v) { return v; });
    whywait::base::vector<bool> begun(3, false);
    for (entry& e : p.log) {
      if (e.what != entry::call || begun[e.location]) continue;
      begun[e.location] = true;
      e.before += 12345;
    }
    p.fill(shifted, [](ns v) { return v; });
    plain.replay();
    shifted.replay();
    for (const auto& h : handles) {
      REQUIRE(plain.wait(h) == shifted.wait(h));
      REQUIRE(plain.delay(h.end) + 12345 == shifted.delay(h.end));
    }
  }
}

TEST_CASE("C7: overhead with an error of a tenth gives intervals that contain the truth") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    program p(seed, 4, 60);
    p.run(true);
    p.keep_record();
    delay_ledger<> exact(4);
    delay_ledger<delay_range> range(4);
    p.fill(exact, [](ns v) { return v; });
    const auto handles = p.fill(range, [](ns v) { return delay_range{v - v / 10, v + v / 10}; });
    exact.replay();
    range.replay();
    for (const auto& h : handles) {
      const ns x = exact.delay(h.end), w = exact.wait({h.begin, h.end});
      REQUIRE(range.delay(h.end).lo <= x);
      REQUIRE(range.delay(h.end).hi >= x);
      REQUIRE(range.wait(h).lo <= w);
      REQUIRE(range.wait(h).hi >= w);
    }
    REQUIRE(range.total().lo <= exact.total());
    REQUIRE(range.total().hi >= exact.total());
  }
}
