// Measures models/ and whatif/ on one thread. Comments state the limits; the layered cases print their memory.
#include <whywait/models.hpp>
#include <whywait/whatif.hpp>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>
#include <vector>

namespace {

using namespace whywait::models;
using namespace whywait::whatif;

double most_megabytes() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) / 1024.0;
}

control_graph branches(int n, int length) {
  control_graph g;
  for (int i = 0; i != n; ++i)
    for (int k = 0; k != length; ++k) {
      auto name = [&](int at) { return "t" + std::to_string(i) + "_" + std::to_string(at); };
      g.add(name(k), k + 1 < length ? name(k + 1) : "", k > 0 ? name(k - 1) : "");
    }
  return g;
}

control_graph wavefront(int n) {
  control_graph g;
  auto name = [](int i, int j) { return "w" + std::to_string(i) + "_" + std::to_string(j); };
  for (int i = 0; i != n; ++i)
    for (int j = 0; j != n; ++j) {
      std::string e = i + 1 < n ? name(i + 1, j) : "", d = i > 0 ? name(i - 1, j) : "";
      if (j + 1 < n) e += (e.empty() ? "" : ".") + name(i, j + 1);
      if (j > 0) d += (d.empty() ? "" : ".") + name(i, j - 1);
      g.add(name(i, j), e, d);
    }
  return g;
}

environment private_servers() { return {machine::servers_for_all({1.0}), {}}; }

// 20 tasks of different means, 1,048,575 states: under 1.2 s and 20 MB
void layered_fork_join_20(benchmark::State& state) {
  control_graph g;
  std::vector<double> mean;
  for (int i = 0; i != 20; ++i) {
    g.add("f" + std::to_string(i), "", "", "c" + std::to_string(i));
    mean.push_back(1.0 + 0.25 * i);
  }
  const program p = compile(g);
  const environment e{machine::servers_for_all(mean), {}};
  solution s;
  for (auto _ : state) benchmark::DoNotOptimize(s = solve_layered(p, e));
  state.counters["states"] = static_cast<double>(s.states);
  state.counters["MB_of_process"] = most_megabytes();
}

// 12 branches of two tasks, 531,440 states, generated, stored and solved: under 2 s
void stored_fork_join_12x2(benchmark::State& state) {
  const program p = compile(branches(12, 2));
  solution s;
  for (auto _ : state) benchmark::DoNotOptimize(s = solve(generate(p), private_servers()));
  state.counters["states"] = static_cast<double>(s.states);
  state.counters["MB_of_process"] = most_megabytes();
}

void lump_fork_join_12x2(benchmark::State& state) {
  const chain c = generate(compile(branches(12, 2)));
  partition q;
  for (auto _ : state) benchmark::DoNotOptimize(q = find_equivalent_states(c));
  state.counters["blocks"] = q.blocks;
}

// 10 x 10 wavefront, 184,755 states: under 0.5 s
void layered_wavefront_10(benchmark::State& state) {
  const program p = compile(wavefront(10));
  solution s;
  for (auto _ : state) benchmark::DoNotOptimize(s = solve_layered(p, private_servers()));
  state.counters["states"] = static_cast<double>(s.states);
}

void stored_wavefront_10(benchmark::State& state) {
  const program p = compile(wavefront(10));
  for (auto _ : state) benchmark::DoNotOptimize(solve(generate(p), private_servers()).mean);
}

// 1,000 tasks by the algebra: under 10 ms
void segments_of_1000_tasks(benchmark::State& state) {
  std::vector<composition> steps;
  for (int i = 0; i != 100; ++i) {
    std::vector<composition> all;
    for (int j = 0; j != 10; ++j) all.push_back(composition::task(1.0 + 0.1 * j + 0.01 * i, 0.3));
    steps.push_back(composition::together(all));
  }
  const composition c = composition::sequence(steps);
  const machine m = machine::table({1, 2, 3, 4});
  for (auto _ : state) benchmark::DoNotOptimize(segment_of(c, m).mean);
}

void segments_1000_wide(benchmark::State& state) {
  const composition c = composition::together(std::vector<composition>(1000, composition::task(1.0, 0.3)));
  const machine m = machine::servers_for_all({1.0});
  for (auto _ : state) benchmark::DoNotOptimize(segment_of(c, m).mean);
}

// services per second of the detailed simulation: at least 5,000,000
void simulate_detailed(benchmark::State& state) {
  const program p = compile(control_graph().add("a", "b.c").add("b", "d", "a").add("c", "d", "a").add("d", "", "b.c"));
  detailed_machine m;
  m.stations = {{server_group::discipline::first_come, 1, "bus"}, {server_group::discipline::first_come, 2, "pool"}};
  m.tasks = {{{{0, {0.1}, 1.0, false}}, {{1, {1.0}, 1.0, false}}, {{0, {0.1}, 1.0, false}}}};
  simulation_options o;
  o.runs = 20000;
  std::uint64_t events = 0;
  for (auto _ : state) events += simulate(p, m, o).events;
  state.counters["services"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void simulate_token_game(benchmark::State& state) {
  const program p = compile(wavefront(4));
  simulation_options o;
  o.runs = 5000;
  std::uint64_t events = 0;
  for (auto _ : state) events += simulate_reduced(p, private_servers(), o).events;
  state.counters["completions"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void network_50_queues_population_2000(benchmark::State& state) {
  network n;
  for (int i = 1; i <= 50; ++i) n.add({}, {0.01 * i});
  for (auto _ : state) benchmark::DoNotOptimize(throughput(n, 2000).back());
}

void ask_8_ranks_1000_steps(benchmark::State& state) {
  run_log log;
  const std::uint32_t step = log.label("step"), sync = log.label("MPI_Barrier");
  for (std::uint32_t i = 0; i != 1000; ++i) {
    sync_edge s{sync, {}, {}, 0.01};
    for (std::uint32_t r = 0; r != 8; ++r) {
      const place p = log.add(r, {step, 1.0 + 0.1 * ((i * 7 + r * 3) % 11), 0.0});
      s.in.push_back(p);
      s.out.push_back(p);
    }
    log.syncs.push_back(s);
  }
  for (auto _ : state) benchmark::DoNotOptimize(ask(log, {question()}).front().seconds);
}

/// Calls as traced on two ranks. There are steps of work, messages between the ranks and a barrier every hundred calls.
whywait::base::vector<traced_line> traced(std::size_t calls_a_rank) {
  whywait::base::vector<traced_line> lines(2);
  for (std::int32_t r = 0; r != 2; ++r) {
    traced_line& l = lines[static_cast<std::size_t>(r)];
    l.rank = r;
    std::int64_t now = 0;
    std::uint32_t posting = 0;
    for (std::size_t i = 0; i != calls_a_rank; ++i) {
      traced_call c;
      const bool barrier = i % 100 == 99, sends = (i % 2 == 0) == (r == 0);
      now += 1000 + static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(r) * 13) % 11) * 100;
      c.enter_ns = now;
      now = c.leave_ns = (static_cast<std::int64_t>(i) + 1) * 3000;
      c.site = barrier ? 3 : sends ? 1 : 2;
      c.communicator = 77;
      c.members = 2;
      c.comm_rank = r;
      c.first_block = static_cast<std::uint32_t>(l.blocks.size());
      c.blocks = 1;
      l.blocks.push_back({9, 1e-6});
      using whywait::core::mpi_call;
      c.call = barrier ? mpi_call::Barrier : sends ? mpi_call::Send : mpi_call::Recv;
      if (!barrier) {
        c.bytes = 100;
        c.peer = 1 - r;
        c.posting = ++posting;
        c.completion = static_cast<std::uint32_t>(i);
        c.flags = whywait::core::sync_flag::complete |
                  (sends ? whywait::core::sync_flag::posts_send : whywait::core::sync_flag::posts_receive);
      }
      l.calls.push_back(c);
    }
    l.end_ns = now;
  }
  return lines;
}

// a million records of each of two ranks; builds the log and answers three questions
void ask_2_ranks_1000000_records(benchmark::State& state) {
  const whywait::base::vector<question> questions = parse_questions("block compute x2; balance; network x2");
  double seconds = 0.0;
  for (auto _ : state) {
    state.PauseTiming();
    whywait::base::vector<traced_line> lines = traced(1000000);
    state.ResumeTiming();
    const run_log log = join(std::move(lines), [](whywait::core::stable_key k) {
      return k == 9 ? std::string("compute") : "call " + std::to_string(k);
    });
    for (const answer& a : ask(log, questions)) seconds += a.seconds;
  }
  state.counters["answers_seconds"] = seconds;
  state.counters["MB_of_process"] = most_megabytes();
}

}  // namespace

BENCHMARK(layered_fork_join_20)->Unit(benchmark::kMillisecond);
BENCHMARK(layered_wavefront_10)->Unit(benchmark::kMillisecond);
BENCHMARK(stored_wavefront_10)->Unit(benchmark::kMillisecond);
BENCHMARK(stored_fork_join_12x2)->Unit(benchmark::kMillisecond);
BENCHMARK(lump_fork_join_12x2)->Unit(benchmark::kMillisecond);
BENCHMARK(segments_of_1000_tasks)->Unit(benchmark::kMicrosecond);
BENCHMARK(segments_1000_wide)->Unit(benchmark::kMicrosecond);
BENCHMARK(simulate_detailed)->Unit(benchmark::kMillisecond);
BENCHMARK(simulate_token_game)->Unit(benchmark::kMillisecond);
BENCHMARK(network_50_queues_population_2000)->Unit(benchmark::kMicrosecond);
BENCHMARK(ask_8_ranks_1000_steps)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_2_ranks_1000000_records)->Unit(benchmark::kMillisecond)->Iterations(1);
