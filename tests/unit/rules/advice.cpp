#include "sample.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

namespace base = sample::base;
namespace core = whywait::core;
namespace explain = sample::explain;
namespace rules = sample::rules;
using sample::term;
using sample::explain::pattern;

bool contains(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

sample::explain::explanation late_sender() {
  return sample::wait(pattern::late_sender, sample::recv, sample::send,
                      {term(sample::compute, 0, 1600, 900, 900, 3000, 1400), term(sample::pack, 150, 0, 26, 14)}, 250);
}

}  // namespace

TEST_CASE("advice names the user's own calls and blocks, and saves at most what they cost") {
  const auto e = sample::evaluate(sample::outcome({late_sender()}));
  REQUIRE(e.waits.size() == 1);
  CHECK(e.waits[0].known);
  REQUIRE(e.waits[0].list.size() == 1);
  const rules::finding& f = e.waits[0].list[0];
  CHECK(f.problem == "late_sender");
  CHECK(f.advice ==
        "call MPI_Send (halo.cpp:131) before compute_interior if the message does not depend on it, else after each "
        "part of it, or post the "
        "receive early with MPI_Irecv and wait for it after other work");
  CHECK(f.seconds == doctest::Approx(2.0));
  REQUIRE(f.actions.size() == 2);
  CHECK(f.actions[0].text == "MPI_Send in calculate (halo.cpp:131)");
  CHECK(f.actions[1].text == "MPI_Recv in calculate (halo.cpp:142)");
  CHECK(e.messages.empty());
}

TEST_CASE("a wait for a nonblocking receive gets other advice than a blocking one") {
  auto w = late_sender();
  w.operation = sample::waitall;
  const auto e = sample::evaluate(sample::outcome({w}));
  REQUIRE(e.waits[0].list.size() == 1);
  CHECK(contains(e.waits[0].list[0].advice, "or give ranks 1-3 work to do ahead of MPI_Waitall (halo.cpp:20)"));
}

TEST_CASE(
    "unmarked code that the waiting side hardly runs counts as not run there, unless it takes longer in turn by the clocks") {
  const auto ran = [](std::int64_t waiting_ms, std::int64_t evened_ms) {
    auto w = sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                          {term(sample::between, 0, 1000, 10, 10, 1000, waiting_ms)});
    auto o = sample::outcome({w});
    o.meanings = {{sample::between, sample::explain::block_kind::between, sample::waitall, sample::barrier}};
    if (evened_ms != 0) {
      o.balances.emplace_back();
      o.balances[0].block = o.balances[0].piece = sample::between;
      o.balances[0].evened_ns = evened_ms * sample::ms;
    }
    const auto said = sample::evaluate(o, R"(
      declare composite event seen member ( wait as w ) when w.count > 0
        parameters ( ran = w.top_waiting_amount, time = w.duration );
      declare problem for seen parameters ( name = "seen", description = "ran {ran}", duration = time );)");
    const rules::finding* const f = sample::find(said.waits[0].list, "seen");
    return f != nullptr                                     ? f->description
           : sample::find(said.problems, "seen") != nullptr ? sample::find(said.problems, "seen")->description
                                                            : std::string("nothing");
  };
  CHECK(ran(11, 0) == "ran 10");
  CHECK(ran(9, 0) == "ran 0");
  CHECK(ran(9, 500) == "ran 10");
}

TEST_CASE("code between two calls is named by them") {
  auto w = sample::wait(pattern::late_sender, sample::recv, sample::send, {term(sample::between, 0, 2000, 10, 10, 3000, 1000)});
  auto o = sample::outcome({w});
  o.meanings = {{sample::between, sample::explain::block_kind::between, sample::waitall, sample::send}};
  const auto e = sample::evaluate(o);
  REQUIRE(e.waits[0].list.size() == 1);
  CHECK(contains(e.waits[0].list[0].advice, "before the code between MPI_Waitall (halo.cpp:20) and MPI_Send (halo.cpp:131)"));
}

TEST_CASE("a wait below the threshold gets no advice, and the threshold can be set") {
  auto w = sample::wait(pattern::late_sender, sample::recv, sample::send, {term(sample::compute, 0, 300, 9, 9, 400, 100)});
  const auto quiet = sample::evaluate(sample::outcome({w}));
  CHECK(quiet.waits[0].known);
  CHECK(quiet.waits[0].list.empty());
  const auto loud = sample::evaluate(sample::outcome({w}), "set threshold = 0.5 %;");
  CHECK(loud.waits[0].list.size() == 1);
}

TEST_CASE("two sides could work at once where the one that waits hardly runs the code of the other meanwhile") {
  for (const std::int64_t waiter_ms : {100, 1400}) {
    auto one = sample::wait(pattern::late_sender, sample::recv, sample::send,
                            {term(sample::compute, 0, 1600, 900, 900, 1600 + waiter_ms, waiter_ms)});
    auto other = one;
    other.operation = sample::waitall;
    auto o = sample::outcome({one, other});
    o.turns = {sample::recv, sample::waitall, 900 * sample::ms};
    bool found = false;
    for (const auto& w : sample::evaluate(o).waits)
      for (const rules::finding& f : w.list) found = found || f.problem == "no_overlap";
    CHECK(found == (waiter_ms == 100));
  }
}

TEST_CASE("another order of calls cannot make the rank shorter that computes longest") {
  auto o = sample::outcome({sample::wait(pattern::late_broadcast, sample::recv, sample::send,
                                         {term(sample::compute, 0, 1600, 900, 900, 3000, 1400)})});
  o.total_ns = 10000 * sample::ms;
  explain::balance_answer b;
  b.block = b.piece = sample::compute;
  b.ranks = b.among = 4;
  b.saving_ns = 500 * sample::ms;
  o.balances = {b};
  const rules::knowledge known = sample::knowledge();
  for (const double communication : {0.98, 0.8}) {  // the longest useful time of a rank, of the run
    o.efficiency.communication = o.efficiency.parallel = communication;
    rules::program_facts program;
    program.useful_known = true;
    const auto e = rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
    REQUIRE(!e.waits[0].list.empty());
    CHECK(contains(e.waits[0].list[0].advice, "before compute_interior") == (communication == 0.8));
    CHECK(contains(e.waits[0].list[0].advice, "divide the work of compute_interior"));
  }
}

TEST_CASE("removing the rule of a pattern makes its waits unknown") {
  const auto o = sample::outcome({late_sender()});
  CHECK_FALSE(sample::evaluate(o, "remove problem \"late_sender\";").waits[0].known);
  CHECK_FALSE(sample::evaluate(o, "remove problems;").waits[0].known);
  CHECK_FALSE(sample::evaluate(o, "remove event late_sender;").waits[0].known);
}

TEST_CASE("a wait that the rule of its pattern leaves out is listed without advice") {
  // The thread that ends late waited itself: advice for that wait shortens this one.
  auto w = sample::wait(pattern::join, sample::recv, sample::send, {term(sample::compute, 0, 2000, 10, 10, 3000, 1000)});
  REQUIRE(sample::evaluate(sample::outcome({w})).waits[0].list.size() == 1);
  w.residual[0].inherited_ns = w.residual[0].total_ns;
  const auto e = sample::evaluate(sample::outcome({w}));
  CHECK(e.waits[0].known);
  CHECK(e.waits[0].list.empty());
}

TEST_CASE("a rule of the user replaces the built-in one of the same name") {
  const auto e = sample::evaluate(sample::outcome({late_sender()}),
                                  "declare problem for late_sender parameters (name = \"late_sender\", advice = \"ask "
                                  "{w.late_ranks}\", duration = w.duration);");
  REQUIRE(e.waits[0].list.size() == 1);
  CHECK(e.waits[0].list[0].advice == "ask rank 0");
}

TEST_CASE("waits within ranks name threads, and dividing the work of one among n saves at most (n - 1) / n of it") {
  auto w =
      sample::wait(pattern::thread_barrier, sample::recv, sample::recv, {term(sample::compute, 0, 2000, 10, 10, 3000, 1000)});
  const auto side = [](std::initializer_list<explain::location_share> shares) {
    base::vector<explain::location_share> all;
    for (const explain::location_share& s : shares) all.push_back(s);
    return all;
  };
  w.causers = side({{0, 1, 1000 * sample::ms}, {1, 1, 960 * sample::ms}, {1, 0, 40 * sample::ms}});  // the last one by chance
  w.waiters = side({{0, 0, 1000 * sample::ms}, {1, 0, 960 * sample::ms}, {1, 1, 40 * sample::ms}});
  const auto e = sample::evaluate(sample::outcome({w}));
  REQUIRE(e.waits[0].list.size() == 1);
  const rules::finding& f = e.waits[0].list[0];
  CHECK(contains(f.description, "thread 0 of ranks 0 and 1 came to MPI_Recv (halo.cpp:142) before thread 1 of ranks 0 and 1"));
  CHECK(f.saving == doctest::Approx(0.5));
  w.causers = side({{2, 1, 500 * sample::ms}, {2, 3, 500 * sample::ms}});
  w.waiters = side({{2, 0, 1000 * sample::ms}});
  const auto alone = sample::evaluate(sample::outcome({w}));
  REQUIRE(alone.waits[0].list.size() == 1);
  CHECK(contains(alone.waits[0].list[0].description, "thread 0 of rank 2 came to"));
  CHECK(contains(alone.waits[0].list[0].description, "before threads 1 and 3 of rank 2"));
  CHECK(alone.waits[0].list[0].saving == doctest::Approx(1.0 * 2 / 3));
}

TEST_CASE("the code of each thread of a rank counts for itself") {
  rules::code_table code;
  for (int rank = 0; rank != 2; ++rank) {
    base::pod_vector<rules::rank_code> own;
    for (std::int32_t thread = 0; thread != 2; ++thread) {
      own.push_back({sample::compute, (thread == 1 ? 3000 : 1000) * sample::ms + rank, 900, 0});
      own.back().thread = thread;
    }
    code.merge(rules::code_of(rank, own));
  }
  const rules::code_use* const use = code.find(sample::compute);
  REQUIRE(use != nullptr);
  CHECK(use->ranks == 4);
  CHECK(use->most_rank == 1);
  CHECK(use->most_thread == 1);
  CHECK(use->most_ns == 3000 * sample::ms + 1);
  CHECK(use->second_ns == 3000 * sample::ms);
  CHECK(use->most_whole_ns == 3000 * sample::ms + 1);
  CHECK(code.whole.ranks == 4);
  const rules::code_spread spread = rules::code_spread::of(use, code, 4, 2000 * sample::ms);
  CHECK(std::string(spread.lead) == "several");
  CHECK(spread.rank == 1);
  CHECK(spread.thread == 1);
}

TEST_CASE("the ranks' own code decides what kind of problem a wait is") {
  using whywait::rules::code_use;
  auto o = sample::outcome({late_sender(), late_sender()});
  const rules::knowledge known = sample::knowledge();
  // Four ranks; rank 2 has `most_s` seconds in the block, the others 1 s each.
  const auto evaluate = [&](double most_s, std::int64_t most_work, double rest_of_most_s) {
    const auto ns = [](double s) { return static_cast<std::int64_t>(s * 1e9); };
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      const bool is = rank == 2;
      const auto work = most_work == 0 ? 0 : is ? most_work : 100;
      const base::pod_vector<rules::rank_code> own = {{sample::compute, ns(is ? most_s : 1), 900, work},
                                                      {sample::update, ns(is ? rest_of_most_s : 3), 1, 0}};
      code.merge(rules::code_of(rank, own));
    }
    rules::program_facts program;
    program.code = &code;
    return rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
  };
  const auto advice_of = [](const rules::evaluation& e) {
    return e.waits[0].list.empty() ? std::string() : e.waits[0].list[0].problem + ": " + e.waits[0].list[0].description;
  };
  CHECK(advice_of(evaluate(3, 0, 3)) ==
        "uneven_work: rank 2 takes 3 times as long as the others in compute_interior (with as many visits).");
  CHECK(advice_of(evaluate(3, 300, 3)) ==
        "uneven_work: rank 2 takes 3 times as long as the others in compute_interior (3 times the units of work).");
  CHECK(advice_of(evaluate(3, 100, 3)) ==
        "slower_visits: rank 2 takes 3 times as long as the others in compute_interior, at the same number of units of work.");
  // A step in the block that the others hardly run explains its time, and can be balanced.
  o.waits[0].residual.push_back(term(sample::update, 0, 0, 700, 300));
  o.waits[0].residual.back().within = sample::compute;
  rules::evaluation branch = evaluate(3, 100, 3);
  CHECK(
      advice_of(branch) ==
      "slower_visits: rank 2 takes 3 times as long as the others in compute_interior, at the same number of units of work: it "
      "runs update there, which the others hardly run.");
  CHECK(contains(branch.waits[0].list[0].verdict, " because it runs update there: balancing it by cost"));
  const double as_fast = branch.waits[0].list[0].saving;
  o.waits[0].residual.back().waiter_visits = 350;
  branch = evaluate(3, 100, 3);
  CHECK(contains(branch.waits[0].list[0].verdict, " for the same work: making each unit of work as fast there as elsewhere"));
  CHECK(branch.waits[0].list[0].saving == doctest::Approx(as_fast * 4 / 3));
  // A step of that name is marked in two lines, of which each side runs another one.
  o.waits[0].residual.back().waiter_visits = 0;
  o.waits[0].residual.push_back(term(sample::update, 0, 0, 0, 700));
  o.waits[0].residual.back().within = sample::compute;
  CHECK(contains(evaluate(3, 100, 3).waits[0].list[0].verdict,
                 " for the same work: making each unit of work as fast there as elsewhere"));
  o.waits[0].residual.pop_back();
  o.waits[0].residual.pop_back();
  // Two blocks of the same rank add up to the wait.
  CHECK(contains(advice_of(evaluate(1.4, 140, 3.4)), "uneven_work: rank 2 takes 1.40 times"));
  CHECK(contains(advice_of(evaluate(1.4, 140, 3)), "late_sender"));
  // As much in total: no rank has more to do.
  CHECK(contains(advice_of(evaluate(3, 0, 1)), "late_sender"));
  CHECK(contains(advice_of(evaluate(1.05, 0, 3)), "late_sender"));
  // The second wait has the same root cause, which is one finding.
  CHECK(evaluate(3, 0, 3).waits[1].list.empty());
  CHECK(evaluate(1.05, 0, 3).waits[1].list.size() == 1);
}

namespace {

core::code_counts counts_of(std::int64_t delay_ms, std::int64_t system_ms, std::int64_t faults) {
  core::code_counts out{};
  out[core::code_count::delay_ns] = delay_ms * sample::ms;
  out[core::code_count::system_ns] = system_ms * sample::ms;
  out[core::code_count::faults] = faults;
  return out;
}

rules::rank_code code_with(core::stable_key block, std::int64_t ms, std::int64_t work, const core::code_counts& counts) {
  rules::rank_code out;
  out.block = block;
  out.ns = ms * sample::ms;
  out.visits = 900;
  out.work = work;
  out.counts = counts;
  out.counts[core::code_count::read_ns] = out.ns;
  out.counts[core::code_count::ran_ns] = out.ns - counts[core::code_count::delay_ns] - counts[core::code_count::blocked_ns];
  return out;
}

}  // namespace

TEST_CASE("a rank that yields its processor while it waits is not held up") {
  rules::processor_use waiting;
  waiting.ran_ns = 500 * sample::ms, waiting.ran_times = 100;
  waiting.delay_ns = 1000 * sample::ms;
  CHECK(waiting.held_up_ns() == 1000 * sample::ms);  // it spins
  waiting.ran_times = 10000;
  CHECK(waiting.held_up_ns() == 0);
}

TEST_CASE("why a rank is slower is what was counted of the block, if that is half of the excess") {
  // Rank 2 takes one second more than the others.
  const auto problem = [](const core::code_counts& counts, std::int64_t work, const core::code_counts& others = {}) {
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      const base::pod_vector<rules::rank_code> own = {
          code_with(sample::compute, rank == 2 ? 2000 : 1000, work, rank == 2 ? counts : others)};
      code.merge(rules::code_of(rank, own));
    }
    const rules::code_use* const use = code.find(sample::compute);
    return std::string(rules::code_spread::of(use, code, 4, 1000 * sample::ms).excess);
  };
  CHECK(problem(counts_of(500, 0, 0), 0) == "shared");
  CHECK(problem(counts_of(500, 0, 0), 100) == "shared");
  CHECK(problem(counts_of(499, 0, 0), 100) == "speed");
  CHECK(problem({}, 0) == "unknown");
  CHECK(problem({}, 100) == "speed");
  // The kernel's time is page faults unless each took more than 50 us.
  CHECK(problem(counts_of(0, 500, 10000), 100) == "faults");
  CHECK(problem(counts_of(0, 500, 9999), 100) == "system");
  CHECK(problem(counts_of(0, 499, 10000), 100) == "speed");
  // More work has more time in the kernel if each piece has some: of 500 in 1000 ms, 1000 in 2000 ms are nothing special.
  CHECK(problem(counts_of(0, 1000, 0), 0, counts_of(0, 500, 0)) == "unknown");
  CHECK(problem(counts_of(0, 1240, 0), 0, counts_of(0, 500, 0)) == "unknown");
  CHECK(problem(counts_of(0, 1250, 0), 0, counts_of(0, 500, 0)) == "system");
  // System calls that sleep.
  const auto asleep = [](std::int64_t system_ms, std::int64_t blocked_ms) {
    core::code_counts out = counts_of(0, system_ms, 0);
    out[core::code_count::blocked_ns] = blocked_ms * sample::ms;
    return out;
  };
  CHECK(problem(asleep(250, 250), 100) == "system");
  CHECK(problem(asleep(300, 249), 100) == "speed");
  CHECK(problem(asleep(249, 700), 100) == "speed");
  const auto processor = [](std::int64_t seconds, std::int64_t instructions, std::int64_t cycles) {
    core::code_counts out{};
    out[core::code_count::counted_ns] = seconds * 1000 * sample::ms;
    out[core::code_count::instructions] = instructions;
    out[core::code_count::cycles] = cycles;
    return out;
  };
  const core::code_counts usual = processor(1, 1000000, 2000000);
  CHECK(problem(processor(2, 2000000, 4000000), 100, usual) == "instructions");
  CHECK(problem(processor(2, 2000000, 4000000), 0, usual) == "work");  // a visit may be more work
  CHECK(problem(processor(2, 1000000, 4000000), 0, usual) == "cycles");
  CHECK(problem(processor(2, 1000000, 2000000), 0, usual) == "frequency");
  CHECK(problem(processor(2, 2000000, 4000000), 100) == "speed");  // the others were not counted
}

TEST_CASE("a rank that needs more cycles for each instruction in all its code has a slower core") {
  // Rank 2 takes twice as long in one block, and, with as many instructions, `other_ms` instead of 300 ms in another.
  const auto excess = [](std::int64_t other_ms, std::int64_t other_cycles, std::int64_t other_ms_usual = 300) {
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      const auto counted = [](core::stable_key block, std::int64_t ms, std::int64_t instructions, std::int64_t cycles) {
        core::code_counts counts{};
        counts[core::code_count::counted_ns] = ms * sample::ms;
        counts[core::code_count::instructions] = instructions;
        counts[core::code_count::cycles] = cycles;
        return code_with(block, ms, 0, counts);
      };
      const bool slow = rank == 2;
      base::pod_vector<rules::rank_code> own = {
          counted(sample::pack, slow ? other_ms : other_ms_usual, 1000000, slow ? other_cycles : 1000000),
          counted(sample::compute, slow ? 2000 : 1000, 4000000, slow ? 8000000 : 4000000)};
      if (own[1].block < own[0].block) std::swap(own[0], own[1]);
      code.merge(rules::code_of(rank, own));
    }
    return std::string(rules::code_spread::of(code.find(sample::compute), code, 4, 1000 * sample::ms).excess);
  };
  CHECK(excess(600, 2000000) == "core");
  CHECK(excess(300, 1000000) == "cycles");  // as fast as the others there
  CHECK(excess(600, 1000000) == "cycles");  // slower there for another reason
  CHECK(excess(100, 2000000, 50) == "cycles");  // too little other code
}

TEST_CASE("threads that had no processor, or shared a place with others, are not uneven because of it") {
  struct thread {
    std::int64_t ms, delay_ms, before_it = 1;
  };
  const auto spread = [](std::initializer_list<thread> threads) {
    rules::code_table code;
    std::int32_t rank = 0;
    for (const thread& t : threads) {
      const base::pod_vector<rules::rank_code> own = {code_with(sample::compute, t.ms, 0, counts_of(t.delay_ms, 0, 0))};
      code.merge(rules::code_of(rank++, own, {}, t.before_it));
    }
    return rules::code_spread::of(code.find(sample::compute), code, rank, 900 * sample::ms);
  };
  const auto text = [](const rules::code_spread& s) { return std::string(s.lead) + " " + s.excess; };
  // Each runs for 40 ms; the first one, which began all others, waits 1960 ms for a processor meanwhile.
  const rules::code_spread first = spread({{2000, 1960}, {40, 0}, {40, 0}, {40, 0}});
  CHECK(text(first) == "one shared");
  CHECK(first.delay_ns == 1960 * sample::ms);
  // It runs for 1040 ms: 750 ms more than the mean.
  const rules::code_spread longer = spread({{2000, 960}, {1000, 960}, {1000, 960}, {1000, 960}});
  CHECK(text(longer) == "one unknown");
  CHECK(longer.above_mean_ns == 750 * sample::ms);
  // Ten threads that ran one after the other on one place, and three on places of their own.
  CHECK(text(spread({{1000, 0, 10}, {100, 0}, {100, 0}, {100, 0}})) == "even ");
  // One of these ten takes 900 ms longer than the others.
  const rules::code_spread one_of_ten = spread({{1900, 0, 10}, {100, 0}, {100, 0}, {100, 0}});
  CHECK(text(one_of_ten) == "one unknown");
  CHECK(one_of_ten.above_mean_ns == 900 * sample::ms);
  // As many threads on each place.
  CHECK(text(spread({{1000, 0, 10}, {100, 0, 10}, {100, 0, 10}, {100, 0, 10}})) == "one unknown");
}

TEST_CASE("time in the kernel that all ranks spend makes none of them slow") {
  rules::code_table code;
  for (int rank = 0; rank < 4; ++rank) {
    const base::pod_vector<rules::rank_code> own = {
        code_with(sample::compute, rank == 2 ? 2000 : 1000, 0, counts_of(0, 900, 200000))};
    code.merge(rules::code_of(rank, own));
  }
  const auto spread = rules::code_spread::of(code.find(sample::compute), code, 4, 1000 * sample::ms);
  CHECK(std::string(spread.excess) == "unknown");
  CHECK(spread.more_faults == 0);
}

TEST_CASE("time in the kernel is compared with the other ranks that run the block") {
  rules::code_table code;
  for (int rank = 0; rank < 4; ++rank) {
    const base::pod_vector<rules::rank_code> own = {code_with(rank < 2 ? sample::pack : sample::compute,
                                                              rank == 2 ? 2000 : 1000, 0,
                                                              counts_of(0, rank == 2 ? 800 : 200, rank == 2 ? 80000 : 20000))};
    code.merge(rules::code_of(rank, own));
  }
  const auto spread = rules::code_spread::of(code.find(sample::compute), code, 2, 1000 * sample::ms);
  CHECK(std::string(spread.excess) == "faults");
  CHECK(spread.more_system_ns == 600 * sample::ms);
  CHECK(spread.more_faults == 60000);
}

TEST_CASE("a rank that had more page faults is late for them, also where another one is late in other code") {
  const auto spread = [](std::int64_t faults_ms) {
    rules::code_table code;
    for (int rank = 0; rank < 2; ++rank) {
      base::pod_vector<rules::rank_code> own = {
          code_with(sample::compute, rank == 0 ? 500 : 60, 0, counts_of(0, rank == 0 ? faults_ms : 0, rank == 0 ? 10000 : 0)),
          code_with(sample::pack, rank == 0 ? 20 : 460, 0, {})};
      if (own[1].block < own[0].block) std::swap(own[0], own[1]);
      code.merge(rules::code_of(rank, own));
    }
    const rules::code_spread s = rules::code_spread::of(code.find(sample::compute), code, 2, 440 * sample::ms);
    return std::string(s.lead) + " " + s.excess;
  };
  CHECK(spread(400) == "one faults");
  CHECK(spread(0) == "even ");
}

TEST_CASE("ranks with hardly any part of a wait are not named, unless many have as little") {
  using shares = base::vector<explain::location_share>;
  CHECK(rules::ranks_text(shares{{0, 0, 50}, {3, 0, 48}, {1, 0, 2}}) == "ranks 0 and 3");
  CHECK(rules::ranks_text(shares{{0, 0, 50}, {3, 0, 42}, {1, 0, 4}, {2, 0, 4}}) == "ranks 0-3");
  CHECK(rules::ranks_text(shares{{0, 0, 60}, {1, 0, 37}, {-1, 0, 3}}) == "ranks 0 and 1");
}

TEST_CASE("a thread that works little and that nothing waits for may wait") {
  const auto wait_of = [](pattern why, std::int32_t waiter, std::int32_t causer, std::int64_t ms) {
    auto e = sample::wait(why, sample::recv, sample::send, {term(sample::compute, 0, ms, 10, 10, ms, 0)});
    e.wait_ns = ms * sample::ms;
    e.waiters = {{1, waiter, ms * sample::ms}};
    e.causers = {{1, causer, ms * sample::ms}};
    return e;
  };
  const auto saving = [](const base::vector<explain::explanation>& waits) {
    auto o = sample::outcome(waits);
    o.longest_ns = 1000 * sample::ms;
    const rules::evaluation said = sample::evaluate(o);
    return said.waits[0].list.empty() ? -1 : said.waits[0].list[0].saving;
  };
  CHECK(saving({wait_of(pattern::condition_variable, 1, 0, 800)}) == -1);  // no advice
  CHECK(saving({wait_of(pattern::semaphore, 1, 0, 800)}) == -1);
  CHECK(saving({wait_of(pattern::condition_variable, 1, 0, 400)}) == doctest::Approx(0.4));  // it works
  CHECK(saving({wait_of(pattern::thread_barrier, 1, 0, 800)}) > 0);  // it shares the work
  CHECK(saving({wait_of(pattern::condition_variable, 1, 0, 800), wait_of(pattern::condition_variable, 0, 1, 10)}) ==
        doctest::Approx(0.8));  // it is waited for
}

TEST_CASE("a rank is compared with the others that run the block; code of few ranks is not uneven but theirs alone") {
  const auto spread = [](std::initializer_list<std::int64_t> times_ms) {
    rules::code_table code;
    std::int32_t rank = 0;
    for (const std::int64_t t : times_ms) {
      base::pod_vector<rules::rank_code> own;
      if (t > 0) own.push_back({sample::compute, t * sample::ms, t == 0 ? 0 : 60, 0});
      own.push_back({sample::update, 100 * sample::ms, 60, 0});
      code.merge(rules::code_of(rank++, own));
    }
    return rules::code_spread::of(code.find(sample::compute), code, rank, 200 * sample::ms);
  };
  const rules::code_spread subset = spread({200, 600, 0, 0});
  CHECK(std::string(subset.lead) == "one");
  CHECK(subset.ratio == doctest::Approx(3));
  CHECK(subset.visits_ratio == doctest::Approx(1));
  const rules::code_spread few = spread({0, 500, 0, 520});
  CHECK(std::string(few.lead) == "few");
  CHECK(few.uneven());
  CHECK(std::string(spread({0, 500, 520, 520}).lead) == "several");
  CHECK(std::string(spread({0, 500, 0, 0}).lead) == "alone");
  CHECK(std::string(spread({500, 510, 500, 520}).lead) == "even");
}

TEST_CASE("send earlier is advice for work between the last completion and the send only") {
  const auto o = sample::outcome({late_sender()});
  const rules::knowledge known = sample::knowledge();
  const auto advice = [&](std::int64_t own_ms) {
    rules::program_facts program;
    const rules::code_table code;
    program.code = &code;
    program.sites = {{sample::send, 100, 100 * own_ms * sample::ms}};
    return rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {})
        .waits[0]
        .list.at(0)
        .advice;
  };
  CHECK(contains(advice(18), "call MPI_Send (halo.cpp:131) before compute_interior if the message does not depend on it"));
  CHECK(!contains(advice(2), "call MPI_Send"));
}

TEST_CASE("savings are wall time: no more than a rank waited, nor than the blocks have on the critical path") {
  auto o = sample::outcome({late_sender()});
  CHECK(sample::evaluate(o).waits[0].list.at(0).saving == doctest::Approx(2.0 / 3));
  o.critical_path = {{sample::compute, 500 * sample::ms, 100 * sample::ms, 900}};
  CHECK(sample::evaluate(o).waits[0].list.at(0).saving == doctest::Approx(0.5));
  // Of 1.25 s that each rank waited 53 % have no known cause: changing the block saves no more than the rest.
  const auto partly =
      sample::wait(pattern::late_sender, sample::recv, sample::send,
                   {term(sample::compute, 0, 1600, 900, 900, 3000, 1400), term(sample::pack, 150, 0, 26, 14)}, 2000);
  CHECK(sample::evaluate(sample::outcome({partly})).waits[0].list.at(0).saving == doctest::Approx(1.75 / 3));
}

TEST_CASE("code of few ranks divided among all saves no more than what the ranks compute less than the run is long") {
  auto o = sample::outcome({late_sender()});
  o.total_ns = 10000 * sample::ms;
  const rules::knowledge known = sample::knowledge();
  std::int64_t without_processor_ms = 0;
  const auto saving = [&](double parallel, bool useful_known) {
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      base::pod_vector<rules::rank_code> own;
      if (rank % 2 == 1) own.push_back({sample::compute, 3000 * sample::ms, 900, 0});
      own.push_back({sample::update, 1000 * sample::ms, 900, 0});
      code.merge(rules::code_of(rank, own));
    }
    rules::program_facts program;
    program.code = &code;
    program.useful_known = useful_known;
    program.without_processor_ns = without_processor_ms * sample::ms;
    program.shared_processors = without_processor_ms > 0;
    o.efficiency.parallel = parallel;
    const auto said =
        rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
    const rules::finding& first = said.waits[0].list.at(0);
    CHECK(contains(first.description, "only 2 of 4 ranks run compute_interior"));
    return first.saving;
  };
  CHECK(saving(0.95, true) == doctest::Approx(0.5));
  CHECK(saving(0.95, false) > 0.6);  // where time outside MPI may be waiting, nothing is known
  CHECK(saving(0.2, true) == doctest::Approx(saving(0.2, false)));
  without_processor_ms = 400;  // of four ranks: they may have computed 0.1 s less each
  CHECK(saving(0.95, true) == doctest::Approx(0.6));
}

TEST_CASE("what the kernel and other programs took from all ranks alike is a problem of the run") {
  auto o = sample::outcome({});
  o.total_ns = o.longest_ns;
  const rules::knowledge known = sample::knowledge();
  std::int64_t system_ms = 2000, faults = 0, most_pages = 0, lacked_ms = 0;  // of all ranks but the last; which has more
  double read = 1;  // part of the code
  bool others = false, at_least = false;
  const auto saving = [&](const char* problem) {
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      rules::processor_use processor;
      processor.own_delay_ns = 3000 * sample::ms;
      base::pod_vector<rules::rank_code> own = {
          code_with(sample::compute, rank == 3 ? 8000 : 5000, 0, counts_of(0, rank == 3 ? 5000 : system_ms, faults))};
      own[0].counts[core::code_count::read_ns] = static_cast<std::int64_t>(read * static_cast<double>(own[0].ns));
      code.merge(rules::code_of(rank, own, processor));
    }
    rules::program_facts program;
    program.code = &code;
    program.most_pages = most_pages;
    program.shared_processors = true;
    program.other_programs = others;
    program.without_processor_ns = 9000 * sample::ms;
    program.noise.all_ns = lacked_ms * sample::ms;
    const auto said =
        rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
    const rules::finding* const f = sample::find(said.problems, problem);
    at_least = f != nullptr && f->predicted && f->at_least;
    return f != nullptr ? f->saving : 0;
  };
  CHECK(saving("time_in_kernel") == doctest::Approx(2.0));
  system_ms = 1400;  // below 15 % of the run
  CHECK(saving("time_in_kernel") == 0);
  system_ms = 2000;
  faults = 100000;  // 50 us each: all of it
  CHECK(saving("time_in_kernel") == 0);
  most_pages = 50000;  // the other half came again
  CHECK(saving("time_in_kernel") == doctest::Approx(2.0));
  most_pages = 50001;
  CHECK(saving("time_in_kernel") == 0);
  faults = 0;
  read = 0.5;  // the other half is like it
  CHECK(saving("time_in_kernel") == doctest::Approx(4.0));
  read = 0.49;
  CHECK(saving("time_in_kernel") == doctest::Approx(2.0));

  CHECK(saving("few_processors") == 0);
  lacked_ms = 6000;  // 1.5 s each, which may be twice as much on the critical path; the longest one computes 5 s of 10 s
  CHECK(saving("few_processors") == doctest::Approx(3.0));
  o.without_overhead.total_ns = 9500 * sample::ms;  // measuring took half a second
  CHECK(saving("few_processors") == doctest::Approx(2.5));
  lacked_ms = 36000;
  CHECK(saving("few_processors") == doctest::Approx(4.5));
  lacked_ms = 2000;
  CHECK(saving("few_processors") == 0);
  CHECK(!at_least);
  others = true;  // 9 s of the four ranks, also while they waited
  CHECK(saving("few_processors") == doctest::Approx(1.75));
  CHECK(at_least);
  lacked_ms = 36000;  // no more than until the rank that computes longest has ended
  CHECK(saving("few_processors") == doctest::Approx(4.5));
  CHECK(!at_least);
}

TEST_CASE("calling something earlier saves no more than the run is longer than what one rank computes") {
  auto o = sample::outcome({late_sender()});
  o.total_ns = 10000 * sample::ms;
  o.efficiency.communication = 0.98;
  const rules::knowledge known = sample::knowledge();
  std::int64_t before_sends_ms = 9000;  // the work could come after the sends
  // Rank 0 is outside MPI for `own_ms`, of which it had no processor for `delay_ms`.
  const auto saving = [&](std::int64_t own_ms, std::int64_t delay_ms, bool shared) {
    rules::code_table code;
    for (int rank = 0; rank < 4; ++rank) {
      const base::pod_vector<rules::rank_code> own = {{sample::compute, (rank == 0 ? own_ms : 9000) * sample::ms, 900, 0}};
      rules::processor_use processor;
      processor.own_delay_ns = rank == 0 ? delay_ms * sample::ms : 0;
      code.merge(rules::code_of(rank, own, processor));
    }
    rules::program_facts program;
    program.code = &code;
    program.useful_known = true;
    if (before_sends_ms > 0) program.sites.push_back({o.waits[0].cause, o.waits[0].count, before_sends_ms * sample::ms});
    program.shared_processors = shared;
    const auto said =
        rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
    return said.waits[0].list.at(0).saving;
  };
  CHECK(saving(9600, 0, false) == doctest::Approx(0.2));
  CHECK(saving(9600, 0, true) == doctest::Approx(0.4));
  CHECK(saving(9600, 100, true) == doctest::Approx(0.5));
  CHECK(saving(9600, 5000, true) == doctest::Approx(2.0 / 3));  // then the rank that waited most sets the limit
  before_sends_ms = 0;  // it cannot: making it shorter has another limit
  CHECK(saving(9600, 0, false) == doctest::Approx(2.0 / 3));
  before_sends_ms = 9000;
  o.waits[0].why = whywait::explain::pattern::mutex_contention;  // of a thread that may run as long as its rank
  CHECK(saving(9600, 0, false) == doctest::Approx(2.0 / 3));
  o.no_locks = {o.waits[0].operation, 100 * sample::ms};  // if no thread waited for any lock
  CHECK(saving(9600, 0, false) == doctest::Approx(0.1));
}

TEST_CASE("advice about a block saves at least what balancing it saves") {
  auto o = sample::outcome({sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                                         {term(sample::compute, 0, 1600, 900, 900, 3000, 1400)})});
  const auto saving = [&o] { return sample::evaluate(o).waits[0].list.at(0).saving; };
  o.total_ns = 10000 * sample::ms;
  const double alone = saving();
  explain::balance_answer b;
  b.block = b.piece = sample::compute;
  b.ranks = b.among = 4;
  b.saving_ns = 900 * sample::ms;
  o.balances = {b};
  CHECK(alone < 0.9);
  CHECK(saving() == doctest::Approx(0.9));
}

TEST_CASE("a late rank that has waited itself is not to be evened out") {
  auto w = sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                        {term(sample::compute, 0, 1600, 900, 900, 3000, 1400)});
  CHECK(contains(sample::evaluate(sample::outcome({w})).waits[0].list.at(0).verdict,
                 " because of compute_interior: evening that out"));
  w.residual[0].inherited_ns = 1200 * sample::ms;
  CHECK(contains(sample::evaluate(sample::outcome({w})).waits[0].list.at(0).verdict,
                 ", which had waited for others because of compute_interior: making it shorter or beginning sooner"));
}

TEST_CASE("unmarked code under a lock is all of it, wherever a thread's records say that it begins") {
  constexpr whywait::core::stable_key later = 99;  // the same code of a thread that had waited for the lock
  auto first =
      sample::wait(pattern::mutex_contention, sample::recv, sample::send, {term(sample::between, 0, 300, 10, 10, 400, 100)});
  auto second = first;
  first.wait_ns = second.wait_ns = 300 * sample::ms;
  first.waiters = second.waiters = {{0, 1, 150 * sample::ms}, {0, 2, 150 * sample::ms}};
  second.residual = {term(later, 0, 300, 10, 10, 400, 100)};
  const auto saving = [&](std::int64_t without_locks_ms) {
    auto o = sample::outcome({first, second});
    o.meanings = {{sample::between, sample::explain::block_kind::between, sample::waitall, sample::send},
                  {later, sample::explain::block_kind::between, sample::recv, sample::send}};
    o.no_locks = {sample::recv, without_locks_ms * sample::ms};
    return sample::evaluate(o).waits[0].list.at(0).saving;
  };
  CHECK(saving(450) == doctest::Approx(0.45));
  CHECK(saving(1000) == doctest::Approx(0.6));  // no more than was waited
  first.residual = {term(sample::compute, 0, 300, 10, 10, 400, 100)};  // marked code is a part of what is under the lock
  CHECK(saving(450) == doctest::Approx(0.225));
}

TEST_CASE("the lock of a window is worth what the run saves if no rank waits for it") {
  const auto w = sample::wait(pattern::window_lock_contention, sample::recv, sample::send,
                              {term(sample::between, 0, 900, 10, 10, 1000, 100)});
  auto o = sample::outcome({w});
  o.meanings = {{sample::between, sample::explain::block_kind::between, sample::waitall, sample::send}};
  o.no_locks = {sample::recv, 400 * sample::ms};
  const auto said = sample::evaluate(o);
  CHECK(said.waits[0].list.at(0).problem == "window_lock_contention");
  CHECK(said.waits[0].list.at(0).saving == doctest::Approx(0.4));
}

TEST_CASE("code that is late in turn is joined where ranks end it in other lines of one function") {
  constexpr whywait::core::stable_key further = 99;  // from the same call to another send
  const auto w = sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                              {term(sample::between, 0, 900, 10, 10, 1000, 100)});
  auto o = sample::outcome({w});
  o.total_ns = 10000 * sample::ms;
  o.meanings = {{sample::between, sample::explain::block_kind::between, sample::waitall, sample::send},
                {further, sample::explain::block_kind::between, sample::waitall, sample::recv}};
  o.critical_path = {{sample::between, 900 * sample::ms, 150 * sample::ms, 10},
                     {further, 100 * sample::ms, 60 * sample::ms, 10}};
  const rules::knowledge k = sample::knowledge(
      "declare composite event any member ( wait as w ) when w.wait >= 0;"
      "declare problem for any parameters ( name = \"above\", duration = w.duration, advice = \"{w.above_mean}\" );");
  const auto above = [&](const char* function) {
    base::names known;
    for (const auto key : {sample::waitall, sample::send, sample::recv, sample::barrier}) {
      base::place p = *sample::names().find(key);
      p.function = key == sample::recv ? function : "exchange";
      known.add(key, p);
    }
    const auto said = rules::evaluate(k, o, 4, known);
    const rules::finding* const f = sample::find(said.waits[0].list, "above");
    return f != nullptr ? f->advice : std::string();
  };
  CHECK(above("exchange") == "210 ms");
  CHECK(above("another") == "150 ms");
}

TEST_CASE("code that takes longer now on one rank, now on another, is worth what evening it out saves") {
  auto o = sample::outcome({late_sender()});
  o.critical_path = {{sample::compute, 3000 * sample::ms, 250 * sample::ms, 100}};
  o.balances.emplace_back();
  o.balances[0].block = o.balances[0].piece = sample::compute;
  o.balances[0].evened_ns = 700 * sample::ms;
  const rules::knowledge k = sample::knowledge(
      "declare composite event any member ( wait as w ) when w.wait >= 0;"
      "declare problem for any parameters ( name = \"above\", duration = w.duration, advice = \"{w.above_mean}\" );");
  const auto above = [&](std::int64_t saving_ms) {
    o.balances[0].saving_ns = saving_ms * sample::ms;
    return sample::find(rules::evaluate(k, o, 4, sample::names()).waits[0].list, "above")->advice;
  };
  CHECK(above(10) == "700 ms");
  CHECK(above(400) == "250 ms");  // one rank takes longer
}

TEST_CASE("evening out code of some ranks saves no more than dividing all work, and a marked wait cannot be divided") {
  auto o = sample::outcome({sample::wait(pattern::wait_at_nxn, sample::allreduce, sample::allreduce,
                                         {term(sample::compute, 900, 0, 100, 0, 900, 0)})});
  o.total_ns = o.longest_ns = 2000 * sample::ms;
  o.efficiency.parallel = 0.9;
  rules::program_facts program;
  program.useful_known = true;
  const auto said = [&] {
    return rules::evaluate(sample::knowledge(), o, 4, sample::names(), program,
                           [](rules::event_store&, rules::trouble&, auto&) {})
        .waits[0]
        .list.at(0);
  };
  CHECK(said().saving == doctest::Approx(0.2));
  CHECK(contains(said().advice, "spread the work of compute_interior evenly over the ranks"));
  o.meanings = {{sample::compute, sample::explain::block_kind::waiting, sample::compute, 0}};
  CHECK(said().saving > 0.2);
  CHECK(contains(said().advice, "make compute_interior shorter"));
  CHECK(contains(said().verdict, " because of compute_interior: making it shorter"));
}

TEST_CASE("whether visits on the critical path are longer, or more of them, is known") {
  auto o = sample::outcome({late_sender()});
  const rules::knowledge k = sample::knowledge(
      "declare composite event any member ( wait as w ) when w.wait >= 0;"
      "declare problem for any parameters ( name = \"longer\", duration = w.duration, advice = \"{percent(w.longer_share)}\" "
      ");");
  rules::code_table code;
  for (int rank = 0; rank < 4; ++rank) {
    base::pod_vector<rules::rank_code> own;
    own.push_back({sample::compute, 1000 * sample::ms, 100, 0});  // 10 ms a visit
    code.merge(rules::code_of(rank, own));
  }
  rules::program_facts program;
  program.code = &code;
  const auto longer = [&](std::int64_t path_ms, std::int64_t visits) {
    o.critical_path = {{sample::compute, path_ms * sample::ms, (path_ms - 1000) * sample::ms, visits}};
    const auto said = rules::evaluate(k, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
    const rules::finding* const f = sample::find(said.waits[0].list, "longer");
    return f != nullptr ? f->advice : std::string();
  };
  CHECK(longer(3000, 100) == "100 %");
  CHECK(longer(3000, 300) == "0 %");
  CHECK(longer(3000, 200) == "50 %");
}

TEST_CASE("the guilty rank is named, not all that were late") {
  auto w = late_sender();
  w.causers = {{3, 0, 1700 * sample::ms}, {2, 0, 300 * sample::ms}};
  CHECK(contains(sample::evaluate(sample::outcome({w})).waits[0].list.at(0).description, "waited for rank 3 (85 %)"));
  w.causers = {{3, 0, 1960 * sample::ms}, {2, 0, 40 * sample::ms}};
  CHECK(contains(sample::evaluate(sample::outcome({w})).waits[0].list.at(0).description, "waited for rank 3."));
}

TEST_CASE("a rank that is slow in every block is a problem of the run") {
  auto w = sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                        {term(sample::compute, 0, 900, 100, 100, 3900, 3000), term(sample::pack, 0, 600, 100, 100, 2600, 2000),
                         term(sample::update, 0, 300, 100, 100, 1300, 1000)});
  CHECK(sample::find(sample::evaluate(sample::outcome({w})).problems, "slow_rank") == nullptr);  // its work is not known
  for (auto& t : w.residual) t.causer_work = t.waiter_work = 500;
  const auto e = sample::evaluate(sample::outcome({w}));
  const rules::finding* const f = sample::find(e.problems, "slow_rank");
  REQUIRE(f != nullptr);
  CHECK(f->seconds == doctest::Approx(1.8));  // rank time of three waiting ranks
  CHECK(f->saving == doctest::Approx(0.6));
  CHECK(contains(f->advice, "rank 0"));
}

TEST_CASE("the paper's rule finds late senders of a whole run, with the paper's actions and share") {
  auto late_receiver =
      sample::wait(pattern::late_receiver, sample::send, sample::recv, {term(sample::compute, 0, 1132, 9, 9, 2000, 868)});
  auto first = late_sender();
  first.wait_ns = 23184 * sample::ms;
  const auto e = sample::evaluate(sample::outcome({first, late_receiver}), sample::paper_rule());
  const rules::finding* const f = sample::find(e.problems, "Поздняя посылка сообщения");
  REQUIRE(f != nullptr);
  CHECK(f->description ==
        "Функция посылки сообщения вызывается позднее функции приема. Из-за этого блокирующая функция приема вынуждена "
        "простаивать.");
  CHECK(f->seconds == doctest::Approx(23.184));
  CHECK(f->instances == 100);
  REQUIRE(f->actions.size() == 2);
  CHECK(f->actions[0].call == "MPI_Send");
  CHECK(f->actions[0].region == "calculate");
  CHECK(f->actions[1].call == "MPI_Recv");
  CHECK(f->actions[1].region == "calculate");
  CHECK(contains(rules::text_of(*f),
                 "58 % of rank time: MPI_Send in calculate (halo.cpp:131), MPI_Recv in calculate (halo.cpp:142)"));
  // late send first, late receive second, as in the paper
  CHECK(e.waits[0].list[0].problem == "late_sender");
  CHECK(e.waits[1].list[0].problem == "late_receiver");
  CHECK(e.waits[0].list[0].seconds > e.waits[1].list[0].seconds);
}

TEST_CASE("advice at one wait and problems of the run are ranked by what they save") {
  auto w = late_sender();
  w.wrong_order_count = 10;
  w.wrong_order_ns = w.other_ready_ns = w.ready_code_ns = 1900 * sample::ms;
  const auto e = sample::evaluate(sample::outcome({w}));
  REQUIRE(e.waits[0].list.size() == 2);
  CHECK(sample::find(e.waits[0].list, "wrong_order") != nullptr);
  CHECK(e.waits[0].list[0].saving >= e.waits[0].list[1].saving);
}

TEST_CASE("names from the program cannot put control characters into advice") {
  auto o = sample::outcome({late_sender()});
  whywait::base::names names;
  whywait::base::place compute;
  compute.name = "a\x1b[31mb\xff";
  names.add(sample::compute, compute);
  const rules::knowledge known = sample::knowledge();
  const auto e = rules::evaluate(known, o, 4, names);
  CHECK(contains(e.waits[0].list.at(0).advice, "before a?[31mb? if the"));
}

TEST_CASE("a fault at run time is a message with line and caret") {
  const auto e = sample::evaluate(sample::outcome({late_sender()}),
                                  "declare problem for late_sender when w.duration / (w.count - 100) > 1 s parameters "
                                  "(name = \"x\", duration = w.duration);");
  REQUIRE(e.messages.size() == 1);
  CHECK(contains(e.messages[0], "more.rules:1:38: whywait-R060: this divides by zero"));
  CHECK(contains(e.messages[0], "^~~~"));
}

TEST_CASE("an empty run gives nothing") {
  const auto e = sample::evaluate(sample::outcome({}));
  CHECK(e.waits.empty());
  CHECK(e.problems.empty());
  CHECK(e.messages.empty());
}

TEST_CASE("sends that come after the same work move together, with what that saves") {
  auto down = late_sender(), up = late_sender();  // ranks 1 to 3 wait for rank 0, and the other way round
  up.operation = sample::waitall;
  std::swap(up.waiters, up.causers);
  auto o = sample::outcome({down, up});
  const auto described = [&o](const std::string& template_text) {
    const auto e = sample::evaluate(o, "declare problem for late_sender parameters (name = \"probe\", description = \"" +
                                           template_text + "\", duration = w.duration);");
    const rules::finding* const f = sample::find(e.waits[0].list, "probe");
    return f == nullptr ? std::string("none") : f->description;
  };
  const std::string all = "{w.earlier_sends}, {w.earlier_ranks}, {w.earlier_saving}, {percent(w.earlier_in_turn)}";
  CHECK(described(all) == ", , 0 s, 0 %");
  CHECK(contains(sample::evaluate(o).waits[0].list[0].advice, "call MPI_Send (halo.cpp:131) before compute_interior"));
  o.earlier_sends.push_back({sample::compute, sample::send, 1, 1000 * sample::ms});
  o.earlier_sends.push_back({sample::compute, sample::waitall, 1, 1000 * sample::ms});
  CHECK(described(all) == "MPI_Send (halo.cpp:131) and MPI_Waitall (halo.cpp:20), ranks 0-3, 1.00 s, 100 %");
  o.earlier_sends[0].saving_ns = o.earlier_sends[1].saving_ns = 199 * sample::ms;  // under 2 % of the run
  CHECK_FALSE(contains(sample::evaluate(o).waits[0].list[0].advice, "call MPI_Send"));
}

TEST_CASE("code that begins late on a rank names the wait for a message that held it up") {
  auto late = late_sender(), held = late_sender();  // ranks 1 to 3 wait for rank 0, which had waited for rank 1
  held.why = pattern::wait_for_progress;
  held.operation = sample::send;
  held.cause = sample::waitall;
  held.causers = {{1, 0, 2000 * sample::ms}};
  const auto because = [&](std::int32_t rank, std::int64_t ms, bool even) {
    held.waiters = {{rank, 0, ms * sample::ms}};
    auto o = sample::outcome({late, held});
    o.balances.emplace_back();
    o.balances[0].piece = o.balances[0].block = sample::compute;
    o.balances[0].even = even;
    const auto e = sample::evaluate(
        o, "declare problem for late_sender parameters (name = \"probe\", description = w.because, duration = w.duration);");
    return sample::find(e.waits[0].list, "probe")->description;
  };
  const std::string begun = " because of compute_interior, which begins late there";
  CHECK(because(0, 667, true) == begun + ", because rank 0 waited in MPI_Send (halo.cpp:131) for rank 1: beginning it sooner");
  CHECK(because(0, 300, true) == begun + ": beginning it sooner");  // each rank waits for 667 ms
  CHECK(because(2, 667, true) == begun + ": beginning it sooner");  // another rank
  CHECK(because(0, 667, false) == " because of compute_interior: evening that out");
  held.why = pattern::wait_at_barrier;
  CHECK(because(0, 667, true) == begun + ": beginning it sooner");
}

TEST_CASE("code that mostly sleeps: what it waits for comes first, and what balancing it saves is a bound") {
  const auto evaluate = [](std::int64_t asleep_ms, std::int64_t read_ms, std::int64_t work = 0) {
    rules::code_table code;
    for (int rank = 0; rank != 4; ++rank) {
      base::pod_vector<rules::rank_code> own = {{sample::compute, (rank == 2 ? 4000 : 1000) * sample::ms, 900, work}};
      own[0].counts[core::code_count::read_ns] = read_ms * own[0].ns / 4000 / sample::ms * sample::ms;
      own[0].counts[core::code_count::blocked_ns] = rank == 2 ? asleep_ms * sample::ms : 0;
      code.merge(rules::code_of(rank, own));
    }
    const rules::code_use* const use = code.find(sample::compute);
    CHECK(use->sleeps() == (use->asleep() >= 0.1 || (use->asleep() > 0 && 2 * asleep_ms >= 3000)));
    if (work != 0) CHECK(use->asleep() == 0);
    auto o = sample::outcome({late_sender()});
    o.balances.emplace_back();
    o.balances[0].piece = o.balances[0].block = sample::compute;
    o.balances[0].saving_ns = 500 * sample::ms;
    o.balances[0].rank = 2;
    rules::program_facts program;
    program.code = &code;
    const auto e = rules::evaluate(sample::knowledge(), o, 4, sample::names(), program,
                                   [](rules::event_store&, rules::trouble&, auto&) {});
    return e.waits[0].list.at(0);
  };
  const rules::finding awake = evaluate(0, 4000), asleep = evaluate(3000, 4000), unread = evaluate(900, 1900);
  CHECK(awake.problem == "uneven_work");
  CHECK(awake.predicted);
  CHECK(contains(awake.advice, "if it is the same work on all ranks"));
  CHECK(asleep.problem == "uneven_work");
  CHECK_FALSE(asleep.predicted);
  CHECK(contains(asleep.advice, "find what rank 2 waits for there, asleep or blocked for 75 % of the time"));
  CHECK(contains(asleep.advice,
                 "give some of compute_interior on rank 2 to the other ranks: balance it by cost, not by count; or find what "
                 "rank 2 waits for"));
  CHECK(unread.predicted);  // less than half of the time was read
  CHECK_FALSE(contains(evaluate(3000, 4000, 100).advice, "asleep"));  // units of work are counted
}

TEST_CASE("what a rank sleeps elsewhere may absorb what evening out its code saves") {
  const auto use = [](std::int64_t elsewhere_ms) {
    base::pod_vector<rules::rank_code> own = {{sample::compute, 3000 * sample::ms, 900, 0},
                                              {sample::update, 5000 * sample::ms, 900, 0}};
    for (rules::rank_code& c : own) c.counts[core::code_count::read_ns] = c.ns;
    own[1].counts[core::code_count::blocked_ns] = elsewhere_ms * sample::ms;
    rules::code_table code = rules::code_of(1, own);
    code.merge(rules::code_of(2, {{sample::compute, 1000 * sample::ms, 900, 0}}));
    return *code.find(sample::compute);
  };
  CHECK(use(499).asleep() == 0);
  CHECK_FALSE(use(499).sleeps());
  CHECK(use(500).sleeps());  // evened out, the rank computes for 1 s less
  CHECK(use(500).most_asleep_ns == 500 * sample::ms);
}

TEST_CASE("no advice saves more than the run") {
  auto o = sample::outcome({late_sender()});
  const auto saving = [&o] {
    const auto e = sample::evaluate(
        o,
        "declare problem for late_sender parameters (name = \"probe\", root = \"x\", duration = w.duration, saving = 90 s);");
    return sample::find(e.waits[0].list, "probe")->saving;
  };
  o.longest_ns = 1500 * sample::ms;
  CHECK(saving() == doctest::Approx(1.5));
}

TEST_CASE("rules see no top block in a wait to which no block contributed") {
  const std::string rule = "declare problem for wait when top = '' parameters (name = \"no_top\", duration = duration);";
  const auto found = [&rule](std::int64_t slower_ms) {
    const auto w = sample::wait(pattern::late_sender, sample::recv, sample::send,
                                {term(sample::compute, 0, slower_ms, 5, 5, 1000, 1000)}, 2000);
    const auto e = sample::evaluate(sample::outcome({w}), rule);
    return sample::find(e.waits[0].list, "no_top") != nullptr;
  };
  CHECK(found(0));
  CHECK_FALSE(found(1000));
}

namespace {

/// Threads 1 to 3 of rank 0 are late at a barrier of threads, by slower visits of one block; thread 0 waits for them.
struct slow_threads {
  explain::outcome o;
  rules::data_facts data;

  slow_threads() {
    auto w = sample::wait(pattern::thread_barrier, sample::barrier, sample::barrier,
                          {term(sample::compute, 0, 900, 100, 100, 1900, 1000)});
    w.waiters = {{0, 0, w.wait_ns}};
    w.causers = {{0, 1, w.wait_ns / 3}, {0, 2, w.wait_ns / 3}, {0, 3, w.wait_ns / 3}};
    o = sample::outcome({w});
  }
  /// What the kernel and the processor counted of 1 s and of 1.9 s: `more` times the instructions, the rest cycles of each.
  void count(double more) {
    explain::counted_block c;
    c.block = sample::compute;
    const auto side = [](std::int64_t ms, double instructions) {
      core::code_counts all{};
      const std::int64_t ns = ms * sample::ms;
      all[core::code_count::read_ns] = all[core::code_count::ran_ns] = all[core::code_count::counted_ns] = ns;
      all[core::code_count::cycles] = 2 * ns;
      all[core::code_count::instructions] = static_cast<std::int64_t>(instructions * 1e9);
      return all;
    };
    c.waiter_ns = 1000 * sample::ms;
    c.causer_ns = 1900 * sample::ms;
    c.counts.waiter = side(1000, 1);
    c.counts.causer = side(1900, more);
    o.waits[0].counts = {c};
  }
  rules::evaluation evaluate() const {
    const rules::knowledge known = sample::knowledge();
    rules::program_facts program;
    program.data = &data;
    return rules::evaluate(known, o, 4, sample::names(), program, [](rules::event_store&, rules::trouble&, auto&) {});
  }
  std::string said(const char* problem) const {
    const auto e = evaluate();
    const rules::finding* const f = sample::find(e.waits[0].list, problem);
    return f != nullptr ? f->verdict + "\n" + f->description : std::string();
  }
  std::string falsely_shared() const { return said("false_sharing"); }
  std::string remote() const { return said("remote_pages"); }
};

rules::shared_data counters_shared_in(core::stable_key block, std::uint64_t here, std::uint64_t all) {
  return {block, "counters", "counters.cpp:12", "false sharing", "threads 1-3", here, all};
}
rules::far_data far_field(std::int32_t thread, core::stable_key block = sample::compute) {
  return {block, "field", "field.cpp:30", "", 0, thread, 1, 0, 0.97};
}

}  // namespace

TEST_CASE("work that one thread of a team does alone, now this one and now that one, is divided in all of its waits") {
  const auto late = [](std::int32_t thread, core::stable_key block, std::int64_t seconds) {
    auto w = sample::wait(pattern::thread_barrier, sample::barrier, sample::barrier,
                          {term(block, seconds * 1000, 0, 100, 0, seconds * 1000, 0)});
    w.waiters = {{0, 1 - thread, w.wait_ns}};
    w.causers = {{0, thread, w.wait_ns}};
    return w;
  };
  const auto saving = [](base::vector<explain::explanation> waits) {
    const auto e = sample::evaluate(sample::outcome(std::move(waits)));
    return sample::find(e.waits[0].list, "thread_barrier")->saving;
  };
  CHECK(saving({late(1, sample::compute, 3)}) == doctest::Approx(1.5));
  CHECK(saving({late(1, sample::compute, 3), late(0, sample::compute, 2)}) == doctest::Approx(2.5));
  CHECK(saving({late(1, sample::compute, 3), late(0, sample::pack, 2)}) == doctest::Approx(1.5));
  auto four = late(0, sample::compute, 3);  // three threads wait for one, which takes a second longer
  four.waiters = {{0, 1, four.wait_ns / 3}, {0, 2, four.wait_ns / 3}, {0, 3, four.wait_ns / 3}};
  CHECK(saving({four}) == doctest::Approx(0.75));
}

TEST_CASE("false sharing explains a block that is slower because of cycles, if the late threads use the lines there") {
  slow_threads t;
  t.data.shared = {counters_shared_in(sample::compute, 0b1110, 0b1110)};
  t.count(1);
  CHECK(
      t.falsely_shared() ==
      "threads 1-3 use different elements of counters (counters.cpp:12) within one cache line, so that compute_interior is "
      "slower on threads 1-3 of rank 0: giving each thread cache lines of its own\n"
      "threads 1-3 use different elements of counters (counters.cpp:12) within one cache line in compute_interior; each visit "
      "takes 9.00 ms longer on threads 1-3 of rank 0: each instruction takes more cycles.");
  const auto e = t.evaluate();
  CHECK(sample::find(e.waits[0].list, "thread_barrier") == nullptr);
  CHECK(sample::find(e.waits[0].list, "false_sharing")->saving == doctest::Approx(0.9));
  t.count(1.9);  // more instructions: no reason for cache lines to matter
  CHECK(t.falsely_shared().empty());
  t.data.shared = {counters_shared_in(sample::pack, 0b1110, 0b1110)};  // in another block
  t.count(1);
  CHECK(t.falsely_shared().empty());
  t.data.shared = {counters_shared_in(sample::compute, 0b0001, 0b0001)};  // by threads that are not late
  CHECK(t.falsely_shared().empty());
  t.data.shared = {counters_shared_in(sample::compute, 0b1110, 0b1110)};
  t.data.shared[0].sharing = "migratory";
  CHECK(t.falsely_shared().empty());
}

TEST_CASE("false sharing may be the reason if nothing is counted, or if the waiting thread suffers as well") {
  slow_threads t;
  t.data.shared = {counters_shared_in(sample::compute, 0b1110, 0b1110)};
  CHECK(contains(t.falsely_shared(), "which may be why compute_interior is slower on threads 1-3 of rank 0"));
  CHECK(contains(t.falsely_shared(), "and that may be why: this machine does not count it."));
  t.data.shared = {counters_shared_in(sample::compute, 0b1110, 0b1111)};
  t.count(1);
  CHECK(contains(t.falsely_shared(), "which may be why compute_interior is slower on threads 1-3 of rank 0"));
  CHECK(contains(t.falsely_shared(), "the side that waits uses the same lines"));
  CHECK(contains(t.falsely_shared(), "cache lines of its own (not counting what the waiting side gains by it)"));
}

TEST_CASE("threads that share lines are found also where each thread is a rank of its own") {
  slow_threads t;
  for (auto* const side : {&t.o.waits[0].waiters, &t.o.waits[0].causers})
    for (explain::location_share& s : *side) {
      s.rank = s.thread;
      s.thread = 0;
    }
  t.data.shared = {counters_shared_in(sample::compute, 0b1110, 0b1110)};
  CHECK(t.falsely_shared().empty());  // all are thread 0 of a rank
  const base::rank_noun_scope threads(true);
  CHECK(contains(t.falsely_shared(), "which may be why compute_interior is slower on threads 1-3: giving"));
}

TEST_CASE("memory of another node explains a block that is slower because of cycles, if the waiting thread is at home") {
  slow_threads t;
  t.data.far = {far_field(1), far_field(2), far_field(3)};
  t.count(1);
  CHECK(
      t.remote() ==
      "threads 1-3 of rank 0 used field (field.cpp:30) from NUMA node 1, but 97 % of it is on node 0, so that compute_interior "
      "is slower there: placing it where it is used\n"
      "97 % of what threads 1-3 of rank 0 used of field (field.cpp:30) in compute_interior is on NUMA node 0; the accesses "
      "came from node 1. Each visit takes 9.00 ms longer there: each instruction takes more cycles.");
  t.count(1.9);
  CHECK(t.remote().empty());
  t.o.waits[0].counts.clear();
  CHECK(contains(t.remote(), "which may be why compute_interior is slower there"));
  t.count(1);
  t.data.far = {far_field(0), far_field(1), far_field(2), far_field(3)};  // both sides
  CHECK(t.remote().empty());
  t.data.far = {far_field(1)};  // a third of the late side
  CHECK(t.remote().empty());
  t.data.far = {far_field(1, sample::pack), far_field(2, sample::pack), far_field(3, sample::pack)};
  CHECK(t.remote().empty());
  t.data.far = {far_field(1), far_field(2, sample::pack), far_field(3, sample::pack)};  // the other two in another block
  CHECK(t.remote().empty());
}

TEST_CASE("a rank on a slow core is slower at the same number of instructions; with more of them its code is") {
  auto w = sample::wait(pattern::wait_at_barrier, sample::barrier, sample::barrier,
                        {term(sample::compute, 0, 900, 100, 100, 3900, 3000), term(sample::pack, 0, 600, 100, 100, 2600, 2000),
                         term(sample::update, 0, 300, 100, 100, 1300, 1000)});
  const auto found = [&](double instructions, std::int64_t work) {
    w.counts.clear();
    for (auto& t : w.residual) {
      t.causer_work = t.waiter_work = work;
      explain::counted_block c;
      c.block = t.block;
      c.waiter_ns = t.waiter_ns;
      c.causer_ns = t.causer_ns;
      const auto side = [](std::int64_t ns, double n) {
        core::code_counts all{};
        all[core::code_count::read_ns] = all[core::code_count::ran_ns] = all[core::code_count::counted_ns] = ns;
        all[core::code_count::cycles] = 2 * ns;
        all[core::code_count::instructions] = static_cast<std::int64_t>(n);
        return all;
      };
      c.counts.waiter = side(t.waiter_ns, 1e9);
      c.counts.causer = side(t.causer_ns, instructions * 1e9);
      w.counts.push_back(c);
    }
    const auto e = sample::evaluate(sample::outcome({w}));
    const rules::finding* const f = sample::find(e.problems, "slow_rank");
    return f != nullptr ? f->description : std::string();
  };
  CHECK(found(1, 0) == "rank 0 is slower in each of 3 blocks, 1.30 times, at the same number of instructions.");
  CHECK(found(1, 500) == "rank 0 is slower in each of 3 blocks, 1.30 times, at the same number of units of work.");
  CHECK(found(1.3, 0).empty());
  // They are the same up to a tenth of the difference in time: ln 1.3 / 10 = 0.0262.
  CHECK_FALSE(found(1.026, 0).empty());
  CHECK(found(1.027, 0).empty());
  CHECK_FALSE(found(0.975, 0).empty());
  CHECK(found(0.973, 0).empty());
  CHECK(found(1.3, 500).empty());  // each unit is more code
}
