#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/thread_book.hpp>

#include "thread_simulation.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace thread_simulation;
using whywait::explain::pattern;
using whywait::explain::thread_book;

namespace {

std::uint64_t end_of_all(const whywait::base::pod_vector<core::location_history*>& locations) {
  std::uint64_t end = 0;
  for (const core::location_history* const l : locations)
    if (l->records.size() != 0)
      end = std::max(end, l->records[l->records.size() - 1].begin + l->records[l->records.size() - 1].duration);
  return end;
}

/// One process of threads, explained as one rank with many locations, or thread by thread.
struct explained {
  explained(core::rank_history history, bool as_ranks, bool clocks = false) : all(std::move(history)) {
    for (core::location_history& l : all.locations) locations.push_back(&l);
    book.reset(new thread_book(locations, 0, end_of_all(locations), thread_book::no_main));
    book->show();
    explain::options settings = histories::run::exact();
    settings.watch = &notes;
    if (clocks) settings.clocks = &whywait::clocks::virtual_clocks;
    whywait::base::vector<core::rank_history> ranks;
    if (as_ranks) ranks = explain::threads_as_ranks(all);
    else ranks.push_back(all);
    explain::simulated_transport transport(static_cast<std::int32_t>(ranks.size()));
    found = explain::explain(transport, ranks, settings);
  }

  core::rank_history all;
  whywait::base::pod_vector<core::location_history*> locations;
  std::unique_ptr<thread_book> book;
  notebook notes;
  explain::outcome found;
};

op compute(const std::string& block, ns length) { return {op::compute, 0, length, block}; }
op lock(int m) { return {op::lock, m}; }
op unlock(int m) { return {op::unlock, m}; }

// What a wait is explained by, block by block; the hand-over is what no block has.
profile terms_of(const explain::wait_instance& w, const std::vector<std::string>& blocks) {
  profile out;
  ns named = 0;
  for (const std::string& b : blocks)
    if (const ns t = total(w.terms, b)) out[b] = t, named += t;
  if (const ns rest = sum(w.terms) - named) out["(handed over)"] = rest;
  return out;
}

std::string text_of(const profile& p) {
  std::string out;
  for (const auto& [block, length] : p) out += block + " " + std::to_string(length) + " ";
  return out;
}

// Returns how many waits were compared block by block.
std::size_t check_against_truth(simulation& s, bool as_ranks, const std::vector<std::string>& blocks) {
  std::size_t exact = 0;
  const explained e(s.history(), as_ranks);
  std::map<std::tuple<int, ns, ns>, const true_part*> truth;
  for (const true_part& p : s.truth) truth[{p.thread, p.begin, p.length}] = &p;
  CHECK(e.notes.waits.size() == s.truth.size());
  for (const explain::wait_instance& w : e.notes.waits) {
    const int thread = as_ranks ? w.rank : static_cast<int>(w.location);
    const int causer = as_ranks ? w.causer_rank : static_cast<int>(w.causer_location);
    CAPTURE(thread);
    CAPTURE(w.begin_ns);
    CAPTURE(w.wait_ns);
    const auto known = truth.find({thread, w.begin_ns, w.wait_ns});
    REQUIRE(known != truth.end());
    const true_part& p = *known->second;
    CHECK(w.explained);
    CHECK(causer == p.causer);
    CHECK((w.why == pattern::mutex_contention) == (p.of_lock && w.why != pattern::condition_variable));
    CHECK(sum(w.terms) == w.wait_ns);
    if (!p.explained || w.trust != explain::quality::exact) continue;
    ++exact;
    CHECK(text_of(terms_of(w, blocks)) == text_of(*p.explained));
  }
  for (const explain::path_instance& p : e.notes.paths) {
    const int thread = as_ranks ? p.rank : static_cast<int>(p.location);
    for (const auto& [block, length] : s.path_of(thread)) {
      if (block == "(handed over)") continue;
      ns found = 0;
      for (const auto& t : p.entries)
        if (t.block == core::key_of(block.c_str())) found = t.causer_ns;
      CHECK(found == length);
    }
  }
  return exact;
}

}  // namespace

TEST_CASE("a wait in which a thread is at the end of the run is no work") {
  simulation s({{compute("a", 10)}, {compute("b", 3), lock(0), unlock(0)}}, 2, 0);
  REQUIRE(s.run());
  core::rank_history history = s.history();
  core::location_history& waiter = history.locations[1];
  const std::uint64_t records = waiter.records.size();
  waiter.open_wait = 5;
  waiter.open_call = core::mpi_call::sigwait;
  waiter.open_site = 0;
  whywait::base::pod_vector<core::location_history*> locations;
  for (core::location_history& l : history.locations) locations.push_back(&l);
  CHECK(thread_book::needed(locations));
  thread_book book(locations, 0, 12, thread_book::no_main);
  book.show();
  REQUIRE(waiter.records.size() == records + 1);
  const core::sync_record& last = waiter.records[records];
  CHECK(last.begin == 5);
  CHECK(last.duration == 7);
  CHECK(last.call == core::mpi_call::sigwait);
  CHECK_FALSE(last.has(core::thread_flag::caused));
  CHECK(last.steps == waiter.steps.size());
  CHECK(history.locations[0].records.size() == 0);
}

TEST_CASE("each holder of a lock gets the part of a wait in which it held it") {
  // docs/method.md 1.6: T1 holds from 0 to 5, T2 arrives at 2 and holds to 9, T3 arrives at 3.
  for (const bool as_ranks : {false, true}) {
    CAPTURE(as_ranks);
    simulation s({{lock(0), compute("a", 3), compute("b", 2), unlock(0)},
                  {compute("x", 2), lock(0), compute("c", 4), unlock(0)},
                  {compute("y", 3), lock(0), unlock(0)}},
                 3, 0);
    REQUIRE(s.run());
    const explained e(s.history(), as_ranks);
    ns of_second = 0, of_third[2] = {0, 0};
    for (const auto& w : e.notes.waits) {
      const int thread = as_ranks ? w.rank : static_cast<int>(w.location);
      const int causer = as_ranks ? w.causer_rank : static_cast<int>(w.causer_location);
      CHECK(w.why == pattern::mutex_contention);
      CHECK(w.trust == explain::quality::exact);
      if (thread == 1) {
        of_second += w.wait_ns;
        CHECK(total(w.terms, "a") == 1);
        CHECK(total(w.terms, "b") == 2);
      } else {
        of_third[causer] += w.wait_ns;
        CHECK(total(w.terms, causer == 0 ? "b" : "c") == w.wait_ns);
      }
    }
    CHECK(of_second == 3);
    CHECK(of_third[0] == 2);
    CHECK(of_third[1] == 4);
    check_against_truth(s, as_ranks, {"a", "b", "c", "x", "y"});
  }
}

TEST_CASE("a wait for many holders of a lock is divided among all of them") {
  // Thread t arrives at t and holds the lock for 100 + t: the last one waits for all others.
  constexpr int threads = 100;
  std::vector<program> programs;
  for (int t = 0; t != threads; ++t)
    programs.push_back({compute("before", 1 + t), lock(0), compute("held", 100 + t), unlock(0)});
  simulation s(programs, threads, 0);
  REQUIRE(s.run());
  const explained e(s.history(), true);
  std::map<int, ns> by_causer;
  for (const auto& w : e.notes.waits) {
    if (w.rank != threads - 1) continue;
    by_causer[w.causer_rank] += w.wait_ns;
    CHECK(total(w.terms, "held") == w.wait_ns);
  }
  CHECK(by_causer.size() == threads - 1);
  for (const auto& [causer, waited] : by_causer) CHECK(waited == (causer == 0 ? 100 - (threads - 1) : 100 + causer));
  check_against_truth(s, true, {"before", "held"});
}

TEST_CASE("a thread that waits while it holds a lock passes its cause on") {
  // T2 waits for T1 in a future while it holds the lock that T3 wants.
  simulation s({{compute("slow", 50), {op::set, 0}},
                {lock(0), compute("a", 5), {op::await, 0}, compute("b", 7), unlock(0)},
                {compute("y", 2), lock(0), unlock(0)}},
               3, 1);
  REQUIRE(s.run());
  const explained e(s.history(), false);
  REQUIRE(e.notes.waits.size() == 2);
  for (const auto& w : e.notes.waits)
    if (w.why == pattern::mutex_contention) {
      CHECK(w.location == 2);
      CHECK(w.wait_ns == 50 + 1 + 7 - 2);
      // all of T1's computation, less what T2 and T1 did until T3 came
      CHECK(total(w.terms, "slow") == 50);
      CHECK(total(w.terms, "b") == 7);
      CHECK(total(w.terms, "a") == -2);
      CHECK(sum(w.terms) == w.wait_ns);
    }
}

TEST_CASE("a thread whose location another thread still used when it was created has the whole path of its creator") {
  for (const bool as_ranks : {false, true}) {
    CAPTURE(as_ranks);
    rank_data data(0, 1);
    data.locations.resize(2);
    data.end_ns = 600;
    const auto caused_by = [](sync_record& r, std::size_t location, std::uint32_t record) {
      r.completed_by = static_cast<std::uint32_t>(location);
      r.completion = record;
      r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::caused);
    };
    data.call(mpi_call::omp_parallel, 10, 10);
    caused_by(data.call(mpi_call::thread_begin, 20, 20, "", 1), 0, data.last());
    data.call(mpi_call::omp_parallel_end, 250, 250);
    data.call(mpi_call::omp_parallel_end, 300, 300, "", 1);
    data.call(mpi_call::omp_parallel, 260, 260, "second");  // 40 ns before the last record of the thread that ends
    caused_by(data.call(mpi_call::thread_begin, 350, 350, "", 1), 0, data.last());
    data.call(mpi_call::omp_task_end, 500, 500, "", 1);
    caused_by(data.call(mpi_call::omp_taskwait, 270, 510), 1, data.last(1));
    data.call(mpi_call::omp_parallel_end, 520, 520);
    const explained e(data.view(1), as_ranks);
    CHECK(e.notes.waits.size() == 1);
    CHECK(e.notes.paths.size() == 2);
    for (const explain::path_instance& p : e.notes.paths) {
      ns all = 0;
      for (const auto& t : p.entries) all += t.causer_ns;
      CHECK(all == 600);
      CHECK(p.elapsed_ns == 600);
    }
  }
}

TEST_CASE("waits for threads are explained as by definition, in random programs") {
  const std::vector<std::string> blocks{"a", "b", "c", "d", "e"};
  int run = 0;
  std::size_t parts = 0, exact = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int threads = 2 + below(4);
    std::vector<program> programs(static_cast<std::size_t>(threads));
    const auto work = [&](program& p) {
      for (int n = below(3); n >= 0;
           --n) {  // one call of `below` after the other, so that all compilers make the same programs
        const int sevens = below(60), ones = below(5);
        p.push_back(compute(blocks[static_cast<std::size_t>(below(5))], 3 + 7 * sevens + ones));
      }
    };
    const int rounds = 2 + below(6);
    for (int round = 0; round != rounds; ++round) {
      const int kind = below(5);
      for (int t = 0; t != threads; ++t) {
        program& p = programs[static_cast<std::size_t>(t)];
        work(p);
        if (kind == 0) p.push_back({op::meet, 0});
        if (kind == 1 && t == 0) p.push_back({op::set, round});
        if (kind == 1 && t != 0) p.push_back({op::await, round});
        if (kind == 2) {
          p.push_back({t == 0 ? op::post : op::acquire, round});
          if (t == 0)
            for (int more = 2; more < threads; ++more) work(p), p.push_back({op::post, round});
        }
        for (int n = below(3); n >= 0; --n) {
          const int m = below(2);
          p.push_back(lock(m));
          work(p);
          const bool nested = m == 0 && below(3) == 0;
          if (nested) p.push_back(lock(1));
          if (nested) work(p);
          if (kind == 3 && !nested && t != 0 && below(2) == 0) p.push_back({op::wait_notified, m});
          if (kind == 3 && !nested && t == 0) p.push_back({below(2) == 0 ? op::notify_one : op::notify_all, m});
          if (nested) p.push_back(unlock(1));
          work(p);
          p.push_back(unlock(m));
        }
      }
    }
    // Whatever still waits for a notification gets one.
    for (int more = 0; more != 40; ++more) {
      programs[0].push_back(compute("e", 100));
      programs[0].push_back({op::notify_all, more % 2});
    }
    simulation s(programs, threads, 1 + below(3));
    if (!s.run()) continue;
    ++run;
    parts += s.truth.size();
    exact += check_against_truth(s, seed % 2 == 0, blocks);
  }
  CHECK(run > 150);
  CHECK(parts > 2000);
  CHECK(exact > 0.9 * static_cast<double>(parts));
  MESSAGE(parts << " parts, " << exact << " exact");
}
