#include <whywait/base/vector.hpp>
#include <whywait/report/text.hpp>
#include <whywait/rules/advice.hpp>
#include <whywait/rules/extend.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sample {

reports::result reported(const explain::outcome& found, const base::names& known, reports::run_facts f,
                         const std::string& more) {
  namespace rules = whywait::rules;
  rules::compiler all;
  rules::add_base(all);
  if (!more.empty()) all.add("more.rules", more);
  const rules::knowledge active = all.finish();
  for (const rules::diagnostic& mistake : active.log.list()) FAIL(mistake.text());
  const rules::evaluation said = rules::evaluate(active, found, f.ranks, known);
  CHECK(said.messages.empty());
  return reports::assemble(found, known, std::move(f), said);
}

}  // namespace sample

using namespace sample;

namespace {

reports::wait_entry wait_of(explain::explanation e) { return reported(outcome({std::move(e)}), names(), facts()).waits.at(0); }
bool has(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

explain::explanation barrier_wait() {
  explain::explanation e = late_sender();
  e.why = explain::pattern::wait_at_barrier;
  e.operation = e.cause = barrier;
  e.count = 100;
  e.wait_ns = 2 * second;
  e.residual = {term(update, 2 * second, 0, 100, 0)};
  return e;
}

// Two problems that replace the advice of the pattern, by the shape of the wait.
const char* const by_shape =
    "declare problem for wait_at_barrier when w.more > 60 % * w.positive parameters (name = \"more_work\", instead_of = "
    "\"wait_at_barrier\", description = \"{w.late_ranks} had work to do before {w.operation}.\", advice = \"spread the work of "
    "{w.top}\", duration = w.duration, saving = w.more);\n"
    "declare problem for wait_at_barrier when w.slower > 60 % * w.positive parameters (name = \"slower_work\", instead_of = "
    "\"wait_at_barrier\", duration = w.duration, saving = w.slower);\n";

}  // namespace

TEST_CASE("the finding of a pattern's rule is shown at its waits, with the calls that caused it") {
  const reports::wait_entry w = wait_of(late_sender());
  REQUIRE(w.advice.size() == 1);
  CHECK(w.advice[0].problem == "late_sender");
  CHECK(has(w.advice[0].text, "call MPI_Send (halo.cpp:131) before compute_interior if"));
  CHECK(has(w.advice[0].description, "ranks 1-7 waited for rank 0"));
  CHECK(w.advice[0].saving_seconds == 2.7);
  CHECK(w.advice[0].seconds == 18.9);
  CHECK(w.advice[0].actions ==
        whywait::base::vector<std::string>{"MPI_Send in exchange (halo.cpp:131)", "MPI_Recv in exchange (halo.cpp:142)"});
}

TEST_CASE("every pattern has advice that names the user's block and is bounded by the wait") {
  for (unsigned i = 0; i < static_cast<unsigned>(explain::pattern::count_); ++i) {
    explain::explanation e = late_sender();
    e.why = static_cast<explain::pattern>(i);
    e.residual[0] = term(compute, 0, 25 * second, 9, 9);  // more than the wait, because another block is negative
    e.residual[1] = term(pack, -6 * second, 0, 0, 9);
    const reports::wait_entry w = wait_of(e);
    CAPTURE(w.pattern);
    REQUIRE(w.advice.size() == 1);
    CHECK(has(w.advice[0].text, "compute_interior"));
    CHECK_FALSE(has(w.advice[0].text, "pack_halo"));
    double longest = 0;  // the rank that waited most cannot gain more
    for (const reports::location_seconds& s : w.waiters) longest = std::max(longest, s.seconds);
    CHECK(w.advice[0].saving_seconds == std::min(longest, w.seconds));

    e.residual.clear();
    const reports::wait_entry bare = wait_of(e);
    REQUIRE(bare.advice.size() == 1);
    CHECK_FALSE(bare.advice[0].text.empty());
  }
}

TEST_CASE("a wait whose rule was removed is not listed, and everything still adds up") {
  const explain::outcome o = outcome({late_sender(), barrier_wait()});
  const reports::result all = reported(o, names(), facts());
  CHECK(all.waits.size() == 2);
  CHECK(all.run.undescribed_seconds == 0);
  const reports::result r = reported(o, names(), facts(), "remove problem \"wait_at_barrier\";");
  REQUIRE(r.waits.size() == 1);
  CHECK(r.waits[0].pattern == "late_sender");
  CHECK(r.run.waiting_seconds == all.run.waiting_seconds);
  CHECK(r.run.undescribed_seconds == 2.0);
  CHECK(r.run.undescribed_waits == 100);
  double sum = r.run.undescribed_seconds + r.run.unexplained_seconds;
  for (const reports::wait_entry& w : r.waits)
    for (const reports::residual_entry& t : w.residual) sum += t.seconds();
  CHECK(sum == doctest::Approx(r.run.waiting_seconds).epsilon(1e-12));
  const std::string out = reports::text_of(r);
  CHECK_FALSE(has(out, "wait at barrier"));
  CHECK(has(out, "\n    100 waits not described by any rule: 2.00 s (9.6 % of the waiting)\n"));
  CHECK_FALSE(has(out, "more kind"));
}

TEST_CASE("a rule with the name of a pattern describes its waits, whatever it is declared for") {
  const reports::result r = reported(outcome({late_sender()}), names(), facts(),
                                     "remove problems; declare problem for wait when pattern = 'late_sender' parameters "
                                     "(name = \"late_sender\", description = \"d\", advice = \"mine\", duration = duration);");
  REQUIRE(r.waits.size() == 1);
  REQUIRE(r.waits[0].advice.size() == 1);
  CHECK(r.waits[0].advice[0].text == "mine");
}

TEST_CASE("without rules no wait is listed, and the whole waiting time is reported as undescribed") {
  const reports::result r = reported(outcome({late_sender()}), names(), facts(), "remove problems;");
  CHECK(r.waits.empty());
  CHECK(r.run.unexplained_seconds == 0);
  const std::string out = reports::text_of(r);
  CHECK(has(out, "19 % of rank time is waiting (18.9 s)"));
  CHECK(has(out, "1,400 waits not described by any rule: 18.9 s (100 % of the waiting)"));
}

TEST_CASE("problems that belong to no single wait follow the waits, most saving first") {
  const char* const rules =
      "declare problem for run parameters (name = \"small\", description = \"too few ranks: {ranks}\", duration = 1 s);"
      "declare problem for run parameters (name = \"large\", description = \"d\", advice = \"a\", duration = 3 s, "
      "saving = 2 s);";
  const reports::result r = reported(outcome({late_sender()}), names(), facts(), rules);
  REQUIRE(r.problems.size() == 2);
  CHECK(r.problems[0].problem == "large");
  CHECK(r.problems[0].saving_seconds == 2.0);
  const std::string out = reports::text_of(r);
  CHECK(has(out, "\n *  large  3.00 s  3.0 % of rank time\n    d\n    try: a (saves at most 2.00 s)\n"));
  CHECK(has(out, "\n *  small  1.00 s  1.0 % of rank time\n    too few ranks: 8\n\n"));
  CHECK(out.find("1  late sender") < out.find("*  large"));
}

TEST_CASE("many problems become six and a number") {
  std::string rules;
  for (int i = 0; i < 9; ++i)
    rules += "declare problem for run parameters (name = \"p" + std::to_string(i) + "\", duration = 1 s);\n";
  const std::string out = reports::text_of(reported(outcome({late_sender()}), names(), facts(), rules));
  CHECK(has(out, " *  p5  "));
  CHECK_FALSE(has(out, " *  p6  "));
  CHECK(has(out, "3 more problems (the JSON file has all)"));
}

TEST_CASE("shapes of one wait matter together, and their advice is added up") {
  explain::explanation a = barrier_wait(), b = barrier_wait();
  a.wait_ns = 600000000;  // 0.6 and 0.5 of 99.2 s are each below 1 %, their sum is above
  a.residual = {term(update, 600000000, 0, 100, 0)};
  b.wait_ns = 500000000;
  b.residual = {term(pack, 0, 500000000, 100, 100)};
  b.residual[0].causer_ns = 900000000;
  b.residual[0].waiter_ns = 400000000;
  const reports::result r = reported(outcome({a, b, late_sender()}), names(), facts(), by_shape);
  REQUIRE(r.waits.size() == 3);
  const whywait::base::vector<reports::wait_group> groups = reports::group_shapes(r.waits);
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[1].sum.advice.size() == 2);
  CHECK(groups[1].sum.advice[0].problem == "more_work");
  CHECK(groups[1].sum.advice[0].saving_seconds == 0.6);
  CHECK(groups[1].sum.advice[1].problem == "slower_work");
  explain::explanation alone = a;
  CHECK(reported(outcome({alone, late_sender()}), names(), facts()).waits.at(1).advice.empty());
}

TEST_CASE("savings of advice about different code do not add up") {
  const auto shape = [](const char* block, double saving) {
    reports::wait_entry w;
    w.pattern = "wait_at_barrier";
    w.seconds = 4 * saving;
    w.residual.resize(1);
    w.residual[0].kind = "region";
    w.residual[0].block = block;
    w.residual[0].total_ns = static_cast<std::int64_t>(4e9 * saving);
    w.waiters = {{1, 0, 4 * saving}};
    w.advice.push_back({"uneven_work", std::string("balance ") + block, saving, {}, saving});
    return w;
  };
  const auto advised = [](const whywait::base::vector<reports::wait_entry>& waits) {
    return reports::group_shapes(waits).at(0).sum.advice.at(0);
  };
  CHECK(advised({shape("update", 1), shape("update", 2)}).saving_seconds == 3);
  const reports::advice_entry other = advised({shape("update", 1), shape("pack", 2)});
  CHECK(other.saving_seconds == 2);
  CHECK(other.text == "balance pack");
  CHECK(other.seconds == 3);
  // Both are parts of the code before one call, for which the clocks have one answer.
  reports::wait_entry one = shape("update", 1), same = shape("update", 1);
  one.advice[0].predicted = same.advice[0].predicted = true;
  CHECK(advised({one, same}).saving_seconds == 1);
  same.advice[0].saving_seconds = 2;
  CHECK(advised({one, same}).saving_seconds == 3);
}

TEST_CASE("an additional rule for a wait prints its own description") {
  const std::string out = reports::text_of(reported(outcome({barrier_wait()}), names(), facts(), by_shape));
  CHECK(has(out, "    more work: rank 0 had work to do before MPI_Barrier (main.cpp:30)"));
  CHECK(has(out, "\n    try: spread the work of update "));
  const std::size_t first = out.find("try: ");
  CHECK(out.find("try: ", first + 1) == std::string::npos);  // replaces the advice of the pattern
}
