// What recording costs, per operation: plain loops, so the time of a row is that of one operation. The machine is
// never quiet: many short repetitions in random order, and of them the minimum and the median:
//
//   bench_record --benchmark_report_aggregates_only=true --benchmark_format=json
//
// which means --benchmark_repetitions=101 --benchmark_min_time=0.01 --benchmark_enable_random_interleaving=true
// unless said otherwise. Read `floor_min`, `region_min`, `floor_median`, ...
//
// `floor` is what any recorder with exact times pays: two clock readings and two 16-byte stores. `region` is
// WHYWAIT_REGION around nothing: at most 1.3 times the floor. `off` is a region with recording switched off.
#include <whywait/core/event_buffer.hpp>
#include <whywait/record.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;

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
  for (auto _ : state) {
    store(1);
    store(2);
  }
}

void region_cost(benchmark::State& state) {
  for (auto _ : state) {
    WHYWAIT_REGION("benchmark region");
  }
}

void next_cost(benchmark::State& state) {
  WHYWAIT_REGION("first phase");
  while (state.KeepRunningBatch(2)) {
    WHYWAIT_NEXT("second phase");
    WHYWAIT_NEXT("third phase");
  }
}

void block_cost(benchmark::State& state) {
  for (auto _ : state) {
    WHYWAIT_BLOCK("benchmark block");
    __asm__ volatile("" ::: "memory");  // else the compiler adds once for all iterations
  }
}

void work_cost(benchmark::State& state) {
  for (auto _ : state) {
    WHYWAIT_WORK(3);
    __asm__ volatile("" ::: "memory");
  }
}

void dynamic_region_cost(benchmark::State& state) {
  const char* name = "benchmark dynamic region";
  benchmark::DoNotOptimize(name);
  for (auto _ : state) {
    whywait::begin(name, "benchmarks/record.cpp");
    whywait::end(name, "benchmarks/record.cpp");
  }
}

void off_cost(benchmark::State& state) {
  record::location* const mine = record::this_location();
  record::detail::here = record::detail::off();  // as WHYWAIT_ENABLE=0 leaves every thread
  for (auto _ : state) {
    WHYWAIT_REGION("benchmark off");
    __asm__ volatile("" ::: "memory");
  }
  record::detail::here = mine;
}

struct sum_up {
  std::uint64_t sum = 0;
  void operator()(const timed_event* first, std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) sum += first[i].id;
  }
};

void buffer_fold_cost(benchmark::State& state) {
  core::memory_budget budget;
  core::event_buffer<timed_event, core::fold<sum_up>> buffer;
  buffer.open(budget);
  std::uint64_t i = 0;
  for (auto _ : state) {
    buffer.push(timed_event{i, i});
    ++i;
  }
  benchmark::DoNotOptimize(buffer.folded_into().sum);
  buffer.release();
}

// 16 MiB of it, written again and again, so neither the kernel nor a nearer cache helps or hinders.
void buffer_push_cost(benchmark::State& state) {
  static core::memory_budget budget;
  static core::event_buffer<timed_event, core::overwrite_oldest> buffer;
  budget.limit(16u << 20);
  if (buffer.size() == 0 && buffer.open(budget))
    for (std::uint64_t i = 0; i < (1u << 21); ++i) buffer.push(timed_event{i, i});
  std::uint64_t i = 0;
  for (auto _ : state) {
    buffer.push(timed_event{i, i});
    ++i;
  }
  if (buffer.dropped() != 0) state.SkipWithError("events were dropped: that is not what this measures");
}

void segment_cost(benchmark::State& state) {  // ten blocks between two synchronisations
  void* const pages = core::map_pages(sizeof(record::path_recorder), false);
  record::path_recorder& recorder = *new (pages) record::path_recorder;
  recorder.open(core::cycle_clock::now());
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::uint32_t block = 10; block < 20; ++block) recorder.visit(block);
    recorder.close(core::cycle_clock::now(), [&sum](const core::path_step& step) { sum += step.visits; });
  }
  benchmark::DoNotOptimize(sum);
  core::unmap_pages(pages, sizeof(record::path_recorder));
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

void measure(const char* name, void (*function)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, function)->Iterations(2000)->UseRealTime()->ComputeStatistics("min", least);
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
  // later flags win, so these are what holds when nothing is said
  char repetitions[] = "--benchmark_repetitions=2001",
       order[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> flags{argv[0], repetitions, order};
  flags.insert(flags.end(), argv + 1, argv + argc);
  int count = static_cast<int>(flags.size());
  flags.push_back(nullptr);
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
