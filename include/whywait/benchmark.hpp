#ifndef WHYWAIT_BENCHMARK_HPP
#define WHYWAIT_BENCHMARK_HPP

/// Counters for benchmarks of MPI code with Google Benchmark:
///
///     void exchange(benchmark::State& state) {
///       const whywait::benchmark_counters explained(state);
///       for (auto _ : state) step();
///     }
///     BENCHMARK(exchange)->Iterations(100);   // all ranks must run the same number
///
/// adds the columns `waiting` (share of rank time), `efficiency` and `not_understood`, and as the label the code that caused most
/// of the waiting.

#include <whywait/core/version.hpp>

#if !__has_include(<benchmark/benchmark.h>)
#error "<whywait/benchmark.hpp> needs Google Benchmark (Debian: libbenchmark-dev)"
#endif

#include <whywait/mpi.hpp>

#include <benchmark/benchmark.h>

#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {

#ifndef WHYWAIT_DISABLE

/// Explains what runs while it lives. Make it before the loop over the state. Both ends are collective over all ranks and outside of
/// the times that the benchmark measures. Without a result (WHYWAIT_ENABLE=0) there are no counters.
class benchmark_counters {
 public:
  explicit benchmark_counters(::benchmark::State& state, MPI_Comm comm = MPI_COMM_WORLD)
      : state_(state), comm_(comm), before_(mpi::explain(comm)) {}
  ~benchmark_counters() {
    const result now = mpi::explain(comm_);
    if (!now || !before_) return;
    const result part = now.since(before_);
    state_.counters["waiting"] = part.waiting_share();
    if (part.efficiency) state_.counters["efficiency"] = part.efficiency->parallel;
    if (part.rank_seconds > 0) state_.counters["not_understood"] = part.not_understood_seconds / part.rank_seconds;
    const std::string cause = part.cause_of();
    if (!cause.empty()) state_.SetLabel("waits for " + cause);
  }
  benchmark_counters(const benchmark_counters&) = delete;
  benchmark_counters& operator=(const benchmark_counters&) = delete;

 private:
  ::benchmark::State& state_;
  MPI_Comm comm_;
  result before_;
};

#else

class benchmark_counters {
 public:
  template <class... Anything>
  explicit benchmark_counters(const Anything&...) noexcept {}
  ~benchmark_counters() {}  // used although nothing refers to it
};

#endif

}  // namespace v0
}  // namespace whywait

#endif
