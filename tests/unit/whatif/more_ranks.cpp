#include <whywait/base/vector.hpp>
#include <whywait/whatif/ask.hpp>

#include "../models/support.hpp"
#include "relaxed_log.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace whywait::models;
using namespace whywait::whatif;
using test::near;

namespace {

/// A program that can be generated for any number of ranks.
struct written {
  std::uint32_t ranks;
  double work = 1.0;
  run_log log = {};

  place step(std::uint32_t rank, const char* label, double seconds, double call = 0.0) {
    return log.add(rank, {log.label(label), seconds, call});
  }
  void message(const place& from, const place& to) { log.messages.push_back({from, to, 8.0, 0.01}); }
};

/// A pipeline with a collective at the end of each of three rounds.
void pipeline(written& p) {
  for (int round = 0; round != 3; ++round) {
    for (int tile = 0; tile != 4; ++tile) {
      place sent;
      for (std::uint32_t r = 0; r != p.ranks; ++r) {
        const place got = r > 0 ? p.step(r, "receive", 0.0) : place();
        if (r > 0) p.message(sent, got);
        sent = p.step(r, "send", p.work);
      }
    }
    sync_edge s{p.log.label("MPI_Allreduce"), {}, {}, 0.0};
    for (std::uint32_t r = 0; r != p.ranks; ++r) {
      const place at = p.step(r, "agree", 0.0);
      s.in.push_back(at);
      s.out.push_back(at);
    }
    p.log.syncs.push_back(s);
  }
}

/// Exchange with both neighbours in a ring, then rank 0 receives from all ranks in turn.
void ring_and_root(written& p) {
  for (int round = 0; round != 5; ++round) {
    whywait::base::vector<place> sent(p.ranks), got(p.ranks);
    for (std::uint32_t r = 0; r != p.ranks; ++r) sent[r] = p.step(r, "send", p.work);
    for (std::uint32_t r = 0; r != p.ranks; ++r) got[r] = p.step(r, "wait", 0.0);
    for (std::uint32_t r = 0; r != p.ranks; ++r)
      for (const std::uint32_t d : {1u, p.ranks - 1}) p.message(sent[r], got[(r + d) % p.ranks]);
    for (std::uint32_t r = 1; r != p.ranks; ++r) p.message(p.step(r, "give", 0.0), p.step(0, "take", 0.0, 0.1));
  }
}

run_log written_for(std::uint32_t ranks, double work, void (*program)(written&)) {
  written p{ranks, work};
  program(p);
  p.log.measured_seconds = seconds_by_relaxation(p.log);
  return p.log;
}

std::string refusal(const run_log& log, const char* question) { return ask(log, parse_questions(question)).front().refusal; }

}  // namespace

TEST_CASE("a program on more ranks takes exactly as long as the same program written for them") {
  for (const auto program : {pipeline, ring_and_root})
    for (const std::uint32_t ranks : {3u, 4u, 5u})
      for (const std::uint32_t times : {2u, 3u}) {
        if (program == ring_and_root && ranks == 3) continue;  // all ranks are neighbours of each other
        CAPTURE(ranks);
        CAPTURE(times);
        const run_log log = written_for(ranks, 1.0, program);
        const std::string by = "ranks x" + std::to_string(times);
        for (const bool weak : {false, true}) {
          const answer a = ask(log, parse_questions(by + (weak ? " weak" : ""))).front();
          REQUIRE_MESSAGE(a.answered, a.refusal);
          CHECK(near(a.seconds, written_for(ranks * times, weak ? 1.0 : 1.0 / times, program).measured_seconds, 1e-6));
        }
      }
}

TEST_CASE("fewer ranks take over the work of the others") {
  const answer a = ask(written_for(8, 1.0, pipeline), parse_questions("ranks x0.5")).front();
  REQUIRE_MESSAGE(a.answered, a.refusal);
  CHECK(near(a.seconds, written_for(4, 2.0, pipeline).measured_seconds, 1e-6));
}

TEST_CASE("work of a single rank is neither shared nor repeated") {
  run_log log;
  const std::uint32_t step = log.label("step"), alone = log.block("alone"), all = log.block("all");
  sync_edge s{log.label("MPI_Barrier"), {}, {}, 0.0};
  for (std::uint32_t r = 0; r != 2; ++r) {
    activity a{step, r == 0 ? 9.0 : 8.0, 0.0};
    if (r == 0) a.blocks.push_back({alone, 1.0});
    a.blocks.push_back({all, 8.0});
    const place p = log.add(r, a);
    s.in.push_back(p);
    s.out.push_back(p);
  }
  log.syncs.push_back(s);
  run_log changed;
  std::string why_not;
  REQUIRE(change(log, parse_questions("ranks x2").front(), changed, why_not));
  REQUIRE(changed.lines.size() == 4);
  CHECK(near(changed.lines[0][0].work_seconds, 5.0));
  for (std::size_t r = 1; r != 4; ++r) CHECK(near(changed.lines[r][0].work_seconds, 4.0));
}

TEST_CASE("messages that are not understood are refused with their call") {
  CHECK(refusal(written_for(2, 1.0, pipeline), "ranks x2").find("fewer than 3 ranks") != std::string::npos);
  CHECK(refusal(written_for(4, 1.0, pipeline), "ranks x1.1").find("not a valid number of ranks") != std::string::npos);
  CHECK(refusal(written_for(3, 1.0, ring_and_root), "ranks x2").find("every other") != std::string::npos);
  CHECK(refusal(written_for(8, 1.0, ring_and_root), "ranks x0.5").find("rank 0") != std::string::npos);
  const auto among = [](std::uint32_t ranks, const std::function<bool(std::uint32_t, std::uint32_t)>& talk) {
    written p{ranks};
    whywait::base::vector<place> sent(ranks), got(ranks);
    for (std::uint32_t r = 0; r != ranks; ++r) sent[r] = p.step(r, "send in exchange", 1.0);
    for (std::uint32_t r = 0; r != ranks; ++r) got[r] = p.step(r, "wait", 0.0);
    for (std::uint32_t a = 0; a != ranks; ++a)
      for (std::uint32_t b = 0; b != ranks; ++b)
        if (a != b && talk(a, b)) p.message(sent[a], got[b]);
    p.log.measured_seconds = replay(p.log).seconds;
    return p.log;
  };
  const auto all = among(4, [](std::uint32_t, std::uint32_t) { return true; });
  CHECK(refusal(all, "ranks x2").find("send in exchange") != std::string::npos);
  const auto butterfly = among(8, [](std::uint32_t a, std::uint32_t b) { return (a ^ b) == 2; });
  CHECK(refusal(butterfly, "ranks x2") != "");
  const auto grid = among(9, [](std::uint32_t a, std::uint32_t b) {
    return (a / 3 == b / 3 && (a + 1 == b || b + 1 == a)) || a + 3 == b || b + 3 == a;
  });
  CHECK(refusal(grid, "ranks x2") != "");
  const auto one = among(4, [](std::uint32_t a, std::uint32_t b) { return a == 1 && b == 2; });
  CHECK(refusal(one, "ranks x2") != "");
}

TEST_CASE("collectives of a part of the ranks are refused") {
  written p{4};
  sync_edge s{p.log.label("MPI_Barrier"), {}, {}, 0.0};
  for (std::uint32_t r = 0; r != 4; ++r) {
    const place at = p.step(r, "step", 1.0);
    if (r < 2) {
      s.in.push_back(at);
      s.out.push_back(at);
    }
  }
  p.log.syncs.push_back(s);
  p.log.measured_seconds = 1.0;
  CHECK(refusal(p.log, "ranks x2").find("part of the ranks") != std::string::npos);
}

TEST_CASE("ranks of several threads are refused") {
  run_log log = written_for(4, 1.0, pipeline);
  log.ranks = {0, 0, 1, 1};
  CHECK(refusal(log, "ranks x2").find("threads") != std::string::npos);
}

TEST_CASE("a log that would be too long is refused, one of 4 million activities is not") {
  // refused in both cases, because the only message is not understood
  run_log log;
  const std::uint32_t step = log.label("step");
  for (std::uint32_t r = 0; r != 4; ++r)
    for (int i = 0; i != 10; ++i) log.add(r, {step, 1.0, 0.0});
  log.messages.push_back({{1, 0}, {2, 1}, 8.0, 0.01});
  log.measured_seconds = replay(log).seconds;
  CHECK(refusal(log, "ranks x100001").find("too long") != std::string::npos);
  const std::string at_limit = refusal(log, "ranks x100000");
  CHECK(at_limit != "");
  CHECK(at_limit.find("too long") == std::string::npos);
}

TEST_CASE("the interval for other numbers of ranks covers half of what the network takes") {
  // Each step is 1 s of work and 1 s in the collective call itself, so that the network takes half of the run.
  run_log log;
  const std::uint32_t step = log.label("step"), sum = log.label("MPI_Allreduce");
  for (int i = 0; i != 20; ++i) {
    sync_edge s{sum, {}, {}, 0.0};
    for (std::uint32_t r = 0; r != 4; ++r) {
      const place p = log.add(r, {step, 1.0, 1.0});
      s.in.push_back(p);
      s.out.push_back(p);
    }
    log.syncs.push_back(s);
  }
  log.measured_seconds = replay(log).seconds;
  const answer a = ask(log, parse_questions("ranks x2")).front();
  REQUIRE(a.refusal == "");
  REQUIRE(near(log.measured_seconds, 40.0));
  CHECK(a.high_seconds - a.seconds >= 0.5 * 0.5 * a.seconds * (1 - 1e-9));
  CHECK(a.seconds - a.low_seconds >= 0.5 * 0.5 * a.seconds * (1 - 1e-9));
}
