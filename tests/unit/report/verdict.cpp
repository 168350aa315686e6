#include <whywait/explain/folding.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/plain_packet.hpp>
#include <whywait/report/plain_result.hpp>
#include <whywait/report/text.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>
#include <utility>

using namespace sample;

namespace {

namespace rules = whywait::rules;

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
reports::result with(base::vector<explain::balance_answer> balances, const rules::evaluation& said = {}) {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.balances = std::move(balances);
  found.meanings.push_back({between_key, explain::block_kind::between, waitall, send});
  reports::run_facts run = facts();
  run.seconds = 10;
  return reports::assemble(found, names(), run, said);
}

/// What a rule says about the run or one of its waits.
rules::finding finding_of(std::string verdict, double saving, std::string root = {}, std::string problem = {}) {
  rules::finding f;
  f.problem = std::move(problem);
  f.verdict = std::move(verdict);
  f.saving = saving;
  f.root = std::move(root);
  return f;
}

std::string first_sentence(const reports::result& r) {
  return r.verdict.empty() ? std::string() : reports::sentence(r, r.verdict[0]);
}

}  // namespace

TEST_CASE("the verdict names rank, factor, block and saving") {
  const reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].rank == 3);
  CHECK(r.verdict[0].block == "compute_interior");
  CHECK(r.verdict[0].ratio == doctest::Approx(3));
  CHECK(first_sentence(r) ==
        "rank 3 takes 3.0 times as long as the others in compute_interior (halo.cpp:88): balancing it would shorten the run by "
        "about 1.5 s of 10 s");
}

TEST_CASE("a run of which a part is explained: savings are savings of that part, and the whole run has an estimate") {
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  r.run.seconds = 100;
  r.run.unseen_seconds = 90;
  CHECK(first_sentence(r) ==
        "rank 3 takes 3.0 times as long as the others in compute_interior (halo.cpp:88): balancing it would shorten the run by "
        "about 1.5 s of the 10 s that are explained");
  CHECK(reports::whole_run_words(r) == "");
  r.run.waiting_of_all = {0.321, 0.384};
  CHECK(reports::whole_run_words(r) ==
        "in the whole run 32 % to 38 % of rank time is waiting, if parts that were not recorded are like those beside them");
}

TEST_CASE("what a rank deals, or runs for each answer, cannot save more than the ranks wait") {
  const auto saving_of = [](explain::balance_answer b, double efficiency) {
    b.visits = 60;
    explain::outcome found = outcome({late_sender()}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.efficiency.parallel = efficiency;
    found.balances = {b};
    reports::run_facts run = facts();
    run.first_comers = 57;
    const reports::result r = reports::assemble(found, names(), run, {});
    REQUIRE(r.verdict.size() == 1);
    return r.verdict[0].saving_seconds;
  };
  explain::balance_answer dealt = balance_of(compute, 3, 8, 8, 24, 0.5);  // 5 s above the mean
  CHECK(saving_of(dealt, 0.4) == doctest::Approx(5));
  CHECK(saving_of(dealt, 0.7) == doctest::Approx(3));
  dealt.ranks = 1;  // the dealer's own code, to be divided among all
  CHECK(saving_of(dealt, 0.4) == doctest::Approx(5));
  CHECK(saving_of(dealt, 0.7) == doctest::Approx(3));
}

TEST_CASE("code that is dealt is not balanced over the rank that deals it") {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.meanings.push_back({between_key, explain::block_kind::between, waitall, send});
  explain::balance_answer whole = balance_of(explain::unmarked_key(), 3, 8, 8, 24, 3),
                          piece = balance_of(between_key, 3, 8, 8, 24, 2);
  whole.piece = between_key;
  whole.unmarked = piece.unmarked = true;
  whole.region = piece.region = false;
  whole.pieces = 4;
  whole.visits = 1000;
  piece.visits = 60;
  found.balances = {whole, piece};
  reports::run_facts run = facts();
  CHECK(reports::assemble(found, names(), run, {}).verdict.at(0).claim.find("unmarked code") != std::string::npos);
  run.first_comers = 57;
  const reports::result dealt = reports::assemble(found, names(), run, {});
  REQUIRE(dealt.verdict.size() == 1);
  CHECK(dealt.verdict[0].claim.find("unmarked code") == std::string::npos);
  CHECK_FALSE(dealt.verdict[0].predicted);
}

TEST_CASE("no division of work saves more than the processors were idle") {
  rules::evaluation said;
  said.most_divided_ns = second;
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
  CHECK(first_sentence(r).find("would shorten the run by up to 1.0 s of 10 s") != std::string::npos);
  said.most_divided_ns = 2 * second;
  r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
  CHECK(first_sentence(r).find("would shorten the run by about 1.5 s of 10 s") != std::string::npos);
}

TEST_CASE("threads that hardly run a block are not among the others to which one is compared") {
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 20.1, 1.5);
  b.hardly_ranks = 1;
  b.hardly_ns = second / 10;
  CHECK(with({b}).verdict[0].ratio == doctest::Approx(6 * 6 / 14.0));
  b.hardly_ranks = 7;  // all others
  b.sum_ns = 61 * second / 10;
  CHECK(with({b}).verdict[0].ratio == doctest::Approx(6 * 7 / 0.1));
}

TEST_CASE("a verdict names the threads that take longer") {
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 20, 1.5);
  b.thread = 2;
  const reports::result one = with({b});
  REQUIRE(one.verdict.size() == 1);
  CHECK(one.verdict[0].rank == 3);
  CHECK(one.verdict[0].thread == 2);
  CHECK(first_sentence(one).find("rank 3 thread 2 takes 3.0 times as long as the others in compute_interior") == 0);
  whywait::result plain = reports::plain(one);
  const base::packet sent = reports::pack(plain);  // to the other ranks
  plain = reports::unpack_result(sent.data(), sent.size());
  REQUIRE(plain.verdict.size() == 1);
  CHECK(plain.verdict[0].rank == 3);
  CHECK(plain.verdict[0].thread == 2);
  const auto several = [&b](std::initializer_list<explain::thread_of_rank> slow, std::int32_t count) {
    std::copy(slow.begin(), slow.end(), b.slow);
    b.slow_ranks = count;
    b.slow_ns = (10 + count) * second;
    const std::string said = first_sentence(with({b}));
    return said.substr(0, said.find(" take"));
  };
  CHECK(several({{0, 2}, {3, 2}}, 2) == "rank 0 thread 2 and rank 3 thread 2");
  CHECK(several({{0, 0}, {0, 2}, {3, 2}}, 3) == "rank 0, rank 0 thread 2 and rank 3 thread 2");
  CHECK(several({{0, 2}, {1, 2}, {2, 2}, {3, 2}}, 5) == "5 of 8 threads");
  CHECK(several({{3, 0}, {3, 2}}, 2) == "2 threads of rank 3");
  CHECK(several({{3, 0}, {3, 1}, {3, 2}, {3, 4}}, 5) == "5 threads of rank 3");
  b = balance_of(compute, 3, 8, 6, 20, 1.5);
  b.of_threads = true;  // one of the others is a further thread
  CHECK(first_sentence(with({b})).find("rank 3 thread 0 takes 3.0 times as long as the others in compute_interior") == 0);
}

TEST_CASE("what balancing saves is a lower bound where the imbalance moves from rank to rank") {
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 20, 1.5);
  b.moves = true;
  const std::string code = "compute_interior (halo.cpp:88): ";
  CHECK(first_sentence(with({b})) == "rank 3 takes longer at times, others at other times, in " + code +
                                         "evening that out would shorten the run by up to 2.4 s of 10 s");
  for (const double saving :
       {1.8, 1.9}) {  // a rule about ranks that are late in turn says it better if it saves nearly as much
    rules::evaluation said;
    said.problems.push_back(finding_of("ranks 0-3 are late in turn: evening it out", saving, {}, "slow_block"));
    CHECK(with({b}, said).verdict.size() == (saving > 1.85 ? 1 : 2));
  }
  b.saving_ns = 3 * second;  // more than others waited for the block on average
  CHECK(first_sentence(with({b})) == "rank 3 takes 3.0 times as long as the others in " + code +
                                         "balancing it would shorten the run by at least 3.0 s of 10 s");
}

TEST_CASE("code that takes longer now on one rank, now on another, is to be evened out, by what the clocks say of it") {
  explain::balance_answer b = balance_of(compute, 3, 8, 2.6, 20, 0.1);
  b.moves = true;
  b.evened_ns = 3 * second;
  CHECK(first_sentence(with({b})) ==
        "now one rank, now another takes longer in compute_interior (halo.cpp:88): evening that out would "
        "shorten the run by up to 3.0 s of 10 s");
  rules::evaluation said;
  said.problems.push_back(finding_of("ranks 0-3 are late in turn: evening it out", 2.5, {}, "slow_block"));
  CHECK(with({b}, said).verdict.size() == 1);  // says it better
  b.evened_ns = static_cast<std::int64_t>(0.15 * second);  // no more than what one rank takes longer
  CHECK(with({b}).verdict.empty());
}

TEST_CASE("which of several pieces of code become longer is a choice, so that the saving is a lower bound") {
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 20, 2.0);  // 3.5 s above the mean
  CHECK(first_sentence(with({b})).find("by about 2.0 s") != std::string::npos);
  b.pieces = 2;
  CHECK(first_sentence(with({b})).find("by at least 2.0 s") != std::string::npos);
  b.saving_ns = 3 * second;
  CHECK(first_sentence(with({b})).find("by about 3.0 s") != std::string::npos);
}

TEST_CASE("one rank that takes longer has priority over a pipeline that saves nearly as much") {
  for (const double saving : {1.9, 2.0}) {
    rules::evaluation said;
    rules::wait_advice of_wait;
    of_wait.list.push_back(finding_of("handing on smaller pieces", saving, {}, "serialised_pipeline"));
    of_wait.list[0].wait = 0;  // above all for this block
    said.waits.push_back(of_wait);
    const auto r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
    REQUIRE(!r.verdict.empty());
    CHECK((r.verdict[0].problem == "serialised_pipeline") == (saving > 1.95));
  }
}

TEST_CASE("code that one rank runs saves no more, divided, than the ranks wait") {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.efficiency.parallel = 0.7;
  explain::balance_answer b = balance_of(compute, 3, 1, 6, 6, 4);
  b.among = 8;
  found.balances = {b};
  reports::run_facts run = facts();
  run.seconds = 10;
  const auto r = reports::assemble(found, names(), run, {});
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].saving_seconds == doctest::Approx(3.0));
}

TEST_CASE("progress is another remedy than dividing the code that delays it") {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
  reports::run_facts run = facts();
  run.seconds = 10;
  const auto verdicts = [&](double saving, const char* problem) {
    rules::evaluation said;
    rules::wait_advice of_wait;
    of_wait.list.push_back(finding_of("rank 1 waited until rank 3 called MPI again: calling MPI_Test", saving, {}, problem));
    of_wait.list[0].of_pattern = true;
    of_wait.list[0].wait = 0;
    said.waits.push_back(of_wait);
    return reports::assemble(found, names(), run, said).verdict;
  };
  REQUIRE(verdicts(2.0, "wait_for_progress").size() == 2);
  CHECK(verdicts(2.0, "wait_for_progress")[0].problem == "wait_for_progress");
  CHECK(verdicts(1.9, "wait_for_progress").size() == 1);
  CHECK(verdicts(2.0, "wait_at_nxn").size() == 1);
  CHECK(verdicts(2.1, "late_sender").size() == 1);
  CHECK(verdicts(2.3, "late_sender").size() == 2);
  CHECK(verdicts(2.1, "late_receiver").size() == 1);
  CHECK(verdicts(2.3, "late_receiver").size() == 2);
  // Once the order is changed, no more can be saved than what remains.
  found.efficiency.parallel = 0.6;
  CHECK(verdicts(2.4, "late_receiver").size() == 2);
  found.efficiency.parallel = 0.7;
  REQUIRE(verdicts(2.4, "late_receiver").size() == 1);
  CHECK(verdicts(2.4, "late_receiver")[0].problem == "late_receiver");
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
  const reports::result r = with({one});
  REQUIRE(r.verdict.size() == 1);
  CHECK(first_sentence(r) ==
        "only rank 3 runs compute_interior (halo.cpp:88): dividing it among all ranks would shorten the run by about 4.0 s of "
        "10 s");
  CHECK(r.verdict[0].ratio == 0);
}

TEST_CASE("unmarked code that one rank runs alone is named before all unmarked code of that rank") {
  const auto pieces = [](std::int32_t rank, double alone) {
    explain::balance_answer whole = balance_of(explain::unmarked_key(), 0, 8, 6, 20, 4),
                            one = balance_of(between_key, rank, 1, 4, 4, alone);
    whole.piece = between_key;
    one.among = 8;
    whole.region = one.region = false;
    whole.unmarked = one.unmarked = true;
    return first_sentence(with({whole, one}));
  };
  CHECK(pieces(0, 3).find("only rank 0 runs the code between ") == 0);
  CHECK(pieces(0, 1).find("rank 0 takes 3.0 times as long as the others in the code between ") == 0);
  CHECK(pieces(2, 3).find("rank 0 takes 3.0 times as long as the others in the code between ") == 0);
}

TEST_CASE("code of one rank before a call is one piece, after whichever of two calls in one line") {
  const auto verdicts = [](int line) {
    constexpr core::stable_key after_other = 200, other = 201;
    explain::balance_answer one = balance_of(between_key, 3, 1, 6, 6, 3), two = balance_of(after_other, 3, 1, 2, 2, 0.5);
    for (explain::balance_answer* const b : {&one, &two}) {
      b->among = 8;
      b->region = false;
      b->unmarked = true;
    }
    explain::outcome found = outcome({late_sender()}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {one, two};
    found.meanings.push_back({between_key, explain::block_kind::between, waitall, send});
    found.meanings.push_back({after_other, explain::block_kind::between, other, send});
    base::names known = names();
    known.add(other, call("MPI_Test", "main/step", "src/halo.cpp", line));
    reports::run_facts run = facts();
    run.seconds = 10;
    return reports::assemble(found, known, run, {}).verdict;
  };
  REQUIRE(verdicts(20).size() == 1);
  CHECK(verdicts(20)[0].saving_seconds == doctest::Approx(3.5));
  CHECK(verdicts(21).size() == 2);
}

TEST_CASE("code whose results other threads wait for one by one is divided among more threads, with a bound") {
  const whywait::base::rank_noun_scope threads(true);
  explain::balance_answer one = balance_of(compute, 3, 1, 6, 6, 2.5);
  one.among = 8;
  const auto sentence_with = [&one](explain::pattern why, double half) {
    explain::explanation waits = late_sender();  // above all for compute_interior
    waits.why = why;
    explain::outcome found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {one};
    if (half > 0) {
      explain::what_if_answer faster;
      faster.question.changes.push_back({compute, 0.5, -1});
      faster.saving_ns = static_cast<std::int64_t>(half * second);
      found.savings.push_back(faster);
    }
    reports::run_facts run = facts();
    run.seconds = 10;
    run.threads_only = true;
    return first_sentence(reports::assemble(found, names(), run, {}));
  };
  const std::string items =
      "only thread 3 runs compute_interior (halo.cpp:88): dividing it between two threads would shorten the run by up to ";
  CHECK(sentence_with(explain::pattern::condition_variable, 0) == items + "2.5 s of 10 s");
  CHECK(sentence_with(explain::pattern::future, 4) == items + "4.0 s of 10 s");
  CHECK(sentence_with(explain::pattern::semaphore, 1) == items + "1.0 s of 10 s");  // and not what all threads would save
  CHECK(sentence_with(explain::pattern::latch, 4) == items + "4.0 s of 10 s");  // a semaphore of C++20
  CHECK(sentence_with(explain::pattern::thread_barrier, 4) ==
        "only thread 3 runs compute_interior (halo.cpp:88): dividing it among all threads would shorten the run by about 2.5 s "
        "of 10 s");
}

TEST_CASE("where as many threads as processors make single results, more threads make no more of them") {
  const whywait::base::rank_noun_scope threads(true);
  const auto claim = [](double sum, std::int64_t processors) {
    explain::explanation waits = late_sender();
    waits.why = explain::pattern::condition_variable;
    explain::outcome found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 2, 3, sum, 0.5)};
    found.balances[0].unmarked = true;
    rules::evaluation said;
    said.processors = processors;
    reports::run_facts run = facts();
    run.seconds = 10;
    run.threads_only = true;
    return first_sentence(reports::assemble(found, names(), run, said));
  };
  CHECK(claim(5.9, 2).empty());  // even
  CHECK(claim(5.5, 2).find("spends most time") == std::string::npos);
  CHECK(claim(5.5, 3).find("thread 3 spends most time in compute_interior (halo.cpp:88): dividing it among more threads") == 0);
  CHECK(claim(4, 2).find("thread 3 spends most time in ") == 0);
}

TEST_CASE("a thread that sleeps while the others go on has no work to divide") {
  const whywait::base::rank_noun_scope threads(true);
  const auto verdicts = [](bool sleeps, bool awaited) {
    explain::explanation waits = late_sender();  // above all for compute_interior
    waits.why = explain::pattern::thread_barrier;
    explain::outcome found = outcome({}, 8, 10 * second);
    if (awaited) found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 1, 6, 6, 1.0)};
    found.balances[0].among = 8;
    rules::evaluation said;
    said.code = {{compute, 3, 0, 5 * second, sleeps ? 0.99 : 0, sleeps, 0}};
    reports::run_facts run = facts();
    run.seconds = 10;
    run.threads_only = true;
    return reports::assemble(found, names(), run, said).verdict.size();
  };
  CHECK(verdicts(true, false) == 0);
  CHECK(verdicts(false, false) == 1);
  CHECK(verdicts(true, true) == 1);
}

TEST_CASE("threads that take work as they come are not named; that they differ is said if nothing else is") {
  const whywait::base::rank_noun_scope threads(true);
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 20, 1.5);
  b.moves = true;
  CHECK(with({b, b}).verdict.size() == 1);
  CHECK(first_sentence(with({b})) ==
        "now one thread, now another takes longer in compute_interior (halo.cpp:88): evening that out would shorten the run by "
        "at least 1.5 s of 10 s");
  rules::evaluation said;
  said.problems.push_back(finding_of("sending first", 1));
  CHECK(first_sentence(with({b}, said)).find("sending first") == 0);
}

TEST_CASE("a thread that only waits for the end of others does not make the slow one change") {
  const whywait::base::rank_noun_scope threads(true);
  const auto sentence_with = [](explain::pattern why) {
    explain::explanation waits = late_sender();  // 18.9 s, above all for compute_interior
    waits.why = why;
    explain::outcome found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
    reports::run_facts run = facts();
    run.seconds = 10;
    run.threads_only = true;
    return first_sentence(reports::assemble(found, names(), run, {}));
  };
  CHECK(sentence_with(explain::pattern::thread_barrier).find("now one thread, now another takes longer in") == 0);
  CHECK(sentence_with(explain::pattern::join).find("thread 3 takes 3.0 times as long as the others in") == 0);
}

TEST_CASE("of code of the threads of ranks, waits of other ranks for the whole of it do not tell how uneven it is") {
  const auto sentence_with = [](explain::pattern why, std::int32_t thread, std::int64_t inherited_ns) {
    explain::explanation waits = late_sender();  // 18.9 s, above all for compute_interior
    waits.why = why;
    waits.indirect_ns = inherited_ns;
    explain::outcome found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
    found.balances[0].thread = thread;
    found.balances[0].moves = true;
    reports::run_facts run = facts();
    run.seconds = 10;
    return first_sentence(reports::assemble(found, names(), run, {}));
  };
  const auto changes = [&](explain::pattern why, std::int32_t thread, std::int64_t inherited_ns) {
    return sentence_with(why, thread, inherited_ns).find("at times") != std::string::npos;
  };
  CHECK(changes(explain::pattern::thread_barrier, 1, 0));
  CHECK_FALSE(changes(explain::pattern::thread_barrier, 1, 10 * second));  // its rank waited for another one
  CHECK_FALSE(changes(explain::pattern::late_sender, 1, 0));
  CHECK(changes(explain::pattern::late_sender, 0, 0));
}

TEST_CASE("rules add to the verdict what they say, largest saving first, each once") {
  rules::evaluation said;
  said.waits.resize(1);
  said.waits[0].list.assign(
      2, finding_of("ranks 0-2 are late in turn, by how long update takes: evening it out", 2.5, {}, "slow_block"));
  said.problems.push_back(finding_of("a small matter", 0.199));
  const reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
  REQUIRE(r.verdict.size() == 2);
  CHECK(first_sentence(r) ==
        "ranks 0-2 are late in turn, by how long update takes: evening it out would shorten the run by up to 2.5 s of 10 s");
  CHECK(r.verdict[0].problem == "slow_block");
  CHECK(r.verdict[1].problem.empty());
}

TEST_CASE("a rule about the same block, or the same rank, replaces the verdict of the clocks if it saves as much") {
  rules::evaluation said;
  said.waits.resize(1);
  rules::finding f = finding_of("rank 3 takes 3 times as long for the same work: making it as fast", 1.6, {}, "slower_visits");
  f.wait = 0;  // most of it is compute_interior
  said.waits[0].list.push_back(f);
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5), balance_of(update, 3, 8, 6, 20, 1)}, said);
  REQUIRE(r.verdict.size() == 2);
  CHECK(r.verdict[0].problem == "slower_visits");
  CHECK(r.verdict[1].block == "update");
  said.waits[0].list[0].saving = 1.4;
  r = with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said);
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].block == "compute_interior");
  said.waits[0].list[0].saving = 3;
  said.waits[0].list[0].root = "rank 3";
  r = with(
      {balance_of(compute, 3, 8, 6, 20, 1.5), balance_of(update, 3, 8, 6, 20, 1), balance_of(sample::pack, 2, 8, 6, 20, 1)},
      said);
  REQUIRE(r.verdict.size() == 2);
  CHECK(r.verdict[1].rank == 2);
}

TEST_CASE("of patterns that save nearly the same the one that ranks wait longest for is the verdict") {
  const auto first = [](double larger) {
    rules::evaluation said;
    said.waits.resize(2);
    said.waits[0].list.push_back(
        finding_of("ranks 1-3 waited for messages of rank 0: sending them earlier", 2, {}, "late_sender"));
    said.waits[1].list.push_back(finding_of("rank 0 waited for ranks 1-3: evening that out", larger, {}, "wait_at_nxn"));
    for (rules::wait_advice& w : said.waits) w.list[0].of_pattern = true;
    reports::result r = with({}, said);
    return r.verdict.empty() ? std::string() : r.verdict[0].problem;
  };
  CHECK(first(2.09) == "late_sender");
  CHECK(first(2.11) == "wait_at_nxn");
}

TEST_CASE("threads that are awaited to their end have a verdict beside serial code that saves less") {
  const auto problems = [](const char* problem, double saving) {
    rules::evaluation said;
    said.waits.resize(1);
    said.waits[0].list.push_back(
        finding_of("thread 0 waited in pthread_join: dividing it among the threads", saving, {}, problem));
    said.waits[0].list[0].of_pattern = true;
    std::string all;
    for (const reports::verdict_entry& v : with({balance_of(compute, 3, 8, 6, 20, 1.5)}, said).verdict)
      all += (v.problem.empty() ? "balance" : v.problem) + " ";
    return all;
  };
  CHECK(problems("join", 1.9) == "balance ");
  CHECK(problems("join", 2.1) == "join balance ");
  CHECK(problems("wait_at_barrier", 2.1) == "balance ");
  CHECK(problems("wait_at_barrier", 4.6) == "wait_at_barrier balance ");
}

TEST_CASE("where ranks wait for progress, or sleep in the code, the clocks only know a bound") {
  const auto sentence_with = [](explain::pattern why, std::int32_t among, bool sleeps, double asleep) {
    explain::explanation waits = late_sender();  // above all for compute_interior
    waits.why = why;
    explain::outcome found = outcome({waits}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, among == 8 ? 8 : 1, 6, among == 8 ? 20 : 6, 1.5)};
    found.balances[0].among = 8;
    rules::evaluation said;
    said.code = {{compute + 1, 2, 0, 0, 0.9, true, 0}, {compute, 3, 0, 5 * second, asleep, sleeps, 0}};
    reports::run_facts run = facts();
    run.seconds = 10;
    return first_sentence(reports::assemble(found, names(), run, said));
  };
  const auto ends = [](const std::string& all, const std::string& end) {
    return all.size() >= end.size() && all.compare(all.size() - end.size(), end.size(), end) == 0;
  };
  CHECK(ends(sentence_with(explain::pattern::late_sender, 8, false, 0), " by about 1.5 s of 10 s"));
  CHECK(ends(sentence_with(explain::pattern::late_sender, 8, false, 0.09),
             " in compute_interior (halo.cpp:88): balancing it would shorten the run by about 1.5 s of 10 s"));
  CHECK(ends(sentence_with(explain::pattern::late_sender, 8, true, 0.05),  // most of what one rank takes longer
             " in compute_interior (halo.cpp:88): balancing it would shorten the run by up to 1.5 s of 10 s"));
  CHECK(ends(
      sentence_with(explain::pattern::late_sender, 8, true, 0.6),
      " in compute_interior (halo.cpp:88): balancing it would shorten the run by up to 1.5 s of 10 s; 60 % of that code was "
      "spent asleep or blocked"));
  CHECK(ends(sentence_with(explain::pattern::wait_for_progress, 8, false, 0), " by at least 1.5 s of 10 s"));
  CHECK(ends(sentence_with(explain::pattern::wait_for_progress, 1, false, 0), " by up to 1.5 s of 10 s"));
}

TEST_CASE("code that takes longer for want of a processor is not uneven") {
  const auto claim = [](double lacking) {
    explain::outcome found = outcome({late_sender()}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};  // 3.5 s above the mean
    rules::evaluation said;
    said.code = {{compute, 3, 0, 5 * second, 0, false, lacking}};
    reports::run_facts run = facts();
    run.seconds = 10;
    return first_sentence(reports::assemble(found, names(), run, said));
  };
  CHECK(claim(0.28).find("rank 3 takes") == 0);
  CHECK(claim(0.3).find("rank 3 takes") == std::string::npos);
}

TEST_CASE("what the clocks predict beside time that is not understood is a lower bound") {
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  REQUIRE(r.verdict.size() == 1);
  CHECK(!r.verdict[0].at_least);
  r.not_understood.seconds = 0.05 * r.run.location_seconds;
  reports::weaken(r);
  CHECK(first_sentence(r).find("balancing it would shorten the run by at least 1.5 s") != std::string::npos);
}

TEST_CASE("work that is dealt is not uneven because one rank came to one task more") {
  const auto claim = [](double most) {
    explain::outcome found = outcome({late_sender()}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.balances = {balance_of(compute, 3, 8, most, 7 + most, 1)};  // the others 1 s each
    found.balances[0].visits = 80;
    reports::run_facts run = facts();
    run.seconds = 10;
    run.first_comers = 80;
    return first_sentence(reports::assemble(found, names(), run, {}));
  };
  CHECK(claim(1.28).empty());
  CHECK(claim(1.4).find("rank 3 takes 1.4 times as long as the others in compute_interior") == 0);
}

TEST_CASE("a rank that is slow everywhere has one verdict, not one for each block") {
  rules::evaluation said;
  said.waits.resize(1);
  said.problems.push_back(
      finding_of("rank 3 takes 2 times as long as the others in each of 3 blocks: making it as fast", 3, "rank 3"));
  for (const char* rank : {"rank 3", "rank 33"})
    said.waits[0].list.push_back(
        finding_of(std::string(rank) + " takes 2 times as long as the others in update: making it as fast", 1, "update 3"));
  const reports::result r = with({balance_of(update, 3, 8, 6, 20, 1)}, said);
  REQUIRE(r.verdict.size() == 2);
  CHECK(r.verdict[0].claim.find("each of 3 blocks") != std::string::npos);
  CHECK(r.verdict[1].claim.find("rank 33 ") == 0);
}

TEST_CASE("what is predicted for the changed run is no upper bound") {
  rules::evaluation said;
  rules::finding f = finding_of("sending first", 2);
  f.predicted = true;
  said.problems.push_back(f);
  CHECK(first_sentence(with({}, said)) == "sending first would shorten the run by about 2.0 s of 10 s");
}

TEST_CASE("without a known cause the pattern that costs most is the verdict, or a line says why there is none") {
  rules::evaluation said;
  said.waits.resize(1);
  said.waits[0].known = true;
  said.waits[0].list.push_back(
      finding_of("ranks 1-3 waited for messages of rank 0: sending them earlier", 1, {}, "late_sender"));
  said.waits[0].list.push_back(finding_of("a smaller one", 0.9, {}, "late_sender"));
  for (rules::finding& f : said.waits[0].list) f.of_pattern = true;
  const auto run = [&said](base::vector<explain::balance_answer> balances) {
    reports::result r = with(std::move(balances), said);
    r.run.waiting_seconds = 0.1 * r.run.location_seconds;
    return r;
  };
  reports::result r = run({});
  REQUIRE(r.verdict.size() == 1);
  CHECK(first_sentence(r) ==
        "ranks 1-3 waited for messages of rank 0: sending them earlier would shorten the run by up to 1.0 s of 10 s");
  CHECK(reports::no_verdict_words(r).empty());
  r.not_understood.seconds = 0.02 * r.run.location_seconds;  // may be the cause; another line says so
  r.not_understood.ranks = {{0, 0, r.not_understood.seconds}};
  reports::weaken(r);
  CHECK(r.verdict.empty());
  CHECK(reports::no_verdict_words(r).empty());
  r = run({});
  r.not_understood.seconds = 0.02 * r.run.location_seconds;
  r.run.ranks = 100;
  r.not_understood.ranks = {{0, 0, 0.19}};  // less than a fifth of what is saved
  reports::weaken(r);
  CHECK(r.verdict.size() == 1);
  r.not_understood.ranks = {{0, 0, 0.21}};
  reports::weaken(r);
  CHECK(r.verdict.empty());
  r = run({balance_of(compute, 3, 8, 6, 20, 1.5)});
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].block == "compute_interior");

  said.waits[0].list[0].saving = said.waits[0].list[1].saving = 0.19;
  r = run({});
  CHECK(r.verdict.empty());
  CHECK(reports::no_verdict_words(r) == "no verdict: no change is known that would shorten the run by 2 % or more");  // no text
  said.waits[0].list[0].advice = "send it earlier";
  r = run({});
  CHECK(reports::no_verdict_words(r) ==
        "no verdict: no change is known that would shorten the run by 2 % or more; the best advice below saves at most 190 ms");
  CHECK(reports::text_of(r).find("no verdict: no change is known") != std::string::npos);
  r.waits[0].advice[0].saving_seconds = 1.5;  // 15 % of the run, but no rule has a verdict about it
  CHECK(reports::no_verdict_words(r).find("no verdict: by how much a change would shorten the run is not known well enough; "
                                          "the best advice below saves at most 1.5 s") == 0);
  r.waits[0].advice.clear();
  r.waits[0].pattern = "semaphore";
  r.waits[0].seconds = r.run.waiting_seconds;
  CHECK(reports::no_verdict_words(r) == "no verdict: nearly all waiting is that of threads whose waits delay nothing else");
  r.waits[0].pattern = "late_sender";
  CHECK(reports::no_verdict_words(r).find("delay nothing else") == std::string::npos);
  r.waits[0].pattern = "join";
  CHECK(reports::no_verdict_words(r).find("delay nothing else") != std::string::npos);
  r.waits[0].advice.emplace_back();
  r.waits[0].advice[0].text = "divide it among more threads";
  r.waits[0].advice[0].saving_seconds = 0.15;  // of 10 s
  CHECK(reports::no_verdict_words(r).find("delay nothing else") != std::string::npos);
  r.waits[0].advice[0].saving_seconds = 0.25;
  CHECK(reports::no_verdict_words(r).find("delay nothing else") == std::string::npos);
  r.run.waiting_seconds = 0.049 * r.run.location_seconds;
  CHECK(reports::no_verdict_words(r).empty());
}

TEST_CASE("a pattern has a verdict beside causes that save far less, but not for the same code") {
  rules::evaluation said;
  rules::wait_advice of_wait;
  of_wait.list.push_back(finding_of("ranks 1-3 waited in MPI_Recv: calling it earlier", 3.0));
  of_wait.list[0].of_pattern = true;
  of_wait.list[0].wait = 0;
  said.waits.push_back(of_wait);
  const explain::balance_answer small = balance_of(update, 3, 8, 6, 20, 0.5), large = balance_of(update, 3, 8, 9, 20, 1.5);
  REQUIRE(with({small}, said).verdict.size() == 2);
  CHECK(with({small}, said).verdict[0].of_pattern);
  CHECK(with({small}, said).verdict[1].block == "update");
  REQUIRE(with({large}, said).verdict.size() == 1);
  CHECK(with({large}, said).verdict[0].block == "update");
  REQUIRE(with({balance_of(compute, 3, 8, 6, 20, 0.5)}, said).verdict.size() == 1);  // the code that the wait is about
}

TEST_CASE("what saves less than the error of measurement is no verdict") {
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
  const auto verdicts = [&found](double error) {
    found.without_overhead.error_ns = static_cast<std::int64_t>(error * second);
    return reports::assemble(found, names(), facts()).verdict.size();
  };
  CHECK(verdicts(1.4) == 1);
  CHECK(verdicts(1.6) == 0);
}

TEST_CASE("code that runs under a lock is not balanced, because its parts would wait for the lock in turn") {
  const auto verdicts = [](explain::pattern why) {
    explain::outcome found = outcome({late_sender()}, 8, 10 * second);
    found.total_ns = 10 * second;
    found.waits[0].why = why;
    found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
    return reports::assemble(found, names(), facts()).verdict.size();
  };
  CHECK(verdicts(explain::pattern::late_sender) == 1);
  CHECK(verdicts(explain::pattern::mutex_contention) == 0);
}

TEST_CASE("where locks are waited for, balancing saves at least what the clocks find in the old order of the lock") {
  explain::explanation lock = late_sender();
  lock.why = explain::pattern::window_lock_contention;
  lock.wait_ns = second / 10;
  lock.residual = {term(update, second / 10, 0, 5, 0)};
  explain::outcome found = outcome({late_sender(), lock}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
  const reports::result r = reports::assemble(found, names(), facts());
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].at_least);
}

TEST_CASE("code that the compiler has twice is one verdict with the sum, as a bound") {
  constexpr core::stable_key copy = 4711;
  explain::outcome found = outcome({late_sender()}, 8, 10 * second);
  found.total_ns = 10 * second;
  found.meanings.push_back({between_key, explain::block_kind::between, waitall, send});
  found.meanings.push_back({copy, explain::block_kind::between, waitall, send});
  explain::balance_answer first = balance_of(between_key, 0, 1, 2, 2, 1.2), second_copy = balance_of(copy, 0, 1, 2, 2, 0.8);
  first.among = second_copy.among = 8;
  first.region = second_copy.region = false;
  found.balances = {first, second_copy};
  const reports::result r = reports::assemble(found, names(), facts());
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].saving_seconds == doctest::Approx(2.0));
  CHECK_FALSE(r.verdict[0].predicted);
}

TEST_CASE("a block that is long on one rank in one epoch and on another in the next names no rank") {
  explain::outcome all;
  explain::outcome epoch;
  epoch.balances = {balance_of(compute, 3, 8, 6, 20, 1.5)};
  explain::detail::add_epoch(all, epoch);
  CHECK_FALSE(all.balances.at(0).several);
  explain::detail::add_epoch(all, epoch);
  CHECK_FALSE(all.balances.at(0).several);
  epoch.balances[0].rank = 2;
  explain::detail::add_epoch(all, epoch);
  CHECK(all.balances.at(0).several);
  CHECK(first_sentence(with(all.balances)) ==
        "now one rank, now another takes 3.0 times as long as the others in compute_interior (halo.cpp:88): balancing it would "
        "shorten the run by about 4.5 s of 10 s");
}

TEST_CASE("where ranks share processors, balancing saves a range") {
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  const auto first_sentence_if = [&r](double share) {
    r.not_understood.sharing = {share * r.run.location_seconds, 0, 8, 4};
    return first_sentence(r);
  };
  r.run.ranks = 8;
  r.run.location_seconds = 80;
  // The rank has 6 s - 20 s / 8 above the mean, and each rank lacked a processor for 0.5 s, 3 s and 4 s.
  CHECK(first_sentence_if(0.05).find("would shorten the run by 1.5 s to 3.5 s of 10 s") != std::string::npos);
  CHECK(first_sentence_if(0.3).find("would shorten the run by 500 ms to 3.5 s of 10 s") != std::string::npos);
  CHECK(first_sentence_if(0.4).find("would shorten the run by up to 3.5 s of 10 s") != std::string::npos);
  CHECK(first_sentence_if(0.0499).find("by about 1.5 s") != std::string::npos);
  // They lacked none, but 8 ranks may copy their data at the same time on 4 processors: transfer took 1 s, and may take 2 s.
  r.ledger.efficiency.parallel = 0.5;
  r.ledger.efficiency.transfer = 0.9;
  r.profile.messages.resize(1);
  r.profile.messages[0].peers = "node";
  r.profile.messages[0].bytes = 4'000'000'000;
  CHECK(first_sentence_if(0.0499).find("by 500 ms to 1.5 s of 10 s (more ranks than processors") != std::string::npos);
  r.profile.messages[0].bytes = 1'600'000'000;  // of which each rank copies a fifth of a GB, in and out: the rest are delays
  CHECK(first_sentence_if(0).find("by 1.1 s to 1.5 s of 10 s") != std::string::npos);
  r.profile.messages[0].bytes = 4'000'000'000;
  r.profile.messages[0].operation = "receive";
  CHECK(first_sentence_if(0).find("by about 1.5 s of 10 s") != std::string::npos);
  r.profile.messages[0].operation = "collective";
  r.profile.messages[0].peers = "network";
  CHECK(first_sentence_if(0).find("by about 1.5 s of 10 s") != std::string::npos);
  r.profile.messages[0].peers = "unknown";
  r.ledger.efficiency.transfer = 0.8;
  r.profile.messages[0].bytes = 8'000'000'000;
  CHECK(first_sentence_if(0).find("by up to 1.5 s of 10 s") != std::string::npos);
  r.not_understood.sharing.processors = 8;
  CHECK(first_sentence(r).find("by about 1.5 s of 10 s") != std::string::npos);
}

TEST_CASE("where other programs took processors from threads, these may be late for that reason") {
  reports::result r = with({balance_of(compute, 3, 8, 6, 20, 1.5)});
  r.run.threads_only = true;
  r.run.ranks = 8;
  r.run.location_seconds = 80;
  const auto by = [&r](double seconds, std::int64_t processors) {
    r.not_understood.sharing = {seconds, 0, 8, processors};
    const std::string said = first_sentence(r);
    return said.substr(said.rfind(" by ") + 1);
  };
  CHECK(by(4, 8) == "by 1.0 s to 1.5 s of 10 s");  // each thread lacked a processor for 0.5 s
  CHECK(by(12, 8) == "by up to 1.5 s of 10 s");
  CHECK(by(12, 4) == "by about 1.5 s of 10 s");  // more threads than processors: their own work
  CHECK(by(0.9, 8) == "by about 1.5 s of 10 s");
  r.verdict[0].at_least = true;
  CHECK(by(12, 8) == "by up to 1.5 s of 10 s");
  by(11.9, 8);  // 1.49 s each
  reports::weaken(r);
  CHECK(r.verdict.size() == 1);
  by(12, 8);
  reports::weaken(r);
  CHECK(r.verdict.empty());
}

TEST_CASE("what the kernel may have caused has no verdict") {
  rules::evaluation said;
  said.noise.all_ns = second;
  said.noise.add(3, 600000000);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.5)}, said).verdict.size() == 0);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.7)}, said).verdict.size() == 1);
  CHECK(with({balance_of(compute, 2, 8, 6, 20, 0.5)}, said).verdict.size() == 1);  // another rank had no processor
  said.noise.ranks.clear();
  said.noise.add(3, 5 * second);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.9)}, said).verdict.size() == 0);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 1.1)}, said).verdict.size() == 1);  // more than 10 % of the run
  // neither has a pattern of waits that saves less, nor one instead of what has no verdict
  said.noise.ranks.clear();
  said.waits.resize(1);
  said.waits[0].list.push_back(finding_of("ranks 0-2 waited: sending earlier", 0.9, {}, "late_sender"));
  said.waits[0].list[0].of_pattern = true;
  CHECK(with({}, said).verdict.size() == 0);
  said.waits[0].list[0].saving = 1.1;
  CHECK(with({}, said).verdict.size() == 1);
  said.noise.add(3, 600000000);
  CHECK(with({balance_of(compute, 3, 8, 6, 20, 0.5)}, said).verdict.size() == 0);
}

TEST_CASE("code after a call that one rank alone passes is no verdict if the rank takes no longer in all") {
  explain::balance_answer b = balance_of(compute, 3, 8, 6, 6, 3);
  b.block = b.piece = between_key;
  b.region = false;
  b.unmarked = b.after = true;
  rules::evaluation said;
  for (const double above : {2.7, 2.5}) {
    said.code.clear();
    said.code.push_back({compute, 3, 0, static_cast<std::int64_t>(above * second), 0, false, 0});
    CHECK(with({b}, said).verdict.size() == (above > 2.6 ? 1 : 0));
  }
  b.after = false;
  b.before = true;
  CHECK(with({b}, said).verdict.size() == 0);
  said.code[0].above_mean_ns = 3 * second;
  CHECK(first_sentence(with({b}, said)).find(" of the code before MPI_") != std::string::npos);
}

TEST_CASE("advice about an imbalance that moves states the bound of its verdict") {
  reports::result r = with({});
  reports::advice_entry a;
  CHECK(std::string(reports::saving_bound_words(r, a)) == "at most");
  a.predicted = true;
  CHECK(std::string(reports::saving_bound_words(r, a)) == "about");
  a.at_least = true;
  CHECK(std::string(reports::saving_bound_words(r, a)) == "at least");
  a.predicted = false;
  CHECK(std::string(reports::saving_bound_words(r, a)) == "about");
  rules::evaluation said;
  said.waits.resize(1);
  said.waits[0].known = true;
  said.waits[0].list.push_back(finding_of("", 0.5, {}, "uneven_work"));
  said.waits[0].list[0].predicted = said.waits[0].list[0].at_least = true;
  r = with({}, said);
  REQUIRE(r.waits.size() == 1);
  REQUIRE(r.waits[0].advice.size() == 1);
  CHECK(r.waits[0].advice[0].at_least);
}
