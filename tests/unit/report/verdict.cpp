#include <whywait/report/json.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>

using namespace sample;

namespace {

explain::balance_answer balance_of(core::stable_key block, std::int32_t rank, std::int32_t ranks, double most, double sum,
                                   double saving) {
  explain::balance_answer b;
  b.block = b.piece = block;
  b.rank = rank;
  b.ranks = b.among = ranks;
  b.region = true;
  b.most_ns = static_cast<std::int64_t>(most * second);
  b.sum_ns = static_cast<std::int64_t>(sum * second);
  b.saving_ns = static_cast<std::int64_t>(saving * second);
  return b;
}

/// A run of 10 s on eight ranks.
report::result with(base::vector<explain::balance_answer> balances, const rules::evaluation& said = {}) {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.balances = std::move(balances);
  report::run_facts run = facts();
  run.seconds = 10;
  return report::assemble(found, names(), run, said);
}

std::string first_sentence(const report::result& r) {
  return r.verdict.empty() ? std::string() : report::sentence(r, r.verdict[0]);
}

}  // namespace

TEST_CASE("the verdict names rank, factor, block and saving") {
  const report::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].rank == 3);
  CHECK(r.verdict[0].block == "compute_interior");
  CHECK(r.verdict[0].ratio == doctest::Approx(3));
  CHECK(first_sentence(r) ==
        "rank 3 takes 3.0 times as long as the others in compute_interior (halo.cpp:88): balancing it would shorten the run by "
        "about 1.5 s of 10 s");
}

TEST_CASE("a verdict needs 2 % of the run and 5 % more than the others") {
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.2)}).verdict.size() == 1);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.199)}).verdict.size() == 0);
  CHECK(with({balance_of(compute, 3, 8, 1.05, 8.05, 0.5)}).verdict.size() == 1);
  CHECK(with({balance_of(compute, 3, 8, 1.049, 8.049, 0.5)}).verdict.size() == 0);
}

TEST_CASE("code that one rank runs is divided among all") {
  explain::balance_answer one = balance_of(compute, 3, 1, 6, 6, 4);
  one.among = 8;
  const report::result r = with({one});
  REQUIRE(r.verdict.size() == 1);
  CHECK(first_sentence(r) ==
        "only rank 3 runs compute_interior (halo.cpp:88): dividing it among all ranks would shorten the run by about 4.0 s of "
        "10 s");
  CHECK(r.verdict[0].ratio == 0);
}

TEST_CASE("rules add to the verdict what they say, largest saving first, each once") {
  rules::evaluation said;
  said.waits.resize(1);
  rules::finding f;
  f.problem = "slow_block";
  f.verdict = "ranks 0-2 are late in turn, by how long update takes: evening it out";
  f.saving = 2.5;
  said.waits[0].list.push_back(f);
  said.waits[0].list.push_back(f);
  f.verdict = "a small matter";
  f.saving = 0.199;
  said.problems.push_back(f);
  const report::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
  REQUIRE(r.verdict.size() == 2);
  CHECK(first_sentence(r) ==
        "ranks 0-2 are late in turn, by how long update takes: evening it out would shorten the run by up to 2.5 s of 10 s");
  CHECK(r.verdict[0].problem == "slow_block");
  CHECK(r.verdict[1].problem.empty());
}

TEST_CASE("where ranks share processors, balancing saves at least what the clocks say") {
  report::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  r.not_understood.sharing = {0.05 * r.run.location_seconds, 8, 4};
  CHECK(first_sentence(r).find("would shorten the run by at least 1.5 s of 10 s") != std::string::npos);
  r.not_understood.sharing.seconds *= 0.99;
  CHECK(first_sentence(r).find("by about 1.5 s") != std::string::npos);
}
