#ifndef WHYWAIT_TESTS_UNIT_REPORT_SAMPLE_HPP
#define WHYWAIT_TESTS_UNIT_REPORT_SAMPLE_HPP

#include <whywait/base/vector.hpp>
#include <whywait/report/assemble.hpp>

#include <cstdint>
#include <string>
#include <utility>

// Hand-written outcomes for the tests of the report. The main one is the example of the documentation.
namespace sample {

namespace base = whywait::base;
namespace reports = whywait::reports;
namespace explain = whywait::explain;
namespace core = whywait::core;

constexpr std::int64_t second = 1000000000;

inline base::place call(const char* name, const char* region, const char* file, int line) {
  base::place p;
  p.call = name;
  p.region = region;
  p.file = file;
  p.line = line;
  p.function = "app::exchange(halo&)";
  p.module = "app";
  p.offset = 0x1234;
  return p;
}

inline base::place block(const char* name, const char* region, const char* file, int line, const char* kind = "region") {
  base::place p;
  p.name = name;
  p.kind = kind;
  p.region = region;
  p.file = file;
  p.line = line;
  return p;
}

enum key : core::stable_key { recv = 1, send, compute, pack, barrier, allreduce, update, waitall, between_key, step, call_key };

inline base::names names() {
  base::names out;
  out.add(recv, call("MPI_Recv", "main/exchange", "src/halo.cpp", 142));
  out.add(send, call("MPI_Send", "main/exchange", "src/halo.cpp", 131));
  out.add(compute, block("compute_interior", "main/compute_interior", "src/halo.cpp", 88));
  out.add(pack, block("pack_halo", "main/exchange/pack_halo", "src/halo.cpp", 60));
  out.add(update, block("update", "main/update", "src/step.cpp", 7));
  out.add(step, block("refine", "main/compute_interior/refine", "src/halo.cpp", 90, "step"));
  out.add(barrier, call("MPI_Barrier", "main", "src/main.cpp", 30));
  out.add(allreduce, call("MPI_Allreduce", "main/norm", "src/main.cpp", 44));
  out.add(waitall, call("MPI_Waitall", "main/step", "src/halo.cpp", 20));
  return out;
}

inline reports::run_facts facts(std::int64_t ranks = 8) {
  reports::run_facts f;
  f.ranks = ranks;
  f.mpi = "Open MPI v4.1.4";
  f.mpi_calls = 12345;
  f.clock = "tsc";
  f.clock_error_seconds = 1e-6;
  f.settings = {{"WHYWAIT_OUTPUT", "run"}};
  return f;
}

inline explain::residual_term term(core::stable_key block, std::int64_t visits_ns, std::int64_t speed_ns, std::int64_t late = 0,
                                   std::int64_t waiting = 0) {
  explain::residual_term t;
  t.block = block;
  t.total_ns = visits_ns + speed_ns;
  t.visits_ns = visits_ns;
  t.speed_ns = speed_ns;
  t.causer_visits = late;
  t.waiter_visits = waiting;
  return t;
}

/// The main example. Seven ranks wait 18.9 s for rank 0, mostly because its compute_interior is slower.
inline explain::explanation late_sender() {
  explain::explanation e;
  e.why = explain::pattern::late_sender;
  e.operation = recv;
  e.cause = send;
  e.count = 1400;
  e.wait_ns = 18900000000;
  e.longest_ns = 95000000;
  e.indirect_ns = 1000000000;
  e.unexplained_ns = 200000000;
  e.residual = {term(compute, 0, 17200000000, 9000, 9000), term(pack, 1500000000, 0, 2600, 1400)};
  e.residual[0].inherited_ns = 1000000000;
  e.residual[0].causer_ns = 30000000000;
  e.residual[0].waiter_ns = 12800000000;
  for (std::int32_t rank = 1; rank < 8; ++rank) e.waiters.push_back({rank, 0, 2700000000});
  e.causers = {{0, 0, 18900000000}};
  return e;
}

inline explain::outcome outcome(whywait::base::vector<explain::explanation> waits, std::int64_t locations = 8,
                                std::int64_t longest_ns = 12400000000) {
  explain::outcome o;
  o.locations = locations;
  o.longest_ns = longest_ns;
  o.location_ns = locations * longest_ns;
  for (const explain::explanation& e : waits) o.waiting_ns += e.wait_ns;
  o.waits = std::move(waits);
  return o;
}

/// The virtual clocks of the main example. With compute_interior twice as fast the run is 4.2 s shorter.
inline void with_ledger(explain::outcome& o) {
  o.total_ns = 12400000000;
  o.without_overhead.total_ns = 12 * second;
  o.without_overhead.waiting_ns = o.waiting_ns - second;
  o.without_overhead.overhead_ns = 900000000;
  o.without_overhead.bound_ns = 500000000;
  o.without_overhead.error_ns = 20000000;
  o.without_overhead.calibrated = true;
  o.efficiency = {0.6, 0.75, 0.8, 0.889, 0.9, 0, 0};
  o.critical_path = {{compute, 9 * second, 2 * second, 9000}, {pack, 3 * second, 0, 2600}, {call_key, 400000000, 0, 7}};
  o.meanings.push_back({call_key, explain::block_kind::call, allreduce, 0});
  o.costs.blocks = {{compute, 12 * second, 2 * second}, {pack, second, 0}};
  o.costs.direct_ns = 13 * second;
  o.costs.indirect_ns = 2 * second;
  o.costs.propagating_ns = 5 * second;
  o.costs.terminal_ns = 10 * second;
  o.savings.resize(2);
  o.savings[0] = {{{{compute, 0.5}}}, 8200000000, 4200000000};
  o.savings[1] = {{{{pack, 0.5}}}, 12400000000, 0};
  for (explain::explanation& e : o.waits) {
    e.compensated_ns = e.wait_ns - second;
    e.compensated_trust = explain::quality::bounded;
  }
}

/// The report with the results of the built-in rules and `more`, as in a run. Defined in advice.cpp.
reports::result reported(const explain::outcome& found, const base::names& known, reports::run_facts f,
                         const std::string& more = {});

}  // namespace sample

#endif
