// Measures the explanation of synthetic runs over the simulated transport, with all ranks in one thread, in records per
// second of all ranks together. Generation happens once and is not measured.
//
// explain_stencil and explain_tree measure the scaling with the number of ranks, at 100 records per rank. Names that
// end in /1 include the virtual clocks. `records_per_s` is from the fastest run. `exponent` is computed from its
// processor time relative to the smallest size, and `operations_exponent` from the number of basic blocks that the
// engine executed (parts/explain_operations.cpp). n log n would give 1.13 to 1.15 here; any excess of the former over
// the latter is due to memory. `bytes_per_rank` is the growth of the process during the explanation. Sizes up to 4096
// ranks run once; WHYWAIT_BENCH_RANKS=65536 adds larger ones (5 GB) and runs each three times.
#include "parts/explain_programs.hpp"

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <benchmark/benchmark.h>

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

std::uint64_t basic_blocks = 0;
extern "C" void __sanitizer_cov_trace_pc() { ++basic_blocks; }
std::uint64_t operations_of(bool is_tree, std::int32_t ranks, bool with_clocks);

namespace {

// Resets the peak memory of the process, so that peak_bytes() covers only later allocations.
void forget_peak() {
  malloc_trim(0);
  if (std::FILE* f = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", f);
    std::fclose(f);
  }
}
double peak_bytes() {
  double kib = 0;
  if (std::FILE* f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr) {
      if (std::sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    }
    std::fclose(f);
  }
  return kib * 1024;
}

// Processor time of this thread, which excludes other load.
std::uint64_t cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

struct figures {
  double records = 0, seconds = 0, operations = 0;
};

figures run(benchmark::State& state, std::vector<rank_store> stores, const explain::options& settings = {}) {
  const std::vector<explain::rank_history> histories = views(stores);
  explain::simulated_transport transport(static_cast<std::int32_t>(stores.size()));
  std::int64_t records = 0;
  for (const rank_store& s : stores) records += static_cast<std::int64_t>(s.records.size());
  forget_peak();
  const double before = peak_bytes();
  explain::outcome out;
  double seconds = 0;
  for (auto _ : state) {
    const std::uint64_t begin = cpu_ns();
    out = explain::explain(transport, histories, settings);
    const double took = static_cast<double>(cpu_ns() - begin) * 1e-9;
    seconds = seconds == 0 ? took : std::min(seconds, took);
    benchmark::DoNotOptimize(out);
  }
  std::int64_t waits = 0;
  for (const auto& e : out.waits) waits += e.count;
  state.counters["records_per_s"] = static_cast<double>(records) / seconds;
  state.counters["waits"] = static_cast<double>(waits);
  state.counters["waiting_s"] = static_cast<double>(out.waiting_ns) * 1e-9;
  state.counters["bytes_per_rank"] = (peak_bytes() - before) / static_cast<double>(stores.size());
  return {static_cast<double>(records), seconds, 0};
}

void explain_ring(benchmark::State& state) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  run(state, ring(ranks, static_cast<std::size_t>(std::max(20, 20480 / ranks))));
}
BENCHMARK(explain_ring)->RangeMultiplier(4)->Range(2, 1024)->Unit(benchmark::kMillisecond);

void explain_million(benchmark::State& state) { run(state, ping_pong(1000000)); }
BENCHMARK(explain_million)->Unit(benchmark::kMillisecond)->Iterations(1);

// Runs one size of a program and computes its growth since the smallest size.
void grow(benchmark::State& state, bool is_tree) {
  const auto ranks = static_cast<std::int32_t>(state.range(0));
  const bool with_clocks = state.range(1) != 0;
  explain::options settings;
  if (with_clocks) settings.clocks = &clocks::virtual_clocks;
  figures now = run(state, is_tree ? tree(ranks) : stencil(ranks), settings);
  now.operations = static_cast<double>(operations_of(is_tree, ranks, with_clocks));
  state.counters["operations_per_record"] = now.operations / now.records;
  static std::map<std::string, figures> smallest;
  const figures& first = smallest.emplace((is_tree ? "tree" : "stencil") + std::to_string(with_clocks), now).first->second;
  if (now.records == first.records) return;
  const double size = std::log(now.records / first.records);
  state.counters["exponent"] = std::log(now.seconds / first.seconds) / size;
  state.counters["operations_exponent"] = std::log(now.operations / first.operations) / size;
}
void explain_stencil(benchmark::State& state) { grow(state, false); }
void explain_tree(benchmark::State& state) { grow(state, true); }

void sizes(benchmark::internal::Benchmark* b) {
  const char* wanted = std::getenv("WHYWAIT_BENCH_RANKS");
  const std::int64_t most = wanted != nullptr ? std::atoll(wanted) : 4096;
  for (const std::int64_t with_clocks : {0, 1}) {
    for (std::int64_t ranks = 256; ranks <= most; ranks *= 4) b->Args({ranks, with_clocks});
  }
  b->Unit(benchmark::kMillisecond)->Iterations(wanted != nullptr ? 3 : 1);
}
BENCHMARK(explain_stencil)->Apply(sizes);
BENCHMARK(explain_tree)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
