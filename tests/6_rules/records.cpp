#include "recorded.hpp"
#include "sample.hpp"

#include <whywait/rules/records.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

namespace rules = sample::rules;
namespace core = sample::core;
using sample::rank;
using core::mpi_call;
namespace flag = core::sync_flag;

struct world {
  rules::knowledge known = sample::knowledge(sample::paper_rule());
  rules::event_store store{known};
  rules::trouble log;
  sample::names names;
  rules::record_feeder<sample::names> feeder{store, names, log};
};

}  // namespace

TEST_CASE("the paper's rule finds a late sender in recorded calls of two ranks") {
  world w;
  rank a(0), b(1);
  a.call(mpi_call::Send, 60, 61, 0, flag::posts_send, 1);
  a.call(mpi_call::Send, 70, 71, 0, flag::posts_send, 1);
  b.call(mpi_call::Recv, 20, 62, 1, flag::posts_receive, 0);
  b.call(mpi_call::Recv, 72, 73, 1, flag::posts_receive, 0);
  w.feeder.feed(a.done());
  w.feeder.feed(b.done());
  const auto f = rules::evaluator(w.store).evaluate();
  const auto* const late = sample::find(f.list, "Поздняя посылка сообщения");
  REQUIRE(late != nullptr);
  CHECK(late->seconds == doctest::Approx(0.040));
  CHECK(late->instances == 1);
  CHECK(late->actions.at(0).text == "MPI_Send in calculate (halo.cpp:131)");
  CHECK(late->actions.at(1).text == "MPI_Recv in calculate (halo.cpp:142)");
  CHECK(w.store.table(w.known.find("point_to_point")).rows == 2);
}

TEST_CASE("the k-th send meets the k-th receive posted, and a nonblocking receive waits where it is completed") {
  world w;
  rank a(0), b(1);
  a.call(mpi_call::Send, 50, 51, 0, flag::posts_send, 1, 5);
  a.call(mpi_call::Send, 10, 11, 0, flag::posts_send, 1, 6);
  const auto first = b.call(mpi_call::Irecv, 0, 1, 1, flag::posts_receive, 0, 6);
  const auto second = b.call(mpi_call::Irecv, 2, 3, 1, flag::posts_receive, 0, 5);
  const auto wait = b.call(mpi_call::Waitall, 30, 52, 3);
  b.records[first].completion = b.records[second].completion = wait;
  w.feeder.feed(a.done());
  w.feeder.feed(b.done());
  const auto f = rules::evaluator(w.store).evaluate();
  const auto* const late = sample::find(f.list, "Поздняя посылка сообщения");
  REQUIRE(late != nullptr);
  CHECK(late->seconds == doctest::Approx(0.020));
  CHECK(late->instances == 1);
}

TEST_CASE("what matches nothing becomes no message") {
  world w;
  rank a(0);
  a.call(mpi_call::Send, 0, 1, 0, flag::posts_send | flag::proc_null, -1);
  a.call(mpi_call::Irecv, 2, 3, 1, flag::posts_receive | flag::cancelled, 1);
  const auto open = a.call(mpi_call::Irecv, 4, 5, 1, flag::posts_receive | flag::any_source, -1);
  a.records[open].flags = static_cast<std::uint16_t>(flag::posts_receive | flag::any_source);
  a.call(mpi_call::Send, 6, 7, 0, flag::posts_send, 1);
  a.records.back().comm = 9;
  w.feeder.feed(a.done());
  CHECK(w.store.table(w.known.find("send")).rows == 0);
  CHECK(w.store.table(w.known.find("receive")).rows == 0);
}

TEST_CASE("both halves of MPI_Sendrecv are messages of their own") {
  world w;
  rank a(0);
  a.call(mpi_call::Sendrecv, 0, 0, 0, flag::posts_send, 1);
  a.call(mpi_call::Sendrecv, 0, 0, 0, flag::posts_receive, 1);
  a.call(mpi_call::Sendrecv, 0, 9, 0);
  w.feeder.feed(a.done());
  CHECK(w.store.table(w.known.find("send")).rows == 1);
  CHECK(w.store.table(w.known.find("receive")).rows == 1);
}

TEST_CASE("collective operations gather the arrivals of all ranks, instance by instance") {
  world w;
  rank a(0), b(1);
  a.call(mpi_call::Barrier, 10, 31, 2);
  a.call(mpi_call::Barrier, 40, 42, 2);
  b.call(mpi_call::Barrier, 30, 31, 2);
  b.call(mpi_call::Barrier, 41, 42, 2);
  w.feeder.feed(a.done());
  w.feeder.feed(b.done());
  rules::evaluator(w.store).evaluate();
  const std::uint32_t type = w.known.find("collective");
  const auto& table = w.store.table(type);
  REQUIRE(table.rows == 2);
  const auto cell = [&](std::uint32_t row, const char* name) { return table.row(row)[w.known.types[type].find(name)]; };
  CHECK(cell(0, "ranks") == 2);
  CHECK(cell(0, "first_arrival") == doctest::Approx(0.010));
  CHECK(cell(0, "last_arrival") == doctest::Approx(0.030));
  CHECK(cell(1, "last_arrival") == doctest::Approx(0.041));
}

TEST_CASE("the fields of a call have the names that tracing rules use") {
  const auto& columns = rules::call_columns();
  REQUIRE(columns.size() == static_cast<std::size_t>(rules::call_field::count_));
  const auto name = [&](rules::call_field f) { return columns[static_cast<std::size_t>(f)].name; };
  CHECK(name(rules::call_field::function) == "function");
  CHECK(name(rules::call_field::start_time) == "start_time");
  CHECK(name(rules::call_field::bytes) == "bytes");
  CHECK(name(rules::call_field::destination) == "destination");
  CHECK(name(rules::call_field::ordinal) == "ordinal");
  CHECK(name(rules::call_field::instance) == "instance");
  CHECK(name(rules::call_field::wait_start_time) == "wait_start_time");
  CHECK(name(rules::call_field::matched) == "matched");
}
