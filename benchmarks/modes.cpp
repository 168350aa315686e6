// What the optional modes cost, per mark: WHYWAIT_PATH=order (`ordered_...`) and WHYWAIT_TIMELINE (`timeline_...`), in one
// run with the floor (two clock readings and two 16-byte stores) and with the marks without modes:
//
//   bench_modes --benchmark_report_aggregates_only=true --benchmark_format=json
//
// `..._region` is WHYWAIT_REGION around nothing, `..._block` WHYWAIT_BLOCK, ten of which with different names follow each
// other in a loop that folds. `ordered_random` are blocks in an order that does not fold: the most that the mode can
// cost, its segments ended every 1000 blocks as a synchronisation does. `timeline_...` writes a ring of 16 MiB.
#include <whywait/record.hpp>
#include <whywait/record/kept_details.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;
using choice = core::settings::timeline_choice;

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

void block_cost(benchmark::State& state) {
  while (state.KeepRunningBatch(10)) {
    WHYWAIT_BLOCK("0");
    WHYWAIT_BLOCK("1");
    WHYWAIT_BLOCK("2");
    WHYWAIT_BLOCK("3");
    WHYWAIT_BLOCK("4");
    WHYWAIT_BLOCK("5");
    WHYWAIT_BLOCK("6");
    WHYWAIT_BLOCK("7");
    WHYWAIT_BLOCK("8");
    WHYWAIT_BLOCK("9");
    __asm__ volatile("" ::: "memory");
  }
}

void random_cost(benchmark::State& state) {
  static whywait::site places[16] = {
      {whywait::site_kind::step, "a"}, {whywait::site_kind::step, "b"}, {whywait::site_kind::step, "c"},
      {whywait::site_kind::step, "d"}, {whywait::site_kind::step, "e"}, {whywait::site_kind::step, "f"},
      {whywait::site_kind::step, "g"}, {whywait::site_kind::step, "h"}, {whywait::site_kind::step, "i"},
      {whywait::site_kind::step, "j"}, {whywait::site_kind::step, "k"}, {whywait::site_kind::step, "l"},
      {whywait::site_kind::step, "m"}, {whywait::site_kind::step, "n"}, {whywait::site_kind::step, "o"},
      {whywait::site_kind::step, "p"}};
  std::uint64_t random = 88172645463325252u;
  record::location& here = *record::this_location();
  while (state.KeepRunningBatch(1000)) {
    for (int i = 0; i < 1000; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      whywait::visit(places[random & 15]);
    }
    if (here.syncs.size() < 20000) here.syncs.push(core::sync_record{});  // as an MPI call does; 1.3 MB
  }
}

// Runs a benchmark on a thread of its own, which keeps what the modes ask for.
template <bool Order, choice Timeline, void (*Function)(benchmark::State&)>
void with(benchmark::State& state) {
  std::thread([&state] {
    core::registry& registry = *core::the_registry();
    const core::settings before = registry.config;
    registry.config.path_order = Order;
    registry.config.timeline = Timeline;
    registry.config.timeline_blocks = true;
    registry.order_memory.limit(~std::uint64_t(0));
    registry.timeline_memory.forget();
    record::location* const here = record::this_location();
    registry.config = before;
    const bool keeps = here != nullptr && here->more != nullptr;
    if (keeps != (Order || Timeline != choice::none)) return state.SkipWithError("the mode is not on");
    if (Timeline != choice::none)
      for (int i = 0; i < (1 << 21); ++i) record::kept_details::of(*here)->line.visit(1);  // all of its memory has been touched
    Function(state);
    if (Timeline != choice::none) record::kept_details::of(*here)->line.release();
  }).join();
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

void measure(const char* name, void (*function)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, function)->ComputeStatistics("min", least)->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  whywait::record::keep_details();
  whywait::record::listen();
  measure("floor", floor_cost);
  measure("region", with<false, choice::none, region_cost>);
  measure("block", with<false, choice::none, block_cost>);
  measure("ordered_region", with<true, choice::none, region_cost>);
  measure("ordered_block", with<true, choice::none, block_cost>);
  measure("ordered_random", with<true, choice::none, random_cost>);
  measure("timeline_region", with<false, choice::overwrite_oldest, region_cost>);
  measure("timeline_block", with<false, choice::overwrite_oldest, block_cost>);
  // later flags win, so these are what holds when nothing is said
  char repetitions[] = "--benchmark_repetitions=101", time[] = "--benchmark_min_time=0.01",
       order[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> flags{argv[0], repetitions, time, order};
  flags.insert(flags.end(), argv + 1, argv + argc);
  int count = static_cast<int>(flags.size());
  flags.push_back(nullptr);
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
