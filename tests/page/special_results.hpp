#ifndef WHYWAIT_TESTS_PAGE_SPECIAL_RESULTS_HPP
#define WHYWAIT_TESTS_PAGE_SPECIAL_RESULTS_HPP

// Results that are hard to show, written by hand.
#include <whywait/data/report/communication_section.hpp>
#include <whywait/report/model.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace page_test {

using namespace whywait;

/// Text that a browser must show as it is: markup, quotes, entities, controls, bytes that are not UTF-8, direction marks.
inline const char* const hostile =
    "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> \"'`&amp;&lt; <!-- --> "
    "]]> "
    "\xe2\x80\xae\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \x01\x1b[31m\x7f\xff\xc3 {{main}} \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\xa2 "
    "end";

inline base::place call_at(const std::string& call, const std::string& region, const std::string& file, int line) {
  base::place p;
  p.call = call;
  p.region = region;
  p.file = file;
  p.line = line;
  p.module = "app";
  p.offset = 0x1000u + static_cast<unsigned>(line);
  return p;
}

inline reports::residual_entry block(const std::string& name, double more, std::int64_t late, std::int64_t waiting) {
  reports::residual_entry r;
  r.kind = "region";
  r.block = name;
  r.where.name = name;
  r.where.file = "src/app.cpp";
  r.where.line = 10;
  r.total_ns = r.speed_ns = static_cast<std::int64_t>(more * 1e9);
  r.causer_visits = late;
  r.waiter_visits = waiting;
  r.waiter_ns = 1000000000;
  r.causer_ns = r.waiter_ns + r.total_ns;
  return r;
}

inline reports::wait_entry wait_at(std::size_t number, double seconds, const std::string& name) {
  static const char* const patterns[] = {"late_sender", "wait_at_nxn",      "wait_at_barrier",
                                         "late_post",   "mutex_contention", "wait_at_finalize"};
  reports::wait_entry w;
  w.pattern = patterns[number % 6];
  w.seconds = seconds;
  w.longest_seconds = seconds / 4;
  w.count = 10;
  w.operation = call_at("MPI_Wait", name, "src/app.cpp", static_cast<int>(number % 97 + 1));
  w.cause = call_at("MPI_Isend", name, "src/app.cpp", static_cast<int>(number + 1));
  w.residual.push_back(block(name, seconds * 0.75, 20, 20));
  w.residual.push_back(block("missing " + name, seconds * 0.25, 10, 0));
  w.residual.back().waiter_ns = 0;
  w.residual.back().causer_ns = w.residual.back().visits_ns = w.residual.back().total_ns;
  w.residual.back().speed_ns = 0;
  w.waiters.push_back({1, 0, seconds});
  w.causers.push_back({0, 0, seconds});
  return w;
}

inline reports::result small_run(std::int64_t ranks = 4) {
  reports::result r;
  r.run.ranks = r.run.locations = ranks;
  r.run.seconds = 10;
  r.run.location_seconds = 10 * static_cast<double>(ranks);
  r.run.mpi = "simulated";
  r.run.mpi_calls = 1000;
  r.run.clock = "simulated";
  return r;
}

inline void add_wait(reports::result& r, reports::wait_entry w) {
  r.run.waiting_seconds += w.seconds;
  r.waits.push_back(std::move(w));
}

/// Regions, messages and ranks of a run, with the names that it is given.
inline void add_figures(reports::result& r, std::int64_t ranks, const std::string& name = "advect") {
  r.run.origin.program = "/somewhere/" + name;
  r.run.origin.arguments.push_back(name);
  r.run.origin.date = "2026-11-24T15:04:05+01:00";
  reports::profile& p = r.profile;
  p.hosts.push_back(name);
  for (std::int64_t i = 0; i != ranks; ++i)
    p.ranks.push_back({0, 0.123456789 + 1e-9 * static_cast<double>(i % 997), 0.0123456789, 0.00123456789});
  for (int i = 0; i != 14; ++i) {
    reports::region_entry e;
    e.where.name = name;
    e.where.kind = "region";
    e.where.file = name + ".cpp";
    e.where.line = i + 1;
    e.visits = 100 * ranks;
    e.ranks = ranks;
    e.min_seconds = 0.5 / (1 + i);
    e.max_seconds = 2.0 / (1 + i);
    e.seconds = 1.0 / (1 + i) * static_cast<double>(ranks);
    e.mpi_seconds = e.seconds / 8;
    e.recursive = i == 2;
    e.threads = i == 3 ? 4 : 1;
    if (i < 2) e.efficiency = reports::region_efficiency{0.4375, 0.5, 0.875};
    p.regions.push_back(e);
  }
  p.omitted_regions = 3;
  static const char* const kinds[] = {"send", "receive", "collective", "transfer"};
  for (const char* const kind : kinds) {
    reports::traffic_entry t;
    t.where = call_at("MPI_Call", name, name + ".cpp", 7);
    t.operation = kind;
    t.peers = "node";
    t.ranks = ranks;
    t.count = 10 * ranks;
    t.least_bytes = 8;
    t.most_bytes = kind == kinds[0] ? 8 : 1048576;
    t.bytes = t.count * t.least_bytes;
    t.seconds = 0.0625;
    p.messages.push_back(t);
  }
}

/// All names are hostile.
inline reports::result hostile_names() {
  const std::string name = hostile;
  reports::result r = small_run();
  reports::wait_entry w = wait_at(0, 3, name);
  w.operation = call_at(name, name, name, 7);
  w.cause = call_at(name, name, name, 8);
  w.cause.caller = name;
  w.quality = "bounded";
  w.residual[0].within = name;
  w.advice.push_back({name, name, 1, name, 2, false, {name}});
  reports::picture shown;
  shown.waiter = {1, 0, 1};
  shown.causer = {0, 0, 2};
  reports::picture_row row;
  row.kind = "region";
  row.name = name;
  row.where.file = name;
  row.where.line = 3;
  row.causer = reports::picture_cell{};
  shown.rows.push_back(row);
  w.longest = shown;
  add_wait(r, w);
  r.problems.push_back({name, name, 0.5, name, 1, true, {name}});
  reports::verdict_entry v;
  v.claim = name;
  v.problem = name;
  v.saving_seconds = 2;
  r.verdict.push_back(v);
  r.run.mpi = r.run.clock = name;
  r.run.warnings.push_back(name);
  r.run.settings.emplace_back("WHYWAIT_OUTPUT", name);
  r.ledger.seconds = 10;
  reports::critical_entry c;
  static_cast<reports::named_block&>(c) = w.residual[0];
  c.seconds = 10;
  r.ledger.critical_path.push_back(c);
  r.not_understood.calls.push_back({w.operation, 3, 0.1, 0});
  reports::speed_entry s;
  static_cast<reports::named_block&>(s) = w.residual[0];
  for (const double f : {0.0, 0.25, 0.5, 0.75}) s.answers.push_back({f, 6 + 4 * f, 4 - 4 * f});
  r.maps.speeds.push_back(s);
  data::communication shared;
  data::sharing_entry e;
  e.data = e.advice = name;
  e.pattern = name;
  e.who = "thread";
  e.granules = e.granules_watched = e.granules_of_array = 1;
  e.misses = 3;
  e.nodes.push_back({});
  for (int n = 0; n != 3; ++n) e.nodes.push_back({name, name, {name, name}, {0}, {1}});
  e.transitions = {{0, 1, 1, 1.0}, {1, 2, 3, 0.75}, {1, 1, 1, 0.25}, {2, 3, 2, 1.0}, {3, 1, 2, 1.0}};
  shared.sharing.push_back(e);
  data::communication_class k;
  k.data = k.region = k.why = name;
  k.from = w.cause;
  k.to = w.operation;
  k.count = 4;
  k.bytes = 4096;
  k.problems.push_back({name, name, name, 1, 2, 3, 4, 0.5});
  shared.classes.push_back(k);
  data::array_placement a;
  a.data = a.distribution = name;
  data::loop_use u;
  u.loop.name = u.schedule = u.access = name;
  u.remote_share = 0.25;
  u.better = data::placement_advice{"schedule", name, name, 0, 0, 0, name};
  a.uses.push_back(u);
  shared.arrays.push_back(a);
  r.communication = std::make_shared<data::communication_section>(shared);
  reports::thread_end end;
  end.end = end.whom = end.regions = name;
  r.last_words.push_back(end);
  r.run.partial = true;
  r.run.locations = r.run.ranks;
  add_figures(r, r.run.ranks, name);
  r.ledger.efficiency = {0.5, 0.8, 0.625, 0.9, 0.8, 0, 0, 0, 0};
  r.ledger.efficiency.files = 0.868;
  r.files.seconds = r.other_worlds.seconds = 4;
  r.files.calls.push_back({w.operation, 4, 1, 0});
  r.other_worlds.calls.push_back({w.cause, 4, 1, 0});
  return r;
}

/// 500 kinds of waits, from long to short.
inline reports::result many_kinds() {
  reports::result r = small_run(64);
  for (std::size_t i = 0; i != 500; ++i) {
    reports::wait_entry w = wait_at(i, 60.0 / static_cast<double>(1 + i), "region_" + std::to_string(i % 23));
    w.advice.push_back({"late_sender",
                        "call MPI_Isend (app.cpp:" + std::to_string(i + 1) + ") earlier",
                        w.seconds / 64,
                        "It is late.",
                        w.seconds,
                        false,
                        {}});
    add_wait(r, std::move(w));
  }
  r.maps.links = {{3, 0, 5, 4.0}, {8, 3, 5, 2.0}, {0, 0, 7, 1.5}};
  return r;
}

inline std::vector<std::pair<std::string, reports::result>> special_results() {
  std::vector<std::pair<std::string, reports::result>> all;
  all.emplace_back("hostile", hostile_names());
  all.emplace_back("many", many_kinds());
  all.emplace_back("quiet", small_run());
  all.back().second.ledger.seconds = 10;
  all.back().second.ledger.efficiency = {0.97, 0.98, 0.99, 0.995, 0.995, 0, 0, 0, 0};
  all.emplace_back("one", small_run(1));
  reports::result killed = small_run();
  killed.run.partial = true;
  killed.run.waiting_seconds = 0;
  for (int rank = 0; rank != 4; ++rank) {
    reports::thread_end e;
    e.rank = rank;
    e.pid = 1000 + rank;
    e.end = rank == 2 ? "SIGKILL" : "ended with the job";
    e.seconds = 3.5;
    e.regions = "time_loop/solve";
    if (rank != 2) {
      e.inside = true;
      e.call = call_at("MPI_Barrier", "time_loop", "src/app.cpp", 33);
      e.whom = "rank 2";
    }
    killed.last_words.push_back(e);
  }
  all.emplace_back("killed", killed);
  all.emplace_back("nothing", reports::result{});
  return all;
}

}  // namespace page_test

#endif
