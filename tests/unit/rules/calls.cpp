#include "recorded.hpp"

#include <whywait/rules/call_rows.hpp>
#include <whywait/rules/contribution.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace rules = sample::rules;
using sample::core::mpi_call;
namespace flag = sample::core::sync_flag;

void size(sample::rank& r, std::uint32_t record, std::uint64_t bytes) { r.records[record].bytes = bytes; }

rules::findings found_by(const rules::call_table& calls, const std::string& text) {
  static rules::knowledge known;
  known = sample::knowledge(text);
  for (const auto& d : known.log.list()) MESSAGE(d.text());
  CHECK(known.log.empty());
  const auto o = sample::outcome({});
  const auto names = sample::names();
  rules::event_store store(known);
  rules::trouble log;
  rules::fact_maker facts(store, o, 2, names);
  facts.make();
  rules::add_calls(store, log, calls, names, facts);
  CHECK(log.list().empty());
  return rules::evaluator(store).evaluate();
}

}  // namespace

TEST_CASE("calls that agree in everything are one event, with their number and time") {
  sample::rank r(0);
  for (unsigned i = 0; i < 10; ++i)
    size(r, r.call(mpi_call::Send, 10 * i, 10 * i + 1 + i % 2, 0, flag::posts_send, 1, 7), i < 4 ? 64 : 65536);
  const rules::call_table calls = rules::calls_of(r.done());
  REQUIRE(calls.kinds.size() == 2);
  const bool first_small = calls.kinds[0].kind.bytes == 64;
  const rules::folded_calls& small = calls.kinds[first_small ? 0 : 1];
  const rules::folded_calls& large = calls.kinds[first_small ? 1 : 0];
  CHECK(small.count == 4);
  CHECK(small.duration_ns == 6 * sample::ms);
  CHECK(small.longest_ns == 2 * sample::ms);
  CHECK(large.count == 6);
  CHECK(large.kind.bytes == 65536);
  CHECK(large.kind.tag == 7);
  CHECK(large.kind.peer == 1);
  CHECK(large.kind.site == sample::send);
  CHECK(calls.others.count == 0);
}

TEST_CASE("a rule over sizes sees exactly the messages of that size") {
  sample::rank r(0);
  for (unsigned i = 0; i < 10; ++i)
    size(r, r.call(mpi_call::Isend, 10 * i, 10 * i + 1, 0, flag::posts_send, 1, static_cast<int>(i)), i < 4 ? 1023 : 1024);
  const auto f = found_by(rules::calls_of(r.done()),
                          "declare problem for send when bytes < 1 KiB parameters (name = \"small\", duration = duration, "
                          "description = \"{instances} by {function} in {region} ({file}:{line}) to {destination}\");");
  const rules::finding* const small = sample::find(f.list, "small");
  REQUIRE(small != nullptr);
  CHECK(small->instances == 4);
  CHECK(small->seconds == doctest::Approx(0.004));
  CHECK(small->description == "4 by MPI_Isend in calculate (src/halo.cpp:131) to 1");
}

TEST_CASE("halves of MPI_Sendrecv and started requests count as sends and receives") {
  sample::rank r(1);
  size(r, r.call(mpi_call::Sendrecv, 10, 10, 0, flag::posts_send, 0, 1), 8);
  size(r, r.call(mpi_call::Sendrecv, 10, 10, 0, flag::posts_receive, 0, 2), 16);
  r.call(mpi_call::Sendrecv, 10, 20, 0);
  size(r, r.call(mpi_call::Start, 30, 31, 1, flag::posts_receive, 0, 3), 32);
  size(r, r.call(mpi_call::Barrier, 40, 50, 2), 0);
  const auto f =
      found_by(rules::calls_of(r.done()),
               "declare composite event s member (all send as x) parameters (n = count(), b = sum(x.bytes));"
               "declare composite event q member (all receive as x) parameters (n = count(), b = sum(x.buffer_bytes));"
               "declare composite event a member (all arrival as x) parameters (n = count(), d = sum(x.duration));"
               "declare problem for s parameters (name = \"s\", duration = 1 s, description = \"{n} {b}\");"
               "declare problem for q parameters (name = \"q\", duration = 1 s, description = \"{n} {b}\");"
               "declare problem for a parameters (name = \"a\", duration = d, description = \"{n}\");");
  CHECK(sample::find(f.list, "s")->description == "1 8 bytes");
  CHECK(sample::find(f.list, "q")->description == "2 48 bytes");
  CHECK(sample::find(f.list, "a")->seconds == doctest::Approx(0.010));
}

TEST_CASE("ranks in calls are those of MPI_COMM_WORLD") {
  sample::rank r(0);
  r.history.communicators.push_back({99, 2, 0, false, {4, 6}});
  const auto i = r.call(mpi_call::Bcast, 10, 20, 2, 0, 1);
  r.records[i].comm = 1;
  const rules::call_table calls = rules::calls_of(r.done());
  REQUIRE(calls.kinds.size() == 1);
  CHECK(calls.kinds[0].kind.peer == 6);
  CHECK(calls.kinds[0].kind.communicator == 99);
}

TEST_CASE("calls of ranks and epochs add up, within a bound") {
  sample::rank a(0), b(1);
  for (unsigned i = 0; i < 3; ++i) size(a, a.call(mpi_call::Send, 10 * i, 10 * i + 2, 0, flag::posts_send, 1, 7), 8);
  for (unsigned i = 0; i < 5; ++i) size(b, b.call(mpi_call::Send, 10 * i, 10 * i + 1, 0, flag::posts_send, 0, 7), 8);
  rules::contribution all, other;
  all.calls = rules::calls_of(a.done());
  other.calls = rules::calls_of(b.done());
  const auto bytes = rules::pack(other);
  all.merge(rules::unpack_contribution(bytes.data(), bytes.size()));
  all.calls.merge(rules::calls_of(a.history));  // a second epoch with the same calls
  REQUIRE(all.calls.kinds.size() == 2);
  std::int64_t count = 0, time = 0;
  for (const auto& k : all.calls.kinds) count += k.count, time += k.duration_ns;
  CHECK(count == 3 + 5 + 3);
  CHECK(time == 17 * sample::ms);

  sample::rank many(0);
  constexpr unsigned kinds = rules::call_table::most_per_rank + 100;
  for (unsigned i = 0; i < kinds; ++i)
    many.call(mpi_call::Send, 10 * i, 10 * i + (i % 7 == 0 ? 9 : 1), 0, flag::posts_send, 1, static_cast<int>(i));
  const rules::call_table bounded = rules::calls_of(many.done());
  CHECK(bounded.kinds.size() == rules::call_table::most_per_rank);
  CHECK(bounded.others.count == 100);
  CHECK(bounded.others.duration_ns == 100 * sample::ms);
}

TEST_CASE("a receive from any source counts once, with the epoch that knows the source") {
  sample::rank first(0);
  first.call(mpi_call::Irecv, 10, 11, 1, flag::posts_receive | flag::any_source, -1, 7);
  first.records[0].flags = static_cast<std::uint16_t>(first.records[0].flags & ~unsigned(flag::complete));
  first.history.continues = true;
  CHECK(rules::calls_of(first.done()).kinds.empty());

  sample::rank second(0);
  second.call(mpi_call::Irecv, 10, 10, 1, flag::posts_receive | flag::any_source, 1, 7);
  second.call(mpi_call::Send, 20, 21, 0, flag::posts_send, 1, 3);  // counted in the first epoch
  second.call(mpi_call::Wait, 30, 40, 3);
  second.records[0].completion = 2;
  second.history.locations[0].carried = 2;
  const rules::call_table calls = rules::calls_of(second.done());
  REQUIRE(calls.kinds.size() == 2);
  for (const auto& k : calls.kinds) CHECK(k.kind.part != mpi_call::Send);
  CHECK(calls.kinds[calls.kinds[0].kind.part == mpi_call::Irecv ? 0 : 1].kind.peer == 1);
}

TEST_CASE("the call sites with the most time are kept") {
  sample::rank r(0);
  r.call(mpi_call::Send, 10, 12, 0, flag::posts_send, 1, 7);
  r.call(mpi_call::Barrier, 20, 29, 2);
  r.call(mpi_call::Wait, 30, 31, 3);
  rules::call_table calls = rules::calls_of(r.done());
  calls.keep_sites(1);
  REQUIRE(calls.kinds.size() == 1);
  CHECK(calls.kinds[0].kind.call == mpi_call::Barrier);
  CHECK(calls.others.count == 2);
}

TEST_CASE("merging adds each kind of calls of the other table once, however many kinds that table had before") {
  const auto two_kinds = [] {
    sample::rank r(0);
    for (unsigned i = 0; i < 4; ++i)
      size(r, r.call(mpi_call::Send, 10 * i, 10 * i + 1, 0, flag::posts_send, 1, 7), i < 2 ? 64 : 65536);
    return rules::calls_of(r.done());
  };
  rules::call_table sum = two_kinds(), one = two_kinds();
  REQUIRE(sum.kinds.size() == 2);
  one.kinds.resize(1);
  sum.merge(one);
  REQUIRE(sum.kinds.size() == 2);
  CHECK(sum.kinds[0].count == 4);
  CHECK(sum.kinds[1].count == 2);
}
