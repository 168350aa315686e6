// Measures the cost of compiler-counted blocks. Three kernels (parts/coverage_kernel.cpp), each compiled plain and with
// every counting method, run in turns. Times are per source block or per function call, so that the cost of a method is
// its row minus the row `kernel`. The differences of the minima are printed as `automatic_block` (counters),
// `automatic_path` (callbacks: trace-pc of g++, trace-pc-guard of clang, its trace-pc as `automatic_address_clang`) and
// `automatic_function` (-finstrument-functions). If clang is installed, its rows end in `_clang`. Targets are 0.3 ns
// for blocks and 2 ns for paths.
//
// `scan_1000` is the cost of a synchronisation with 1000 unchanged counters in 100 functions, `scan_1000_of_which_50`
// with 50 changed ones. `collect_50_blocks` is the same for callbacks.
#include "parts/coverage_kernel.hpp"

#include <whywait/coverage/counters/arcs.hpp>
#include <whywait/coverage/counters/block_counts.hpp>
#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

extern const kernel kernel_gcc, kernel_gcc_counters, kernel_gcc_callbacks, kernel_gcc_functions;
#ifdef HAS_CLANG
extern const kernel kernel_clang, kernel_clang_counters, kernel_clang_callbacks, kernel_clang_addresses, kernel_clang_functions;
#endif

namespace {

namespace coverage = whywait::coverage;

struct variant {
  const char* name;
  const kernel* code;
  const kernel* plain;  // without counting, by the same compiler
  double best[3];  // ns per block
};

std::vector<variant> variants = {
    {"kernel", &kernel_gcc, nullptr, {}},
    {"automatic_block", &kernel_gcc_counters, &kernel_gcc, {}},
    {"automatic_path", &kernel_gcc_callbacks, &kernel_gcc, {}},
    {"automatic_function", &kernel_gcc_functions, &kernel_gcc, {}},
#ifdef HAS_CLANG
    {"kernel_clang", &kernel_clang, nullptr, {}},
    {"automatic_block_clang", &kernel_clang_counters, &kernel_clang, {}},
    {"automatic_path_clang", &kernel_clang_callbacks, &kernel_clang, {}},
    {"automatic_address_clang", &kernel_clang_addresses, &kernel_clang, {}},
    {"automatic_function_clang", &kernel_clang_functions, &kernel_clang, {}},
#endif
};

constexpr unsigned rounds[3] = {8192, 1024, 2048};
constexpr double blocks[3] = {5.25, 27, 1};
const char* const kernels[3] = {"predictable", "search", "calls"};

std::vector<unsigned char> data(rounds[0]);
std::vector<unsigned> sorted(1024);
unsigned seed = 1;

void run(benchmark::State& state, variant& v, int which) {
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const unsigned result = which == 0   ? v.code->predictable(data.data(), rounds[0])
                            : which == 1 ? v.code->search(sorted.data(), seed += 2, rounds[1])
                                         : v.code->calls(rounds[2]);
    const auto end = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(result);
    const double each = std::chrono::duration<double>(end - begin).count() / rounds[which] / blocks[which];
    state.SetIterationTime(each);
    if (v.best[which] == 0 || each * 1e9 < v.best[which]) v.best[which] = each * 1e9;
  }
}

alignas(32) std::uint64_t counters[1200];  // functions with 10 counters each, at multiples of 32 bytes

whywait::core::code_source* some_counters() {
  static whywait::core::code_source* made = [] {
    coverage::detail::arcs_of_object object;
    if (!object.open(100, 1000, "none.gcda", 0)) return static_cast<whywait::core::code_source*>(nullptr);
    for (std::uint32_t f = 0; f < 100; ++f) object.add(f, 0, 10, counters + 12 * f);
    return object.close();
  }();
  return made;
}

void scan(benchmark::State& state, int changed) {
  whywait::core::code_source* const source = some_counters();
  std::uint64_t sum = 0;
  const whywait::core::step_sink sink{&sum, [](void* self, const whywait::core::path_step& step) noexcept {
                                        *static_cast<std::uint64_t*>(self) += step.visits;
                                      }};
  for (auto _ : state) {
    for (int i = 0; i < changed; ++i) counters[24 * i] += 3;
    source->collect(*source, sink);
  }
  if (sum == 0 && changed != 0) state.SkipWithError("nothing was collected");
}

void collect_blocks(benchmark::State& state) {
  coverage::block_counts counts;
  if (!counts.open(100000)) state.SkipWithError("no memory");
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 50; ++i) counts.visit(i * 1000);  // touches the pages
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < 50; ++i) counts.visit(i * 1000);
    counts.collect([&sum](std::uint32_t, std::uint64_t n) { sum += n; });
  }
  benchmark::DoNotOptimize(sum);
  counts.release();
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

}  // namespace

int main(int argc, char** argv) {
  whywait::record::listen();
  for (unsigned i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i % 4);
  for (unsigned i = 0; i < sorted.size(); ++i) sorted[i] = i << 20;
  for (variant& v : variants)
    for (int k : {0, 1, 2})
      benchmark::RegisterBenchmark((std::string(v.name) + "/" + kernels[k]).c_str(),
                                   [&v, k](benchmark::State& state) { run(state, v, k); })
          ->UseManualTime()
          ->Iterations(10)
          ->ComputeStatistics("min", least);
  benchmark::RegisterBenchmark("scan_1000", [](benchmark::State& s) { scan(s, 0); })->ComputeStatistics("min", least);
  benchmark::RegisterBenchmark("scan_1000_of_which_50", [](benchmark::State& s) {
    scan(s, 50);
  })->ComputeStatistics("min", least);
  benchmark::RegisterBenchmark("collect_50_blocks", collect_blocks)->ComputeStatistics("min", least);
  char repetitions[] = "--benchmark_repetitions=101", time[] = "--benchmark_min_time=0.001",
       order[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> flags{argv[0], repetitions, time, order};
  flags.insert(flags.end(), argv + 1, argv + argc);
  int count = static_cast<int>(flags.size());
  flags.push_back(nullptr);
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  for (const variant& v : variants) {
    if (v.plain == nullptr) continue;
    const auto plain = std::find_if(variants.begin(), variants.end(), [&](const variant& p) { return p.code == v.plain; });
    for (int k : {0, 1, 2})
      std::fprintf(stderr, "%-24s %-12s %5.2f ns a block more, the kernel %4.2f times as long\n", v.name, kernels[k],
                   v.best[k] - plain->best[k], plain->best[k] > 0 ? v.best[k] / plain->best[k] : 0.0);
  }
  return 0;
}
