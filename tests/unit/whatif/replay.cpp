#include <whywait/base/vector.hpp>
#include <whywait/whatif/replay.hpp>

#include "../models/support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using namespace whywait::whatif;
using test::near;

TEST_CASE("a late sender makes its receiver wait for exactly the difference and the latency") {
  run_log log;
  const std::uint32_t code = log.label("code"), rest = log.label("rest");
  const place sent = log.add(0, {code, 3.0, 0.1});
  const place received = log.add(1, {code, 1.0, 0.2});
  log.add(0, {rest, 1.0, 0.0});
  log.add(1, {rest, 1.0, 0.0});
  log.messages.push_back({sent, received, 8.0, 0.5});
  const replayed r = replay(log);
  CHECK(near(r.seconds, 3.0 + 0.5 + 0.2 + 1.0));
  CHECK(near(r.waiting_seconds, 2.5));
}

TEST_CASE("a barrier releases all ranks when the last one arrives") {
  run_log log;
  const std::uint32_t code = log.label("code"), barrier = log.label("MPI_Barrier");
  sync_edge s{barrier, {}, {}, 0.25};
  for (std::uint32_t l = 0; l != 3; ++l) {
    const place p = log.add(l, {code, 1.0 + l, 0.0});
    s.in.push_back(p);
    s.out.push_back(p);
  }
  log.syncs.push_back(s);
  const replayed r = replay(log);
  CHECK(near(r.seconds, 3.25));
  CHECK(near(r.waiting_seconds, 2.25 + 1.25 + 0.25));
}

TEST_CASE("a broadcast delays only the ranks that arrive before the root") {
  run_log log;
  const std::uint32_t code = log.label("code"), broadcast = log.label("MPI_Bcast");
  const place root = log.add(0, {code, 2.0, 0.0}), early = log.add(1, {code, 1.0, 0.0}), late = log.add(2, {code, 5.0, 0.0});
  log.syncs.push_back({broadcast, {root}, {early, late}, 0.5});
  const replayed r = replay(log);
  CHECK(near(r.waiting_seconds, 1.5));
  CHECK(near(r.seconds, 5.0));
}

TEST_CASE("a log with a deadlock or dangling references is refused") {
  run_log log;
  const std::uint32_t code = log.label("code");
  const place a = log.add(0, {code, 1.0, 0.0}), b = log.add(0, {code, 1.0, 0.0});
  log.messages.push_back({b, a, 0.0, 0.0});
  CHECK(test::number_of_error([&] { replay(log); }) == "whywait-P022");
  log.messages[0] = {a, {7, 0}, 0.0, 0.0};
  CHECK(test::number_of_error([&] { replay(log); }) == "whywait-P022");
  log.messages.clear();
  log.lines[0][0].work_seconds = -1.0;
  CHECK(test::number_of_error([&] { replay(log); }) == "whywait-P022");
}

TEST_CASE("a sender without buffer waits until the receive is posted, one with a buffer does not") {
  for (const bool rendezvous : {false, true}) {
    run_log log;
    const std::uint32_t code = log.label("code"), rest = log.label("rest");
    const place sent = log.add(0, {code, 1.0, 0.1});
    const place received = log.add(1, {code, 4.0, 0.2});
    log.add(0, {rest, 5.0, 0.0});
    log.add(1, {rest, 1.0, 0.0});
    log.messages.push_back({sent, received, 8.0, 0.5, rendezvous, received, sent});
    const replayed r = replay(log);
    CHECK(near(r.seconds, rendezvous ? 4.0 + 0.5 + 0.1 + 5.0 : 1.0 + 0.1 + 5.0));
    CHECK(near(r.waiting_seconds, rendezvous ? 3.5 + 0.5 : 0.0));
  }
}

TEST_CASE("the call that completes a send without blocking waits for the receiver, the one that begins it does not") {
  run_log log;
  const std::uint32_t code = log.label("code");
  const place begun = log.add(0, {code, 1.0, 0.0}), done = log.add(0, {code, 1.0, 0.0});
  const place posted = log.add(1, {code, 5.0, 0.0}), received = log.add(1, {code, 1.0, 0.0});
  log.messages.push_back({begun, received, 8.0, 0.5, true, posted, done});
  const replayed r = replay(log);
  CHECK(near(r.seconds, 6.0));
  CHECK(near(r.waiting_seconds, 3.5));
}

TEST_CASE("in a scan each rank waits for the lower ranks, in any order of arrival") {
  for (const auto& work : {whywait::base::vector<double>{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 3, 2}}) {
    run_log log;
    const std::uint32_t code = log.label("code"), scan = log.label("MPI_Scan");
    sync_edge s{scan, {}, {}, 0.5, true};
    double last = 0.0, waiting = 0.0;
    for (std::uint32_t l = 0; l != 3; ++l) {
      const place p = log.add(l, {code, work[l], 0.0});
      s.in.push_back(p);
      s.out.push_back(p);
      last = std::max(last, work[l]);
      waiting += last + 0.5 - work[l];
    }
    log.syncs.push_back(s);
    const replayed r = replay(log);
    CHECK(near(r.seconds, 3.5));
    CHECK(near(r.waiting_seconds, waiting));
  }
}
