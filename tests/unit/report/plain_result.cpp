#include <whywait/report/plain_packet.hpp>
#include <whywait/report/plain_result.hpp>
#include <whywait/result.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <stdexcept>
#include <string>
#include <utility>

using namespace sample;

namespace {

base::packet packed(whywait::result r) { return reports::pack(r); }

/// A result with something in every member.
whywait::result complete_result() {
  explain::outcome o = outcome({late_sender()});
  o.total_ns = 10 * second;
  o.efficiency = {0.6, 0.75, 0.89, 0.9, 1.0, 0, 0};
  o.critical_path = {{compute, 9 * second, 2 * second, 10}};
  reports::run_facts f = facts();
  f.origin.program = "./app";
  f.origin.arguments = {"-n", "3"};
  f.origin.date = "2026-11-24T15:04:05+01:00";
  f.origin.nodes = 2;
  f.warnings = {"a warning"};
  reports::result r = reported(o, names(), f);
  r.not_understood.calls = {{call("MPI_Win_fence", "main", "win.cpp", 12), 3, 0.5, 0}};
  reports::region_entry region;
  region.where = *names().find(compute);
  region.visits = 80;
  region.ranks = 8;
  region.min_seconds = 1;
  region.max_seconds = 3;
  region.seconds = 16;
  region.max_rank = 5;
  region.mpi_seconds = 4;
  region.efficiency = {0.5, 0.8, 0.625};
  r.profile.regions = {region};
  reports::traffic_entry traffic;
  traffic.where = *names().find(send);
  traffic.count = 10;
  traffic.bytes = 1000;
  traffic.sizes = {{64, 10, 1000}};
  r.profile.messages = {traffic};
  r.profile.ranks = {{0, 12.0, 3.0, 1.0}, {1, 12.0, 2.0, 0.5}};
  r.profile.hosts = {"a", "b"};
  r.prediction.measured_seconds = 12;
  whywait::whatif::answer answer;
  answer.question = "balance";
  answer.measured_seconds = 12;
  answer.seconds = 9;
  answer.low_seconds = 8;
  answer.high_seconds = 10;
  r.prediction.answers = {answer};
  return reports::plain(std::move(r));
}

}  // namespace

TEST_CASE("a program reads waits, their causes and who waited") {
  const whywait::result r = complete_result();
  REQUIRE(r);
  CHECK(r.ranks == 8);
  CHECK(r.seconds == doctest::Approx(12.4));
  CHECK(r.waiting_share() == doctest::Approx(18.9 / r.rank_seconds));
  REQUIRE(r.waits.size() == 1);
  const whywait::result::wait& w = r.waits[0];
  CHECK(w.pattern == "late_sender");
  CHECK(w.operation.text == "MPI_Recv in exchange (halo.cpp:142)");
  CHECK(w.late_call.call == "MPI_Send");
  CHECK(w.late_call.line == 131);
  double sum = w.unexplained_seconds;
  for (const whywait::result::cause& c : w.causes) sum += c.seconds;
  CHECK(sum == doctest::Approx(w.seconds));
  CHECK(w.causes[0].block == "compute_interior");
  CHECK(w.causes[0].remark == "same visits, each 1.9 ms slower");
  CHECK(r.cause_of() == "compute_interior");
  CHECK(r.cause_of("MPI_Recv") == "compute_interior");
  CHECK(r.cause_of("halo.cpp:142") == "compute_interior");
  CHECK(r.cause_of("main/exchange") == "compute_interior");
  CHECK(r.cause_of("MPI_Barrier") == "");
  CHECK(r.waiting_at("MPI_Recv") == doctest::Approx(w.seconds));
  CHECK(r.waiting_at("MPI_Barrier") == 0);
  REQUIRE(r.find_region("compute_interior") != nullptr);
  CHECK(r.find_region("compute_interior")->mean_seconds == doctest::Approx(2));
  CHECK(r.find_region("compute_interior")->mpi_share() == doctest::Approx(0.25));
  CHECK(r.find_region("other") == nullptr);
  CHECK(r.each_rank[1].host == "b");
  CHECK(r.predictions[0].saving_seconds == doctest::Approx(3));
  CHECK(r.arguments == "-n 3");
  CHECK(r.text().find("whywait · ") == 0);
  CHECK(r.json().find("\"schema\"") != std::string::npos);
}

TEST_CASE("the other ranks receive the same result, without its texts") {
  whywait::result first = complete_result();
  const base::packet bytes = packed(first);
  const whywait::result other = reports::unpack_result(bytes.data(), bytes.size());
  CHECK(packed(other) == bytes);
  CHECK(other.waits[0].causes[0].block == "compute_interior");
  CHECK(other.waits[0].waiters.size() == first.waits[0].waiters.size());
  CHECK(other.regions[0].efficiency->load_balance == doctest::Approx(0.8));
  CHECK(other.messages[0].sizes[0].least_bytes == 64);
  CHECK(other.critical_path.size() == first.critical_path.size());
  CHECK(other.unknown_calls[0].where.text == "MPI_Win_fence in main (win.cpp:12)");
  CHECK(other.text() == "");
  CHECK(other.json() == "");
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    CHECK_THROWS_AS(reports::unpack_result(bytes.data(), size), std::out_of_range);
}

TEST_CASE("a part of a run is the difference of two results") {
  const whywait::result now = complete_result();
  CHECK(now.since({}).waits[0].seconds == doctest::Approx(now.waits[0].seconds));
  CHECK(now.since(now).waits.empty());
  CHECK(now.since(now).seconds == 0);

  whywait::result before = now;
  before.seconds = 4;
  before.rank_seconds /= 2;
  before.waiting_seconds -= 10;
  whywait::result::wait& w = before.waits[0];
  w.seconds -= 10;
  w.count -= 100;
  w.causes[0].seconds -= 10;
  w.causes[0].late_visits -= 50;
  w.waiters[0].seconds -= 4;
  before.regions[0].visits -= 30;
  before.regions[0].mean_seconds -= 1;
  before.messages[0].count = 4;
  before.messages[0].sizes[0].count = 4;
  before.each_rank[0] = {0, "a", 4, 1, 0.5, 0};
  before.each_rank[1] = {1, "b", 4, 2, 0.5, 0};
  const whywait::result part = now.since(before);
  CHECK(part.seconds == doctest::Approx(8.4));
  CHECK(part.waiting_seconds == doctest::Approx(10));
  REQUIRE(part.waits.size() == 1);
  CHECK(part.waits[0].seconds == doctest::Approx(10));
  CHECK(part.waits[0].count == 100);
  CHECK(part.waits[0].longest_seconds == 0);  // it may have been before
  REQUIRE(part.waits[0].causes.size() == 1);
  CHECK(part.waits[0].causes[0].seconds == doctest::Approx(10));
  CHECK(part.waits[0].causes[0].late_visits == 50);
  REQUIRE(part.waits[0].waiters.size() == 1);
  CHECK(part.waits[0].waiters[0].seconds == doctest::Approx(4));
  CHECK(part.regions[0].visits == 30);
  CHECK(part.regions[0].mean_seconds == doctest::Approx(1));
  CHECK(!part.regions[0].efficiency);
  CHECK(part.messages[0].count == 6);
  CHECK(part.messages[0].sizes[0].count == 6);
  // rank 0: 8 s, 2 of them in MPI; rank 1: 8 s, all but 0 of them outside
  REQUIRE(part.efficiency);
  CHECK(part.efficiency->load_balance == doctest::Approx((6 + 8) / 2.0 / 8));
  CHECK(part.efficiency->parallel == doctest::Approx((6 + 8) / 2.0 / 8.4));
  CHECK(part.verdict.empty());
  CHECK(part.text() == "");
}

TEST_CASE("an earlier result without callers is a part of a later one with callers") {
  whywait::result before;
  before.waits.emplace_back();
  whywait::result::wait& w = before.waits[0];
  w.pattern = "wait_at_barrier";
  w.seconds = 3;
  w.count = 30;
  w.operation.call = w.late_call.call = "MPI_Barrier";
  w.operation.text = w.late_call.text = "MPI_Barrier in run (a.cpp:5)";
  w.causes.emplace_back();
  w.causes[0].block = "assemble";
  w.causes[0].kind = "region";
  w.causes[0].seconds = 3;
  whywait::result now = before;
  now.waits.push_back(now.waits[0]);
  for (int i = 0; i < 2; ++i)
    for (whywait::result::place* p :
         {&now.waits[static_cast<std::size_t>(i)].operation, &now.waits[static_cast<std::size_t>(i)].late_call}) {
      p->caller = "main (a.cpp:" + std::to_string(10 + i) + ")";
      p->text += " from " + p->caller;
    }
  now.waits[1].seconds = 2;
  now.waits[1].count = 20;
  now.waits[1].causes[0].block = "solve";
  now.waits[1].causes[0].seconds = 2;
  for (whywait::result* r : {&before, &now}) r->reason.clear();
  const whywait::result part = now.since(before);
  REQUIRE(part.waits.size() == 1);
  CHECK(part.waits[0].seconds == doctest::Approx(2));
  CHECK(part.waits[0].count == 20);
  CHECK(part.waits[0].operation.text == "MPI_Barrier in run (a.cpp:5)");
  CHECK(part.cause_of() == "solve");
}
