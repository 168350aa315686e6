#include <whywait/base/vector.hpp>

#include "sample.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

// A scenario for each problem of the built-in knowledge base, in which it fires, and the smallest change with which it
// does not. The user-visible text is in docs/rules/<problem>.md and is compared word for word.
namespace {

namespace rules = sample::rules;

struct scenario {
  std::string problem;
  std::function<void(rules::event_store&, rules::trouble&, bool nearly)> fill;
};

/// Names of the waiting call and of the late call.
std::pair<const char*, const char*> calls_of(const std::string& pattern) {
  static const std::map<std::string, std::pair<const char*, const char*>> all = {
      {"late_sender", {"MPI_Recv (halo.cpp:142)", "MPI_Send (halo.cpp:131)"}},
      {"late_receiver", {"MPI_Send (halo.cpp:131)", "MPI_Recv (halo.cpp:142)"}},
      {"wait_for_progress", {"MPI_Waitall (halo.cpp:150)", "MPI_Waitall (halo.cpp:150)"}},
      {"wait_at_barrier", {"MPI_Barrier (main.cpp:30)", "MPI_Barrier (main.cpp:30)"}},
      {"wait_at_nxn", {"MPI_Allreduce (main.cpp:44)", "MPI_Allreduce (main.cpp:44)"}},
      {"late_broadcast", {"MPI_Bcast (main.cpp:12)", "MPI_Bcast (main.cpp:12)"}},
      {"early_reduce", {"MPI_Reduce (main.cpp:50)", "MPI_Reduce (main.cpp:50)"}},
      {"early_scan", {"MPI_Scan (main.cpp:52)", "MPI_Scan (main.cpp:52)"}},
      {"wait_at_create", {"MPI_Comm_split (main.cpp:9)", "MPI_Comm_split (main.cpp:9)"}},
      {"nonblocking_collective", {"MPI_Wait (main.cpp:61)", "MPI_Iallreduce (main.cpp:58)"}},
      {"wait_at_fence", {"MPI_Win_fence (main.cpp:61)", "MPI_Win_fence (main.cpp:61)"}},
      {"late_post", {"MPI_Win_start (win.cpp:70)", "MPI_Win_post (win.cpp:81)"}},
      {"early_wait", {"MPI_Win_wait (win.cpp:82)", "MPI_Put (win.cpp:71)"}},
      {"late_complete", {"MPI_Win_wait (win.cpp:82)", "MPI_Win_complete (win.cpp:75)"}},
      {"window_lock_contention", {"MPI_Win_lock (win.cpp:90)", "MPI_Win_unlock (win.cpp:95)"}},
      {"mutex_contention", {"mutex::lock (bank.cpp:40)", "mutex::unlock (bank.cpp:52)"}},
      {"condition_variable", {"condition_variable::wait (queue.cpp:20)", "condition_variable::notify_one (queue.cpp:31)"}},
      {"thread_barrier", {"barrier::arrive_and_wait (steps.cpp:14)", "barrier::arrive_and_wait (steps.cpp:14)"}},
      {"latch", {"latch::wait (main.cpp:15)", "latch::count_down (main.cpp:25)"}},
      {"semaphore", {"counting_semaphore::acquire (pool.cpp:16)", "counting_semaphore::release (pool.cpp:26)"}},
      {"future", {"future::wait (main.cpp:17)", "promise::set_value (main.cpp:27)"}},
      {"join", {"thread::join (main.cpp:18)", "thread end (main.cpp:12)"}},
      {"wait_at_finalize", {"MPI_Finalize (main.cpp:99)", "MPI_Finalize (main.cpp:99)"}}};
  return all.at(pattern);
}

/// A wait of 2 s out of 40 s of rank time; with `nearly` just below the threshold of 1 %.
rules::row_writer wait_fact(rules::event_store& store, const std::string& pattern, bool nearly = false) {
  rules::row_writer w(store, "wait");
  const double duration = nearly ? 0.39 : 2.0;
  w.set("wait", 0).set("pattern", pattern).set("duration", duration).set("count", 100).set("share", duration / 40);
  w.set("mean", duration / 100);
  w.set("sends_after_work", true).set("operation_call", "MPI_Recv");
  w.set("operation", calls_of(pattern).first).set("cause", calls_of(pattern).second).set("operation_site", 7);
  w.set("blocks", "compute_interior")
      .set("because", " because of compute_interior: evening that out")
      .set("spread", pattern == "thread_barrier" ? "spread the work of compute_interior evenly over the threads"
                                                 : "spread the work of compute_interior evenly over the ranks")
      .set("blocks_count", 1)
      .set("blocks_duration", duration * 0.9)
      .set("avoidable", duration * 0.9)
      .set("reordered", duration * 0.9)
      .set("polled", duration * 0.9)
      .set("posted", duration);
  w.set("ranks", 4).set("unexplained", duration * 0.1).set("positive", duration * 0.9);
  w.set("late_ranks", "rank 0")
      .set("late_others", "rank 0")
      .set("late_ranks_count", 1)
      .set("waiting_ranks", "ranks 1-3")
      .set("waiting_ranks_count", 3);
  return w;
}

void block_fact(rules::event_store& store, const char* name, double ratio, int late_rank) {
  rules::row_writer(store, "block")
      .set("name", name)
      .set("kind", "region")
      .set("place", "halo.cpp:88")
      .set("both_ran", true)
      .set("same_work", true)
      .set("one_late_rank", true)
      .set("late_rank", late_rank)
      .set("duration", 0.5)
      .set("slower", 0.5)
      .set("late_duration", 1.0)
      .set("ratio", ratio)
      .set("ranks", 4);
}

whywait::base::vector<scenario> scenarios() {
  whywait::base::vector<scenario> all;
  // Every built-in pattern of the design is a rule.
  for (const char* pattern : {"late_sender",
                              "late_receiver",
                              "wait_for_progress",
                              "wait_at_barrier",
                              "wait_at_nxn",
                              "late_broadcast",
                              "early_reduce",
                              "early_scan",
                              "wait_at_create",
                              "wait_at_finalize",
                              "nonblocking_collective",
                              "wait_at_fence",
                              "late_post",
                              "early_wait",
                              "late_complete",
                              "window_lock_contention",
                              "condition_variable",
                              "thread_barrier",
                              "latch",
                              "semaphore",
                              "future",
                              "join"})
    all.push_back({pattern, [pattern](rules::event_store& s, rules::trouble&, bool nearly) { wait_fact(s, pattern, nearly); }});
  all.push_back({"mutex_contention", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "mutex_contention", nearly).set("blocks", "").set("blocks_count", 0);
                 }});
  all.push_back({"work_under_lock", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer w = wait_fact(s, "mutex_contention");
                   w.set("top", "compute_interior").set("top_place", "halo.cpp:88");
                   if (nearly) w.set("blocks", "").set("blocks_count", 0);
                 }});
  all.push_back({"wrong_order", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "late_sender").set("as_they_come", nearly ? 0.06 : 0.4);
                 }});
  all.push_back({"serialised_pipeline", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "late_sender")
                       .set("indirect", nearly ? 1.0 : 1.6)
                       .set("late_ranks", "ranks 0-2")
                       .set("late_others", "ranks 0-2")
                       .set("in_turn", 0.3)
                       .set("late_ranks_count", 3);
                 }});
  const auto traffic = [](rules::event_store& s, double mean, double batched) {
    rules::row_writer(s, "traffic")
        .set("site", "MPI_Send (halo.cpp:131)")
        .set("calls", 8000)
        .set("ranks", 4)
        .set("mean_bytes", mean)
        .set("duration", 2.0)
        .set("batched", batched)
        .set("batched_duration", 1.5)
        .set("messages_per_batch", 8);
  };
  all.push_back({"small_messages",
                 [traffic](rules::event_store& s, rules::trouble&, bool nearly) { traffic(s, nearly ? 1024 : 64, 0); }});
  all.push_back({"aggregate_messages",
                 [traffic](rules::event_store& s, rules::trouble&, bool nearly) { traffic(s, 2048, nearly ? 3999 : 7000); }});
  all.push_back(
      {"needless_barrier", [](rules::event_store& s, rules::trouble&, bool nearly) {
         wait_fact(s, "wait_at_barrier");
         rules::row_writer(s, "barrier_use").set("site", 7).set("calls", 100).set("before_collective", nearly ? 99 : 100);
       }});
  all.push_back({"dividing_barrier", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "wait_at_barrier")
                       .set("operation_call", "MPI_Barrier")
                       .set("without_saving", nearly ? 0.19 : 0.2)
                       .set("without_share", nearly ? 0.019 : 0.02);
                 }});
  all.push_back({"slow_completion", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer(s, "completion")
                       .set("site", "MPI_Allreduce (main.cpp:44)")
                       .set("late_exits", nearly ? 10 : 300)
                       .set("ranks", 4)
                       .set("longest", 0.02)
                       .set("duration", nearly ? 0.39 : 0.9);
                 }});
  all.push_back({"unnotified_wait", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "condition_variable")
                       .set("top", nearly ? "the time in pthread_cond_wait (queue.cpp:20)"
                                          : "the time in pthread_cond_timedwait (queue.cpp:20)")
                       .set("top_kind", "call")
                       .set("top_duration", 1.9)
                       .set("top_share", 0.75)
                       .set("blocks", "")
                       .set("blocks_count", 0);
                 }});
  all.push_back({"no_overlap", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "condition_variable")
                       .set("waiting_ranks", "rank 1")
                       .set("turns", "condition_variable::wait (queue.cpp:20) and condition_variable::wait (queue.cpp:40)")
                       .set("turns_other", "condition_variable::wait (queue.cpp:40)")
                       .set("turns_saving", nearly ? 0.0 : 1.2);
                 }});
  all.push_back({"single_work", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "thread_barrier")
                       .set("operation", "omp barrier (step.cpp:30)")
                       .set("top", nearly ? "the code between omp barrier (step.cpp:20) and omp barrier (step.cpp:30)"
                                          : "the code between omp single (step.cpp:20) and omp barrier (step.cpp:30)")
                       .set("top_kind", "between")
                       .set("top_duration", 1.8)
                       .set("threads", 4);
                 }});
  all.push_back({"large_tasks", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "thread_barrier")
                       .set("operation", "end of omp parallel (tree.cpp:19)")
                       .set("cause", "end of omp task (tree.cpp:21)")
                       .set("cause_call", nearly ? "end of omp parallel" : "end of omp task")
                       .set("waiting_ranks", "rank 0")
                       .set("late_others", "rank 1")
                       .set("all_shapes", 2.0)
                       .set("threads", 2);
                 }});
  all.push_back({"iteration_order", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   wait_fact(s, "latch")
                       .set("operation", "omp ordered (frames.cpp:12)")
                       .set("operation_call", nearly ? "omp taskwait" : "omp ordered")
                       .set("waiting_ranks", "ranks 1-3")
                       .set("late_others", "ranks 0-2")
                       .set("all_shapes", 2.0)
                       .set("most_divided", 5.0)
                       .set("in_turn", 0.5)
                       .set("threads", 4);
                 }});
  all.push_back({"lost_wakeup", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer(s, "notified")
                       .set("site", "condition_variable::wait_for (queue.cpp:20)")
                       .set("waits", 40)
                       .set("ranks", 1)
                       .set("missed", nearly ? 0 : 12)
                       .set("missed_duration", nearly ? 0 : 1.2)
                       .set("most_missed", nearly ? 0 : 1.2)
                       .set("duration", 2.0);
                 }});
  all.push_back({"needless_wakeups", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer(s, "notified")
                       .set("site", "condition_variable::wait (queue.cpp:20)")
                       .set("waits", 1000)
                       .set("ranks", 4)
                       .set("in_vain", nearly ? 500 : 750)
                       .set("in_vain_duration", 0.8)
                       .set("duration", 2.0);
                 }});
  for (const char* const side : {"writer", "reader"})
    all.push_back(
        {side[0] == 'w' ? "starved_writers" : "starved_readers", [side](rules::event_store& s, rules::trouble&, bool nearly) {
           rules::row_writer(s, "read_write")
               .set("site", side[0] == 'w' ? "shared_mutex::lock (table.cpp:20)" : "pthread_rwlock_rdlock (table.cpp:31)")
               .set("side", side)
               .set("waits", 10)
               .set("ranks", 1)
               .set("overtaken", nearly ? 29 : 30)
               .set("overtaken_duration", 1.2)
               .set("most_overtaken", 1.2)
               .set("duration", 2.0);
         }});
  const auto spread = [](rules::event_store& s, const char* lead, const char* excess, double here = 1) {
    rules::row_writer w = wait_fact(s, "late_sender");
    w.set("lead", lead)
        .set("excess", excess)
        .set("top", "compute_interior")
        .set("top_kind", "region")
        .set("top_place", "halo.cpp:88")
        .set("top_duration", 1.8)
        .set("code_rank", 0)
        .set("code_thread", "rank 0")
        .set("code_nouns", "ranks")
        .set("top_waiting_amount", 900)
        .set("code_ratio", 1.5)
        .set("units_ratio", 1.49)
        .set("above_mean", 0.6)
        .set("ranks", 4)
        .set("code_delay", 0.5)
        .set("code_processors", 2)
        .set("code_system", 0.48)
        .set("code_faults", 120000)
        .set("late_share", 0.4)
        .set("in_turn", 0.8)
        .set("top_here", here)
        .set("late_ranks_count", 3)
        .set("late_ranks", "ranks 0-2")
        .set("waiting_ranks", std::string(lead) == "even" ? "ranks 0-2" : "ranks 1-3")
        .set("sends_after_work", false);
    return w;
  };
  all.push_back({"uneven_work", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, nearly ? "even" : "one", "units");
                 }});
  all.push_back({"slower_visits", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "one", nearly ? "both" : "speed");
                 }});
  all.push_back({"shared_processor", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "one", nearly ? "speed" : "shared");
                 }});
  all.push_back({"page_faults", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "one", nearly ? "speed" : "faults");
                 }});
  all.push_back({"system_calls", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "one", nearly ? "faults" : "system");
                 }});
  all.push_back({"few_processors", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer(s, "run")
                       .set("ranks", 4)
                       .set("duration", 10.0)
                       .set("location_time", 40.0)
                       .set("own_processors", nearly ? 0.9 : 3.0);
                 }});
  all.push_back({"time_in_kernel", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   rules::row_writer(s, "run")
                       .set("ranks", 4)
                       .set("duration", 10.0)
                       .set("location_time", 40.0)
                       .set("kernel_duration", 4.0)
                       .set("faults", 1000000)
                       .set("repeated_faults", nearly ? 400000 : 900000);
                 }});
  all.push_back({"serial_work", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, nearly ? "one" : "alone", "visits");
                 }});
  all.push_back({"slow_rank", [](rules::event_store& s, rules::trouble&, bool nearly) {
                   block_fact(s, "compute_interior", 1.30, 2);
                   block_fact(s, "pack_halo", 1.25, 2);
                   block_fact(s, nearly ? "pack_halo" : "update", 1.32, 2);
                 }});
  const auto slow_memory = [](rules::event_store& s, const char* why, bool counted) {
    wait_fact(s, "thread_barrier");
    rules::row_writer b(s, "block");
    b.set("wait", 0).set("name", "count").set("kind", "region").set("both_ran", true).set("why", why).set("counted", counted);
    b.set("memory", 1.5).set("each", 1.4e-3).set("late_locations", "threads 1-3 of rank 0");
    return b;
  };
  all.push_back({"false_sharing", [slow_memory](rules::event_store& s, rules::trouble&, bool nearly) {
                   slow_memory(s, "cycles", true)
                       .set("data", "counters")
                       .set("data_place", "counters.cpp:12")
                       .set("data_sharing", nearly ? "write-shared" : "false sharing")
                       .set("data_users", "threads 1-3");
                 }});
  all.push_back({"remote_pages", [slow_memory](rules::event_store& s, rules::trouble&, bool nearly) {
                   slow_memory(s, nearly ? "instructions" : "cycles", true)
                       .set("far_data", "field")
                       .set("far_place", "field.cpp:30")
                       .set("far_share", 0.97)
                       .set("far_node", 1)
                       .set("far_pages_node", 0);
                 }});
  all.push_back({"slow_block",
                 [spread](rules::event_store& s, rules::trouble&, bool nearly) { spread(s, nearly ? "one" : "even", ""); }});
  all.push_back({"send_after_work", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "even", "")
                       .set("earlier_share", nearly ? 0.019 : 0.02)
                       .set("earlier_saving", 0.2)
                       .set("earlier_in_turn", 0.5)
                       .set("earlier_indirect", 0.1)
                       .set("earlier_ranks", "ranks 0-3")
                       .set("earlier_sends", "MPI_Send (halo.cpp:131 and 132)");
                 }});
  all.push_back({"work_in_turn", [spread](rules::event_store& s, rules::trouble&, bool nearly) {
                   spread(s, "even", "", nearly ? 0.5 : 0.49);
                 }});
  return all;
}

const rules::knowledge& built_in() {
  static const rules::knowledge known = sample::knowledge();
  return known;
}

rules::findings run(const rules::knowledge& known, const scenario& s, bool nearly) {
  rules::event_store store(known);
  store.location_time = 40;
  rules::trouble log;
  s.fill(store, log, nearly);
  rules::findings found = rules::evaluator(store).evaluate();
  CHECK(log.list().empty());
  CHECK(found.troubles.empty());
  return found;
}

std::string shown(const rules::finding& f) {
  const std::string saving = sample::base::duration(f.saving);
  const std::size_t other = std::min(f.advice.find("; or "), f.advice.find("; if ")), first = std::min(other, f.advice.size());
  return (f.verdict.empty() ? ""
                            : f.verdict + " would shorten the run by " + (f.predicted ? "about " : "up to ") + saving + "\n") +
         f.problem + ": " + f.description + "\ntry: " + f.advice.substr(0, first) + " (saves " +
         (f.predicted ? "about " : "at most ") + saving + ")" + f.advice.substr(first) + "\n";
}

/// The block between ```text and ``` of a card.
std::string golden(const std::string& problem) {
  std::ifstream file(std::string(WHYWAIT_TEST_SOURCE_DIR) + "/docs/rules/" + problem + ".md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t begin = all.find("```text\n");
  if (begin == std::string::npos) return "no card docs/rules/" + problem + ".md with a ```text block";
  return all.substr(begin + 8, all.find("```", begin + 8) - begin - 8);
}

}  // namespace

TEST_CASE("every problem of the built-in knowledge has a scenario and a card") {
  std::set<std::string> covered;
  for (const scenario& s : scenarios()) covered.insert(s.problem);
  for (const rules::problem_rule& p : built_in().problems) {
    CAPTURE(p.name);
    CHECK(covered.count(p.name) == 1);
  }
  CHECK(covered.size() == built_in().problems.size());
}

TEST_CASE("each rule fires in its scenario with the text of its card") {
  for (const scenario& s : scenarios()) {
    CAPTURE(s.problem);
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, s.problem);
    REQUIRE(f != nullptr);
    CHECK(f->matters);
    CHECK(f->saving > 0);
    CHECK(f->saving <= f->seconds);
    CHECK(shown(*f) == golden(s.problem));
  }
}

TEST_CASE("every problem has a verdict for the first lines, if only of the clocks") {
  for (const rules::problem_rule& p : built_in().problems) {
    CAPTURE(p.name);
    // uneven work has that of the clocks, and the library's inner works are no cause
    CHECK(p.verdict.empty() == (p.name == "uneven_work" || p.name == "slow_completion"));
  }
}

TEST_CASE("no rule fires where it only nearly should") {
  for (const scenario& s : scenarios()) {
    CAPTURE(s.problem);
    const rules::findings found = run(built_in(), s, true);
    const rules::finding* const f = sample::find(found.list, s.problem);
    CHECK((f == nullptr || !f->matters));
  }
}

TEST_CASE("removing the text of a rule removes its finding") {
  for (const scenario& s : scenarios()) {
    CAPTURE(s.problem);
    const rules::knowledge known = sample::knowledge("remove problem \"" + s.problem + "\";");
    REQUIRE(known.log.empty());
    CHECK(sample::find(run(known, s, false).list, s.problem) == nullptr);
  }
}

TEST_CASE("what a message in a circle holds is not known, so that smaller pieces are no certain advice") {
  const scenario circle = {"serialised_pipeline", [](rules::event_store& s, rules::trouble&, bool) {
                             wait_fact(s, "late_sender")
                                 .set("indirect", 1.6)
                                 .set("late_ranks", "ranks 0-3")
                                 .set("late_others", "one another")
                                 .set("in_turn", 1.0)
                                 .set("late_ranks_count", 4);
                           }};
  const rules::findings found = run(built_in(), circle, false);
  const rules::finding* const f = sample::find(found.list, "serialised_pipeline");
  REQUIRE(f != nullptr);
  CHECK(
      f->verdict.find("if a rank can begin with a part of what it waits for, which is not known, handing on smaller pieces") !=
      std::string::npos);
  CHECK(f->advice.find("make compute_interior shorter; if a rank can begin") == 0);
}

TEST_CASE("code that only the late side runs does not take longer now here and now there, and is not uneven in a team") {
  const auto problem_of = [](const char* pattern, const char* lead, int waiting_visits) {
    const scenario s = {"", [&](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, pattern)
                              .set("lead", lead)
                              .set("excess", "unknown")
                              .set("top", "assemble")
                              .set("top_kind", "region")
                              .set("top_duration", 1.8)
                              .set("above_mean", 0.6)
                              .set("avoidable", 0.6)
                              .set("threads", std::string(pattern) == "thread_barrier" ? 2 : 0)
                              .set("code_thread", "rank 0 thread 1")
                              .set("code_nouns", "threads")
                              .set("top_late_amount", 900)
                              .set("top_waiting_amount", waiting_visits)
                              .set("late_share", 0.4)
                              .set("in_turn", 0.8)
                              .set("top_here", 1.0)
                              .set("late_ranks_count", 3);
                        }};
    for (const char* name : {"uneven_work", "slow_block", "work_in_turn"}) {
      const rules::findings found = run(built_in(), s, false);
      if (sample::find(found.list, name) != nullptr) return std::string(name);
    }
    return std::string("none");  // the pattern of the wait remains
  };
  CHECK(problem_of("wait_at_nxn", "even", 900) == "slow_block");
  CHECK(problem_of("wait_at_nxn", "even", 0) == "work_in_turn");
  CHECK(problem_of("wait_at_nxn", "one", 0) == "uneven_work");
  CHECK(problem_of("thread_barrier", "one", 900) == "uneven_work");
  CHECK(problem_of("thread_barrier", "one", 0) == "none");
  CHECK(problem_of("thread_barrier", "even", 0) == "work_in_turn");
}

namespace {

/// A wait for ranks that are late in turn by one block, which takes one of them `above_mean` seconds above the mean.
rules::row_writer late_in_turn(rules::event_store& store, double above_mean) {
  rules::row_writer w = wait_fact(store, "late_sender");
  w.set("lead", "even").set("top", "compute_interior").set("top_kind", "region").set("top_duration", 1.8);
  w.set("above_mean", above_mean).set("in_turn", 0.8).set("top_here", 1.0).set("top_waiting_amount", 900);
  return w;
}

}  // namespace

TEST_CASE("a rank that waits for all others, which work evenly, is to take part in the work") {
  for (const int ranks_of_code : {2, 3}) {
    CAPTURE(ranks_of_code);
    const scenario farm = {"", [ranks_of_code](rules::event_store& s, rules::trouble&, bool) {
                             rules::row_writer w = wait_fact(s, "late_sender");
                             w.set("waiting_ranks", "rank 0").set("waiting_ranks_count", 1).set("late_ranks", "ranks 1-3");
                             w.set("lead", "even").set("code_ranks", ranks_of_code).set("ranks", 4);
                             w.set("shorter", 1.8).set("most_even", 0.4);
                           }};
    const rules::findings found = run(built_in(), farm, false);
    const rules::finding* const f = sample::find(found.list, "late_sender");
    REQUIRE(f != nullptr);
    CHECK((f->saving == doctest::Approx(0.4)) == (ranks_of_code == 3));
    CHECK((f->verdict.find("while all others ran compute_interior: dividing it among all ranks") != std::string::npos) ==
          (ranks_of_code == 3));
  }
}

TEST_CASE(
    "one of three threads of a rank that would be as fast as the others saves half as much again as it has above the mean") {
  const scenario s = {
      "uneven_work", [](rules::event_store& store, rules::trouble&, bool) {
        rules::row_writer w = wait_fact(store, "thread_barrier");
        w.set("lead", "one").set("excess", "unknown").set("code_thread", "rank 0").set("top", "compute_interior");
        w.set("ranks", 1).set("locations", 3).set("code_ranks", 3);
        w.set("above_mean", 0.25).set("above_others", 0.5).set("shorter", 0.25);
      }};
  const rules::findings found = run(built_in(), s, false);
  const rules::finding* const f = sample::find(found.list, "uneven_work");
  REQUIRE(f != nullptr);
  CHECK(f->advice.find("(WHYWAIT_WORK would tell), find what makes it slower there, which saves up to 375 ms") !=
        std::string::npos);
  CHECK(f->saving == doctest::Approx(0.25));
}

TEST_CASE("a rank inside a call of MPI cannot call MPI_Test there") {
  for (const char* kind : {"call", "region"}) {
    const scenario late = {"", [kind](rules::event_store& s, rules::trouble&, bool) {
                             wait_fact(s, "wait_for_progress").set("top_kind", kind).set("top", "MPI_Gather");
                           }};
    const rules::findings found = run(built_in(), late, false);
    const rules::finding* const f = sample::find(found.list, "wait_for_progress");
    REQUIRE(f != nullptr);
    CHECK(f->verdict.empty() == (std::string(kind) == "call"));
  }
}

TEST_CASE("where the late rank computes longest, only another division of its work helps") {
  const struct {
    const char *problem, *other;
  } cases[] = {{"wait_for_progress", "MPI_Test"},          {"late_broadcast", "before compute_interior"},
               {"early_reduce", "nonblocking form"},       {"early_scan", "nonblocking form"},
               {"wait_at_nxn", "nonblocking form"},        {"wait_at_fence", "MPI_Win_post"},
               {"late_sender", "before compute_interior"}, {"late_receiver", "post the receive"}};
  for (const auto& c : cases)
    for (const bool only : {false, true}) {
      CAPTURE(c.problem);
      const scenario s = {c.problem, [&](rules::event_store& store, rules::trouble&, bool) {
                            wait_fact(store, c.problem)
                                .set("only_divided", only)
                                .set("reordered", only ? 0.01 : 1.8)
                                .set("polled", only ? 0.01 : 1.8);
                          }};
      const rules::findings found = run(built_in(), s, false);
      const rules::finding* const f = sample::find(found.list, c.problem);
      REQUIRE(f != nullptr);
      CHECK((f->advice.find(c.other) == std::string::npos) == only);
      CHECK(f->advice.find("compute_interior") != std::string::npos);
      CHECK(f->saving == doctest::Approx(1.8));
    }
}

TEST_CASE("an earlier send that saves far less than the wait is no advice") {
  for (const double saves : {0.4, 1.2}) {
    const scenario s = {
        "late_sender", [saves](rules::event_store& store, rules::trouble&, bool) {
          rules::row_writer w = wait_fact(store, "late_sender");
          w.set("earlier_known", true).set("earlier_saving", saves).set("earlier_share", 0.04).set("shorter", 1.8);
        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "late_sender");
    REQUIRE(f != nullptr);
    CHECK((f->advice.find("call MPI_Send") == 0) == (saves == 1.2));
    CHECK(f->verdict.empty() == (saves == 0.4));
  }
}

TEST_CASE("a fence between two ranks holds nobody else, and the end of a parallel region stays") {
  for (const int ranks : {2, 3}) {
    const scenario s = {"", [ranks](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "wait_at_fence").set("ranks", ranks);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "wait_at_fence");
    REQUIRE(f != nullptr);
    CHECK((f->advice.find("MPI_Win_post") != std::string::npos) == (ranks == 3));
  }
  for (const char* const call : {"omp barrier", "end of omp parallel"}) {
    const scenario s = {"", [call](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "thread_barrier").set("operation_call", call).set("blocks_count", 0);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "thread_barrier");
    REQUIRE(f != nullptr);
    CHECK((f->advice.find("drop ") == 0) == (std::string(call) == "omp barrier"));
  }
}

TEST_CASE("windows that several ranks lock in turn have no single rank to blame") {
  for (const double all : {2.6, 2.61}) {
    const scenario s = {"window_lock_contention", [&](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "window_lock_contention").set("all_shapes", all);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "window_lock_contention");
    REQUIRE(f != nullptr);
    CHECK((f->verdict.find("ranks waited in MPI_Win_") == 0) == (all > 2.6));
    CHECK((f->verdict.find(" for the lock that others held") != std::string::npos) == (all > 2.6));
  }
}

TEST_CASE("memory that is used once cannot be used again") {
  for (const int count : {2, 3}) {
    const scenario s = {"page_faults", [&](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "wait_at_nxn")
                              .set("count", count)
                              .set("lead", "one")
                              .set("excess", "faults")
                              .set("above_mean", 0.6)
                              .set("ranks", 4);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "page_faults");
    REQUIRE(f != nullptr);
    CHECK((f->verdict.find("because of page faults: using the same memory again") != std::string::npos) == (count == 3));
    CHECK((f->advice.find("MADV_HUGEPAGE") != std::string::npos) == (count == 2));
  }
}

namespace {

// Ranks work before they send, `indirect` of it because they had waited themselves.
rules::findings sent_after_work(double indirect, bool nonblocking) {
  const scenario s = {"send_after_work", [&](rules::event_store& store, rules::trouble&, bool) {
                        wait_fact(store, "late_sender")
                            .set("lead", "even")
                            .set("nonblocking", nonblocking)
                            .set("top", "compute_interior")
                            .set("top_kind", "region")
                            .set("earlier_share", 0.2)
                            .set("earlier_saving", 0.2)
                            .set("earlier_in_turn", 0.5)
                            .set("earlier_indirect", indirect)
                            .set("earlier_ranks", "ranks 0-3")
                            .set("earlier_sends", "MPI_Send (halo.cpp:131)");
                      }};
  return run(built_in(), s, false);
}

}  // namespace

TEST_CASE("messages that hand on waits probably depend on the work ahead of them, which can be sent in parts") {
  for (const double indirect : {0.2, 0.21, 0.5, 0.51}) {
    const rules::findings found = sent_after_work(indirect, false);
    const rules::finding* const f = sample::find(found.list, "send_after_work");
    REQUIRE((f != nullptr) == (indirect <= 0.5));
    if (f == nullptr) continue;
    CHECK((f->verdict.find("or after each part of it if the messages depend on it") != std::string::npos) == (indirect > 0.2));
    CHECK((f->advice.find(", else after each part of it") != std::string::npos) == (indirect > 0.2));
  }
}

TEST_CASE("nonblocking sends ahead of the work leave in calls of MPI_Test in it") {
  for (const bool nonblocking : {false, true}) {
    const rules::findings found = sent_after_work(0, nonblocking);
    const rules::finding* const f = sample::find(found.list, "send_after_work");
    REQUIRE(f != nullptr);
    CHECK((f->verdict.find("ahead of it and MPI_Test in it, if the") != std::string::npos) == nonblocking);
    CHECK((f->verdict.find("ahead of it, if the messages do not depend on it,") != std::string::npos) == !nonblocking);
    CHECK((f->advice.find(" and MPI_Test now and then in it, if the messages") != std::string::npos) == nonblocking);
  }
}

TEST_CASE("where ranks have further threads, each thread needs a processor") {
  for (const int locations : {4, 8}) {
    const scenario s = {"few_processors", [locations](rules::event_store& store, rules::trouble&, bool) {
                          rules::row_writer(store, "run")
                              .set("ranks", 4)
                              .set("locations", locations)
                              .set("duration", 10.0)
                              .set("location_time", 40.0)
                              .set("own_processors", 3.0);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "few_processors");
    REQUIRE(f != nullptr);
    CHECK((f->verdict.find("giving each thread one of its own") != std::string::npos) == (locations == 8));
    CHECK((f->advice.find("start no more threads than processors") != std::string::npos) == (locations == 8));
  }
}

TEST_CASE("a rank that is to join a collective call earlier needs its nonblocking form, not only MPI_Test") {
  for (const char* const call : {"MPI_Scatter", "MPI_Send", "MPI_Ssend", "MPI_Recv"}) {
    const scenario s = {"wait_for_progress", [&](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "wait_for_progress").set("operation_call", call).set("cause_site", 7);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "wait_for_progress");
    REQUIRE(f != nullptr);
    const bool collective = std::string(call) == "MPI_Scatter";
    CHECK((f->verdict.find(": its nonblocking form and MPI_Test there") != std::string::npos) == collective);
    CHECK((f->advice.find("start the nonblocking form of ") != std::string::npos) == collective);
  }
}

TEST_CASE("visits that take longer on the critical path are uneven work, not a pipeline, nor sent late") {
  for (const double longer : {0.4, 0.6}) {
    CAPTURE(longer);
    const scenario waves = {"", [longer](rules::event_store& s, rules::trouble&, bool) {
                              rules::row_writer w = late_in_turn(s, 0.6);
                              w.set("top_inherited", 1.6).set("indirect", 1.6).set("late_share", 0.4);
                              w.set("late_ranks_count", 3).set("longer_share", longer);
                            }};
    const rules::findings found = run(built_in(), waves, false);
    CHECK((sample::find(found.list, "serialised_pipeline") != nullptr) == (longer < 0.5));
    CHECK((sample::find(found.list, "slow_block") != nullptr) == (longer > 0.5));
  }
  for (const double saving : {0.29, 0.31}) {
    CAPTURE(saving);
    const scenario sends = {"", [saving](rules::event_store& s, rules::trouble&, bool) {
                              rules::row_writer w = late_in_turn(s, 0.6);
                              w.set("earlier_share", 0.1).set("earlier_saving", saving).set("earlier_in_turn", 0.8);
                              w.set("longer_share", 0.6);
                            }};
    CHECK((sample::find(run(built_in(), sends, false).list, "send_after_work") != nullptr) == (saving > 0.3));
    for (const double longer : {0.4, 0.6}) {  // MPI_Sendrecv itself cannot be called earlier by one rank alone
      const scenario both = {"", [saving, longer](rules::event_store& s, rules::trouble&, bool) {
                               rules::row_writer w = late_in_turn(s, 0.6);
                               w.set("earlier_share", 0.1).set("earlier_saving", saving).set("earlier_in_turn", 0.8);
                               w.set("longer_share", longer).set("operation_call", "MPI_Sendrecv");
                             }};
      const rules::findings found = run(built_in(), both, false);
      const rules::finding* const f = sample::find(found.list, "send_after_work");
      CHECK((f != nullptr) == (longer < 0.5));
      if (f == nullptr) continue;
      CHECK(f->verdict.find(": calling MPI_Isend instead of ") != std::string::npos);
      CHECK_FALSE(f->predicted);
    }
  }
}

TEST_CASE("ranks that are late in turn by less than the kernel took from them have no verdict") {
  for (const double noise : {0.5, 0.7}) {
    CAPTURE(noise);
    const scenario turns = {"slow_block", [noise](rules::event_store& s, rules::trouble&, bool) {
                              late_in_turn(s, 0.6).set("noise", noise).set("late_share", 0.4).set("late_ranks_count", 3);
                            }};
    const rules::findings found = run(built_in(), turns, false);
    const rules::finding* const f = sample::find(found.list, "slow_block");
    REQUIRE(f != nullptr);
    CHECK(f->verdict.empty() == (noise > 0.6));
    CHECK((f->advice.find("give each rank a processor of its own, or measure where nothing else runs") == 0) == (noise > 0.6));
  }
}

TEST_CASE("calls for files are given no nonblocking form that MPI does not have, and closing one makes nothing") {
  const auto said = [](const char* pattern, const char* call, bool blocks) {
    const scenario s = {pattern, [&](rules::event_store& store, rules::trouble&, bool) {
                          rules::row_writer w = wait_fact(store, pattern);
                          w.set("operation_call", call).set("operation", std::string(call) + " (out.cpp:7)");
                          if (!blocks) w.set("blocks", "").set("blocks_count", 0);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, pattern);
    return f != nullptr ? f->verdict + " / " + f->description + " / " + f->advice : std::string();
  };
  for (const bool blocks : {true, false}) {
    CHECK(said("wait_at_nxn", "MPI_File_sync", blocks).find("nonblocking") == std::string::npos);
    CHECK(said("wait_at_nxn", "MPI_File_write_at_all", blocks).find("the nonblocking form of MPI_File_write_at_all") !=
          std::string::npos);
    CHECK(said("wait_at_nxn", "MPI_Alltoall", blocks).find("the nonblocking form of MPI_Alltoall") != std::string::npos);
    CHECK(said("wait_at_create", "MPI_File_close", blocks).find(" once") == std::string::npos);
    CHECK(said("wait_at_create", "MPI_File_close", blocks).find("closes a file with all ranks") != std::string::npos);
    CHECK(said("wait_at_create", "MPI_File_open", blocks).find("opens a file with all ranks") != std::string::npos);
  }
  CHECK(said("wait_at_nxn", "MPI_File_sync", false).find("let all ranks come to MPI_File_sync (out.cpp:7) together") !=
        std::string::npos);
}

TEST_CASE(
    "ranks that wait for one that is late out of a call have that call as the cause, with what all shapes of the wait save") {
  for (const char* pattern : {"wait_at_nxn", "wait_at_barrier"}) {
    for (const double share : {0.9, 0.4}) {
      const scenario s = {pattern, [&](rules::event_store& store, rules::trouble&, bool) {
                            wait_fact(store, pattern)
                                .set("blocks", "")
                                .set("blocks_count", 0)
                                .set("top", "the time in MPI_File_sync (out.cpp:9)")
                                .set("top_kind", "call")
                                .set("top_share", share)
                                .set("avoidable", 0.8)
                                .set("all_shapes", 3.0);
                          }};
      const rules::findings found = run(built_in(), s, false);
      const rules::finding* const f = sample::find(found.list, pattern);
      REQUIRE(f != nullptr);
      const bool named =
          f->verdict.find(" because of the time in MPI_File_sync (out.cpp:9): making it shorter") != std::string::npos;
      CHECK(named == (share > 0.5));
      CHECK((f->advice.find("call it less often or on all ranks alike") == 0) == named);
      CHECK(f->saving == doctest::Approx(named ? 1.2 : 0.8));
    }
  }
}

TEST_CASE("a barrier of threads divides the work if each side waits for the other in another one") {
  const struct {
    const char *call, *late;
    double all_shapes, in_turn;
    bool divides;
  } cases[] = {
      {"omp barrier", "thread 0", 1.8, 0, true},          {"pthread_barrier_wait", "thread 0", 1.9, 0.09, true},
      {"omp barrier", "one another", 1.8, 0, false},  // both wait in it
      {"omp barrier", "thread 0", 3, 0, false},           {"omp barrier", "thread 0", 1.8, 0.2, false},
      {"end of omp parallel", "thread 0", 1.8, 0, false},
  };
  for (const auto& c : cases) {
    const scenario s = {"dividing_barrier", [&c](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "thread_barrier")
                              .set("operation_call", c.call)
                              .set("late_others", c.late)
                              .set("all_shapes", c.all_shapes)
                              .set("in_turn", c.in_turn)
                              .set("without_saving", 0.5)
                              .set("without_share", 0.05);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "dividing_barrier");
    CAPTURE(c.call);
    CAPTURE(c.late);
    REQUIRE((f != nullptr) == c.divides);
    if (f == nullptr) continue;
    CHECK(f->saving == doctest::Approx(0.5));
    CHECK(f->advice.find("(data that another thread wrote; a loop of OpenMP takes nowait): threads that are late") !=
          std::string::npos);
  }
}

TEST_CASE("threads that have no task left wait for the code of tasks, wherever they wait") {
  const struct {
    const char *pattern, *call, *cause;
    bool same_place;
    double saving;
  } cases[] = {
      {"thread_barrier", "end of omp parallel", "end of omp parallel", true, 1.5},  // all of its waits, whatever ended them
      {"latch", "omp taskwait", "end of omp task", true, 1.25},  // of omp taskloop
      {"latch", "omp taskwait", "end of omp task", false, 0},    // a task waits for its children, and may run no others
      {"latch", "omp taskwait", "omp task", false, 1.25},
  };
  for (const auto& c : cases) {
    const scenario s = {"large_tasks", [&c](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, c.pattern)
                              .set("operation_call", c.call)
                              .set("cause_call", c.cause)
                              .set("same_place", c.same_place)
                              .set("top", "the code between omp single (tree.cpp:14) and end of omp task (tree.cpp:32)")
                              .set("top_kind", "between")
                              .set("top_duration", 1.8)
                              .set("all_shapes", 2.0)
                              .set("all_causes", 3.0)
                              .set("most_divided", 5.0)
                              .set("threads", 2);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "large_tasks");
    CAPTURE(c.call);
    CAPTURE(c.cause);
    CHECK((f != nullptr ? f->saving : 0) == doctest::Approx(c.saving));
    CHECK(sample::find(found.list, "single_work") == nullptr);
  }
}

TEST_CASE("a rank that answers only between two polls is to poll more often") {
  for (const char* turns : {"MPI_Recv (a.cpp:1) and MPI_Iprobe (a.cpp:2)", "MPI_Recv (a.cpp:1) and MPI_Recv (a.cpp:2)"}) {
    const scenario s = {"no_overlap", [turns](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "late_sender").set("turns", turns).set("turns_saving", 0.5);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const rules::finding* const f = sample::find(found.list, "no_overlap");
    REQUIRE(f != nullptr);
    CHECK((f->advice.find("poll more often in that code") == 0) == (std::string(turns).find("Iprobe") != std::string::npos));
  }
}

TEST_CASE("making the code of threads shorter that others wait for saves at most what processors are idle") {
  for (const char* pattern : {"latch", "semaphore", "future", "condition_variable", "join"}) {
    for (const double idle : {0.0, 0.25, 0.75}) {
      const scenario s = {pattern, [&](rules::event_store& store, rules::trouble&, bool) {
                            wait_fact(store, pattern).set("most_divided", idle).set("avoidable", 0.5);
                          }};
      const rules::findings found = run(built_in(), s, false);
      const rules::finding* const f = sample::find(found.list, pattern);
      CAPTURE(pattern);
      REQUIRE(f != nullptr);
      CHECK(f->saving == doctest::Approx(idle == 0.25 ? 0.25 : 0.5));
    }
  }
}

TEST_CASE("one thread that has no tasks for the others yet runs code for all of them") {
  for (const char* to : {"omp task", "end of omp task"}) {
    const scenario s = {"single_work", [to](rules::event_store& store, rules::trouble&, bool) {
                          wait_fact(store, "latch")
                              .set("cause_call", "omp task")
                              .set("top",
                                   std::string("the code between omp taskwait (sort.cpp:14) and ") + to + " (sort.cpp:32)")
                              .set("top_kind", "between")
                              .set("top_duration", 0.5)
                              .set("all_shapes", 1.8)
                              .set("threads", 2);
                        }};
    const rules::findings found = run(built_in(), s, false);
    const bool combines = to == std::string("omp task");  // otherwise it runs a task, and all others have ended
    CHECK((sample::find(found.list, "single_work") != nullptr) == combines);
    CHECK((sample::find(found.list, "large_tasks") != nullptr) == !combines);
    const rules::finding* const f = sample::find(found.list, combines ? "single_work" : "large_tasks");
    REQUIRE(f != nullptr);
    CHECK(f->saving == doctest::Approx(0.9));
  }
}

TEST_CASE(
    "ranks that are late in turn are named together, and not for waits that are short beside what the block takes longer") {
  for (const double above_mean : {0.6, 7.0}) {
    const scenario turns = {"slow_block", [above_mean](rules::event_store& s, rules::trouble&, bool) {
                              late_in_turn(s, above_mean)
                                  .set("late_ranks", "rank 0 (62 %)")
                                  .set("late_share", 0.62)
                                  .set("waiting_ranks", "ranks 0 and 1")
                                  .set("late_ranks_count", 2);
                            }};
    const rules::findings found = run(built_in(), turns, false);
    const rules::finding* const f = sample::find(found.list, "slow_block");
    REQUIRE((f != nullptr) == (above_mean < 1));
    if (f != nullptr) CHECK(f->verdict.find("ranks 0 and 1 are late in turn") == 0);
  }
}
