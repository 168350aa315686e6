#include "sample.hpp"

#include <whywait/report/json.hpp>
#include <whywait/report/text.hpp>
#include <whywait/report/trust.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace sample;
using reports::objection;

namespace {

/// Line breaks and margins are spaces.
bool contains(const std::string& text, const std::string& part) {
  std::string line;
  for (const char c : text)
    if ((c != '\n' && c != ' ') || line.empty() || line.back() != ' ') line += c == '\n' ? ' ' : c;
  return line.find(part) != std::string::npos;
}

/// 4 ranks and 10 s each, of which 0.9 % is waiting and 0.9 % is not understood, efficiency 90 %.
reports::result fine() {
  explain::explanation e = late_sender();
  e.wait_ns = 360000000;
  e.residual = {term(compute, 360000000, 0, 5, 0)};
  e.waiters = {{1, 0, 360000000}};
  explain::outcome o = sample::outcome({e}, 4, 10 * second);
  o.total_ns = 10 * second;
  o.efficiency = {0.9, 0.95, 0.95, 0.97, 0.98, 0, 0};
  reports::result r = reports::assemble(o, sample::names(), sample::facts(4));
  r.not_understood.seconds = 0.36;
  r.not_understood.ranks = {{0, 0, 0.36}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  r.not_understood.calls = {{call("MPI_Win_fence", "main", "src/win.cpp", 12), 20, 0.3, 0},
                            {call("MPI_Wait", "main", "src/win.cpp", 15), 20, 0.06, 0}};
  return r;
}

/// The text, the JSON document and the function agree.
objection judge(const reports::result& r) {
  const bool fine = reports::nothing_worth_changing(r);
  CHECK(contains(reports::text_of(r), "nothing worth changing") == fine);
  CHECK(contains(reports::json_of(r), "\"nothing_worth_changing\": true") == fine);
  return reports::first_objection(r);
}

}  // namespace

TEST_CASE("a run that is just fine is called so") {
  const reports::result r = fine();
  CHECK(judge(r) == objection::none);
  CHECK(reports::nothing_worth_changing(r));
  CHECK_FALSE(contains(reports::text_of(r), "does not understand"));
}

TEST_CASE("an efficiency below 90 %, or none, is not fine") {
  reports::result r = fine();
  r.ledger.efficiency.parallel = 0.899;
  CHECK(judge(r) == objection::efficiency);
  r.ledger.efficiency = {};
  CHECK(judge(r) == objection::not_explained);
}

TEST_CASE("a rank that called MPI_Init late is named where others waited long for it") {
  reports::result r = fine();
  r.run.late = {3, 2.06, 0.099 * r.run.seconds};
  CHECK(judge(r) == objection::none);
  r.run.late.wait_seconds = 0.11 * r.run.seconds;
  REQUIRE(r.run.late.wait_seconds >= 0.5);
  CHECK(judge(r) == objection::late_start);
  CHECK(contains(reports::text_of(r), "of waiting in MPI_Init for rank 3"));
  CHECK(contains(reports::json_of(r), "\"late_start\": {"));
  r.run.seconds = 0.5;
  r.run.late.wait_seconds = 0.499;  // usual while a job starts
  CHECK(judge(r) == objection::none);
}

TEST_CASE("what holding a lock shorter saves is not known where locks are handed over all the time") {
  reports::result r = fine();
  reports::wait_entry w;
  w.pattern = "mutex_contention";
  w.count = 400000;
  w.seconds = 0.4;
  w.operation = call("pthread_mutex_lock", "count", "words.cpp", 18);
  r.waits.push_back(w);
  r.run.short_waits = 200000;
  r.run.short_wait_seconds = 0.02;
  reports::verdict_entry held, other;
  held.problem = "work_under_lock";
  other.problem = "uneven_work";
  r.verdict = {held, other};
  CHECK(reports::lock_words(r) ==
        "threads waited for locks 60,000 times a second, 700 ns on average, most in pthread_mutex_lock (words.cpp:18): handing "
        "a lock "
        "over costs more than that, so that it is not known what taking it less often saves");
  reports::weaken(r);
  REQUIRE(r.verdict.size() == 1);
  CHECK(r.verdict[0].problem == "uneven_work");
  r.run.short_waits = 50000;  // 45,000 a second
  CHECK(reports::lock_words(r).empty());
  r.run.short_waits = 200000;
  r.waits.back().seconds = 4;  // each lasts longer than handing the lock over
  CHECK(reports::lock_words(r).empty());
}

TEST_CASE("threads that wait for each other all the time are not fine, however short each wait is") {
  reports::result r = fine();
  r.run.threads_only = true;
  REQUIRE(reports::first_objection(r) == objection::none);
  r.run.short_waits = 600000;  // in 10 s
  r.run.short_wait_seconds = 0.3;
  CHECK(reports::first_objection(r) == objection::too_often);
  CHECK(contains(reports::instead_words(objection::too_often), "each wait is short, but there are many of them"));
  r.run.short_waits = 400000;
  CHECK(reports::first_objection(r) == objection::none);
}

TEST_CASE("what shorter waits for locks save is not known if handing a lock over costs more than they do") {
  reports::result r = fine();
  r.run.threads_only = true;
  reports::wait_entry w;
  w.pattern = "mutex_contention";
  w.seconds = 2;
  for (const char* const problem : {"work_under_lock", "mutex_contention", "late_sender"}) {
    w.advice.emplace_back();
    w.advice.back().problem = problem;
    w.advice.back().text = "lock less";
    w.advice.back().saving_seconds = 1;
  }
  w.count = 500000;  // 4 us each, in 10 s
  r.waits.push_back(w);
  reports::result long_ones = r;
  long_ones.waits.back().count = 300000;
  reports::weaken(r);
  CHECK(r.waits.back().advice[0].saving_seconds == 0);
  CHECK(r.waits.back().advice[1].saving_seconds == 0);
  CHECK(r.waits.back().advice[2].saving_seconds == 1);
  CHECK(r.waits.back().advice[0].text == "lock less");
  reports::weaken(long_ones);
  CHECK(long_ones.waits.back().advice[0].saving_seconds == 1);
}

TEST_CASE("threads that mostly sleep are not fine, and the report says where they sleep") {
  reports::result r = fine();
  CHECK_FALSE(contains(reports::detail::quiet_words(r, {}), "reading a variable in a loop"));
  r.run.threads_only = true;
  r.asleep.seconds = 0.099 * r.run.location_seconds;
  CHECK(judge(r) == objection::none);
  CHECK(contains(reports::detail::quiet_words(r, {}),
                 "code that waits by reading a variable in a loop, contended atomic operations and "));
  r.asleep.seconds = 0.11 * r.run.location_seconds;
  whywait::base::place where;
  where.name = "usleep in backoff (app.cpp:12)";
  r.asleep.calls.push_back({where, 5, r.asleep.seconds, 0});
  CHECK(judge(r) == objection::asleep);
  CHECK(contains(reports::text_of(r), "11 % of thread time"));
  CHECK(contains(reports::text_of(r), "is asleep or yields the processor, which counts as code: "));
  CHECK(contains(reports::json_of(r), "\"asleep\": {"));
}

TEST_CASE("the full report of a program without MPI has the mean number of threads that did not wait") {
  reports::result r = fine();
  r.not_understood = {};
  r.ledger.efficiency.parallel = 0.5;
  r.run.location_seconds = 3.2 * r.run.seconds;
  CHECK_FALSE(contains(reports::text_of(r), "on average"));
  r.run.threads_only = true;
  CHECK(contains(reports::text_of(r), "; on average 1.6 threads did not wait"));
}

TEST_CASE("threads that mostly wait for something outside are not fine, and the report names the calls") {
  reports::result r = fine();
  r.run.threads_only = true;
  r.outside.seconds = 0.099 * r.run.location_seconds;
  CHECK(judge(r) == objection::none);
  r.outside.seconds = 0.11 * r.run.location_seconds;
  whywait::base::place where;
  where.name = "read in evaluate (app.cpp:12)";
  r.outside.calls.push_back({where, 5, r.outside.seconds, 0});
  CHECK(judge(r) == objection::outside);
  CHECK(contains(reports::text_of(r), "until a time limit; what ended that is not observed: "));
  CHECK(contains(reports::json_of(r), "\"outside\": {"));
}

TEST_CASE("calls that share a name are named once, and count as one of three") {
  reports::result r = fine();
  const auto site = [](const char* name, int line) {
    return reports::place_total{call(name, "main", "src/win.cpp", line), 20, 0.1, 0};
  };
  r.not_understood.calls = {site("MPI_Wait", 15), site("MPI_Wait", 15), site("MPI_Recv", 16), site("MPI_Wait", 15),
                            site("MPI_Wait", 18)};
  CHECK(reports::calls_text(r.not_understood.calls) == "MPI_Wait (win.cpp:15), MPI_Recv (win.cpp:16), MPI_Wait (win.cpp:18)");
  r.not_understood.calls.push_back(site("MPI_Send", 19));
  CHECK(reports::calls_text(r.not_understood.calls) ==
        "MPI_Wait (win.cpp:15), MPI_Recv (win.cpp:16), MPI_Wait (win.cpp:18), ...");
}

TEST_CASE("1 % of rank time that is not understood is not fine") {
  reports::result r = fine();
  r.not_understood.seconds = 0.4;
  CHECK(judge(r) == objection::not_understood);
  const std::string text = reports::text_of(r);
  CHECK(contains(text, "1.0 % of rank time is inside MPI calls that whywait does not understand"));
  CHECK(contains(text, "MPI_Win_fence (win.cpp:12)"));
  CHECK(contains(text, "transfer 98-100 %"));
  r.not_understood.seconds = 0.399;
  CHECK(judge(r) == objection::none);
}

TEST_CASE("1 % of waiting is not fine, unless it is under a millisecond") {
  reports::result r = fine();
  r.run.waiting_seconds = 0.4;
  CHECK(judge(r) == objection::waiting);
  r.run.waiting_seconds = 0.399;
  CHECK(judge(r) == objection::none);
  r.run.location_seconds = 0.05;
  r.run.waiting_seconds = 0.0009;
  r.not_understood.seconds = 0;
  CHECK(judge(r) == objection::none);
  r.run.waiting_seconds = 0.001;
  CHECK(judge(r) == objection::waiting);
}

TEST_CASE("a part of a run is not fine") {
  reports::result r = fine();
  r.run.partial = true;
  CHECK(judge(r) == objection::partial);
  r = fine();
  r.run.unseen_seconds = 0.001;
  CHECK(judge(r) == objection::partial);
  r = fine();
  r.run.dropped_events = 1;
  CHECK(judge(r) == objection::partial);
  r = fine();
  r.last_words.resize(1);
  CHECK(judge(r) == objection::partial);
}

TEST_CASE("a run that was not explained is not fine, and a problem is worth a change") {
  reports::result r = fine();
  r.run.mpi_calls = 0;
  CHECK(judge(r) == objection::not_explained);
  r = fine();
  r.problems.resize(1);
  CHECK(judge(r) == objection::none);
  CHECK_FALSE(reports::nothing_worth_changing(r));
}

TEST_CASE("waits of ranks with time that is not understood are not exact") {
  reports::result r = fine();
  r.not_understood.ranks[0].seconds = 0.099;
  reports::weaken(r);
  CHECK(r.waits[0].quality == "exact");
  r.not_understood.ranks[2].seconds = 1;  // neither waits nor is waited for
  reports::weaken(r);
  CHECK(r.waits[0].quality == "exact");
  r.not_understood.ranks[0].seconds = 0.1;
  reports::weaken(r);
  CHECK(r.waits[0].quality == "bounded");
}

TEST_CASE("work between polls is not known, so that no smaller imbalance of the rest is a verdict") {
  const auto verdicts = [](double saving, const char* problem, double between) {
    reports::result r = fine();
    r.verdict.emplace_back();
    r.verdict[0].saving_seconds = saving;
    r.verdict[0].problem = problem;
    r.not_understood.between_polls_seconds = between * static_cast<double>(r.run.ranks);
    reports::weaken(r);
    return r.verdict.size();
  };
  CHECK(verdicts(0.2, "", 0.2) == 0);
  CHECK(verdicts(0.2, "", 0.19) == 1);
  CHECK(verdicts(0.2, "", 0) == 1);
  CHECK(verdicts(0.2, "wait_for_progress", 0.2) == 1);
}

TEST_CASE("ranks that sleep outside MPI: that is said, and the run is not called fine") {
  reports::result r = fine();
  r.run.threads_only = false;
  REQUIRE(reports::first_objection(r) == objection::none);
  r.asleep.seconds = 0.09 * r.run.location_seconds;
  CHECK(reports::asleep_words(r) == "");
  CHECK(reports::first_objection(r) == objection::none);
  r.asleep.seconds = 0.35 * r.run.location_seconds;
  for (std::int32_t rank = 0; rank != 3; ++rank) r.asleep.ranks.push_back({rank, 0, 0.35 * r.run.seconds});
  CHECK(reports::first_objection(r) == objection::none);  // all alike, as with a rate limit
  r.asleep.ranks[1].seconds = 0.24 * r.run.seconds;
  CHECK(contains(reports::asleep_words(r), "35 % of rank time ("));
  CHECK(contains(reports::asleep_words(r), "is asleep or blocked outside MPI, which counts as code"));
  CHECK(reports::first_objection(r) == objection::asleep);
  CHECK(contains(reports::instead_words(objection::asleep), "the ranks hardly wait for each other, but sleep"));
}

TEST_CASE("what waits for another world is not transfer") {
  reports::result r = fine();
  r.run.threads_only = false;
  r.not_understood = {};
  r.ledger.efficiency.parallel = r.ledger.efficiency.transfer = 0.6;
  r.ledger.efficiency.load_balance = r.ledger.efficiency.serialisation = r.ledger.efficiency.communication = 1;
  CHECK(contains(reports::transfer_words(r), "40 % of the run"));
  r.other_worlds.seconds = 0.29 * r.run.location_seconds;
  CHECK(contains(reports::transfer_words(r), "11 % of the run"));
  r.other_worlds.seconds = 0.31 * r.run.location_seconds;
  CHECK(reports::transfer_words(r) == "");
}

TEST_CASE("polls that are all that is not understood are named as calls and as polls") {
  reports::result r = fine();
  r.not_understood.seconds = 0.3 * r.run.location_seconds;
  r.not_understood.between_polls_seconds = 0.05 * r.run.location_seconds;
  r.not_understood.calls = {{call("MPI_Testall", "main", "src/comm.cpp", 6), 20, 12, 0}};
  CHECK(contains(reports::unknown_words(r), "does not understand: MPI_Testall (comm.cpp:6); 5.0 % of rank time"));
}

TEST_CASE("tasks that depend on one another get no advice about their size") {
  reports::result r = fine();
  r.waits[0].advice.resize(2);
  r.waits[0].advice[0].problem = "large_tasks";
  r.waits[0].advice[1].problem = "thread_barrier";
  r.waits[0].advice[0].text = "smaller tasks";
  r.waits[0].advice[1].text = "go on";
  r.waits[0].advice[0].saving_seconds = 1;
  reports::weaken(r);
  CHECK(r.waits[0].advice[0].text == "smaller tasks");
  r.run.openmp_unseen = true;
  reports::weaken(r);
  CHECK(r.waits[0].advice[0].text.empty());
  CHECK(r.waits[0].advice[0].saving_seconds == 0);
  CHECK(r.waits[0].advice[1].text == "go on");
}

TEST_CASE("efficiencies are ranges that hold the values") {
  const explain::efficiencies e = {0.6, 0.75, 0.8, 0.889, 0.9, 0, 0};
  reports::not_understood n;
  n.ranks = {{0, 0, 2}, {1, 0, 0.5}};
  const reports::efficiency_ranges r = reports::ranges_of(e, n, 10);
  CHECK(r.transfer.least == 0.9);
  CHECK(r.transfer.most == 1.0);
  CHECK(r.serialisation.least == doctest::Approx(0.8001));
  CHECK(r.serialisation.most == 0.889);
  CHECK(r.parallel.least == 0.6);
  CHECK(r.parallel.most == 0.6);
}

TEST_CASE("where threads work that were not recorded there is no verdict, and nothing is said to be fine") {
  reports::result r = fine();
  r.run.threads_only = true;
  REQUIRE(reports::first_objection(r) != objection::not_recorded);
  r.verdict.emplace_back();
  r.run.unrecorded.seconds = 0.4;
  r.run.unrecorded.share = 0.09;
  CHECK_FALSE(r.run.unrecorded.matter());
  reports::weaken(r);
  CHECK(r.verdict.size() == 1);
  r.run.unrecorded.share = 0.10;
  CHECK(r.run.unrecorded.matter());
  r.run.unrecorded.run_seconds = 21;  // 0.4 s of it
  CHECK_FALSE(r.run.unrecorded.matter());
  r.run.unrecorded.run_seconds = 19;
  CHECK(r.run.unrecorded.matter());
  reports::weaken(r);
  CHECK(r.verdict.empty());
  CHECK(reports::first_objection(r) == objection::not_recorded);
  CHECK(
      contains(reports::unrecorded_words(r), "10 % of the processor time (400 ms) is that of threads that were not recorded"));
  r.run.unrecorded.seconds = 0.004;  // too little to be measured well
  CHECK_FALSE(r.run.unrecorded.matter());
  r.run.unrecorded.large_teams = true;
  CHECK(r.run.unrecorded.matter());
  CHECK(contains(reports::unrecorded_words(r), "OpenMP teams of more than 256 threads are not"));
}

TEST_CASE("what is neither code nor waiting is called transfer, with the call that takes most of it") {
  reports::result r = fine();
  CHECK(reports::transfer_words(r).empty());
  r.ledger.efficiency.parallel = 0.3;
  r.ledger.efficiency.transfer = 0.4;  // and 0.36 s of one rank, 3.6 % of the run, are not understood
  r.ledger.critical_path.resize(3);
  r.ledger.critical_path[0].kind = "call";
  r.ledger.critical_path[0].where = call("MPI_Alltoall", "transpose", "src/fft.cpp", 12);
  r.ledger.critical_path[0].seconds = 5;
  r.ledger.critical_path[1].kind = "region";
  r.ledger.critical_path[1].where = call("solve", "main", "src/fft.cpp", 3);
  r.ledger.critical_path[1].seconds = 4;
  r.ledger.critical_path[2].kind = "call";
  r.ledger.critical_path[2].where = call("MPI_Bcast", "main", "src/fft.cpp", 30);
  r.ledger.critical_path[2].seconds = 0.49;
  r.profile.messages.resize(2);
  r.profile.messages[0].operation = "collective";
  r.profile.messages[0].bytes = 640 << 20;
  r.profile.messages[1].operation = "receive";
  r.profile.messages[1].bytes = 1 << 20;
  CHECK(reports::transfer_words(r) ==
        "56 % of the run (5.64 s) is not waiting but transfer (640 MiB sent) or time of the MPI library itself, above all "
        "in MPI_Alltoall (fft.cpp:12)");
  CHECK(contains(reports::text_of(r), "56 % of the run (5.64 s) is not waiting but transfer"));
  r.not_understood.sharing.seconds = 0.1 * r.run.location_seconds;
  CHECK(contains(reports::transfer_words(r), "46 % of the run"));
  r.ledger.efficiency.transfer = 0.77;  // 10 % without what is not understood and without a processor
  CHECK(reports::transfer_words(r).empty());
  r.ledger.efficiency.transfer = 0.4;
  r.run.threads_only = true;
  CHECK(reports::transfer_words(r).empty());
}
