// What recording costs, per operation. Each repetition times 400 batches of 4096 operations and reports the time
// of one operation in the median batch, and as counter `least` in the shortest: preemption hits a batch, not
// the result. Look at minimum and median over repetitions:
//
//   record --benchmark_repetitions=21 --benchmark_enable_random_interleaving=true
//          --benchmark_report_aggregates_only=true --benchmark_format=json
//
// `floor` is what any recorder with exact times pays: two clock readings and two 16-byte stores. `region` is
// WHYWAIT_REGION around nothing: at most 1.3 times the floor. `off` is a region with recording switched off.
#include <whywait/core/event_buffer.hpp>
#include <whywait/record.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;

constexpr int batch = 4096;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Operation, class After>
void run_batches(benchmark::State& state, Operation operation, After after_batch) {
  for (int i = 0; i < batch; ++i) operation();  // first visits, first touch
  std::vector<double> times(400);
  for (auto _ : state) {
    for (double& time : times) {
      after_batch();
      const double begin = seconds_now();
      for (int i = 0; i < batch; ++i) operation();
      time = (seconds_now() - begin) / batch;
    }
    std::sort(times.begin(), times.end());
    // Google Benchmark divides manual time by the number of threads; here each thread works for itself
    state.SetIterationTime(times[times.size() / 2] * state.threads());
    state.counters["least"] = benchmark::Counter(times.front() * 1e9, benchmark::Counter::kAvgThreads);
  }
}

template <class Operation>
void run_batches(benchmark::State& state, Operation operation) {
  run_batches(state, operation, [] {});
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

void measure(const char* name, void (*function)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, function)
      ->UseManualTime()
      ->Iterations(1)
      ->ComputeStatistics("min", least);
}

struct alignas(16) timed_event {
  std::uint64_t ticks;
  std::uint64_t id;
};

timed_event ring[4096];

void floor_cost(benchmark::State& state) {
  std::uint32_t at = 0;
  const auto store = [&at](std::uint64_t id) {
#if defined(__x86_64__)
    ring[at] = timed_event{__builtin_ia32_rdtsc(), id};
#else
    ring[at] = timed_event{core::cycle_clock::now(), id};
#endif
    at = (at + 1) & 4095;
    __asm__ volatile("" ::: "memory");  // the stores happen
  };
  run_batches(state, [&] {
    store(1);
    store(2);
  });
}

void region_cost(benchmark::State& state) {
  run_batches(state, [] { WHYWAIT_REGION("benchmark region"); });
}

void next_cost(benchmark::State& state) {
  static whywait::site first(whywait::site_kind::region, "first phase");
  static whywait::site second(whywait::site_kind::region, "second phase");
  whywait::region phases(first);
  run_batches(state, [&] { phases.next(second); });
}

void block_cost(benchmark::State& state) {
  run_batches(state, [] {
    WHYWAIT_BLOCK("benchmark block");
    __asm__ volatile("" ::: "memory");  // else the compiler adds once for the whole batch
  });
}

void work_cost(benchmark::State& state) {
  run_batches(state, [] {
    WHYWAIT_WORK(3);
    __asm__ volatile("" ::: "memory");
  });
}

void dynamic_region_cost(benchmark::State& state) {
  const char* name = "benchmark dynamic region";
  benchmark::DoNotOptimize(name);
  run_batches(state, [name] {
    whywait::begin(name, "benchmarks/record.cpp");
    whywait::end(name, "benchmarks/record.cpp");
  });
}

void off_cost(benchmark::State& state) {
  record::location* const mine = record::this_location();
  record::detail::here = record::detail::off();  // as WHYWAIT_ENABLE=0 leaves every thread
  run_batches(state, [] {
    WHYWAIT_REGION("benchmark off");
    __asm__ volatile("" ::: "memory");
  });
  record::detail::here = mine;
}

struct sum_up {
  std::uint64_t sum = 0;
  void operator()(const timed_event* first, std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) sum += first[i].id;
  }
};

void buffer_push_cost(benchmark::State& state) {
  core::memory_budget budget;
  budget.limit(1u << 20);
  core::event_buffer<timed_event> buffer;
  buffer.open(budget);
  std::uint64_t i = 0, sum = 0;
  run_batches(
      state,
      [&] {
        buffer.push(timed_event{i, i});
        ++i;
      },
      [&] { buffer.drain([&sum](const timed_event* first, std::uint64_t) { sum += first->id; }); });
  benchmark::DoNotOptimize(sum);
  if (buffer.dropped() != 0) state.SkipWithError("events were dropped: that is not what this measures");
  buffer.release();
}

void buffer_fold_cost(benchmark::State& state) {
  core::memory_budget budget;
  core::event_buffer<timed_event, core::fold<sum_up>> buffer;
  buffer.open(budget);
  std::uint64_t i = 0;
  run_batches(state, [&] {
    buffer.push(timed_event{i, i});
    ++i;
  });
  benchmark::DoNotOptimize(buffer.folded_into().sum);
  buffer.release();
}

void segment_cost(benchmark::State& state) {  // ten blocks between two synchronisations: per block
  record::path_recorder<core::cycle_clock> recorder;
  recorder.open(core::cycle_clock::now());
  std::uint64_t sum = 0;
  run_batches(state, [&] {
    for (std::uint32_t block = 10; block < 20; ++block) recorder.visit(block);
    recorder.close(core::cycle_clock::now(), [&sum](const core::path_step& step) { sum += step.visits; });
  });
  benchmark::DoNotOptimize(sum);
  recorder.release();
}

}  // namespace

int main(int argc, char** argv) {
  whywait::record::listen();
  measure("floor", floor_cost);
  measure("region", region_cost);
  measure("next", next_cost);
  measure("block", block_cost);
  measure("work", work_cost);
  measure("dynamic_region", dynamic_region_cost);
  measure("off", off_cost);
  measure("event_buffer_push", buffer_push_cost);
  measure("event_buffer_fold", buffer_fold_cost);
  measure("segment_of_10_blocks", segment_cost);
  benchmark::RegisterBenchmark("region_in_2_threads", region_cost)
      ->UseManualTime()
      ->Iterations(1)
      ->Threads(2)
      ->ComputeStatistics("min", least);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
