// Measures the primitives of <whywait/thread.hpp> beside those of the standard library, in one run:
//
//   bench_thread                         uncontended, then 2 and 8 threads at one lock
//
//   uncontended<mutex>         lock and unlock by one thread: at most 1.25 times std::mutex and one clock reading (clock)
//   contended<mutex>/threads   items_per_second is the throughput of all threads: at least 0.95 times that of std::mutex
//   notify<condition_variable> notify_one while no thread waits
#include <whywait/core/clock.hpp>
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <benchmark/benchmark.h>

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

namespace {

template <class Mutex>
void uncontended(benchmark::State& state) {
  static Mutex m;
  for (auto _ : state) {
    m.lock();
    benchmark::ClobberMemory();
    m.unlock();
  }
}
BENCHMARK_TEMPLATE(uncontended, std::mutex);
BENCHMARK_TEMPLATE(uncontended, whywait::mutex);
BENCHMARK_TEMPLATE(uncontended, std::recursive_mutex);
BENCHMARK_TEMPLATE(uncontended, whywait::recursive_mutex);
BENCHMARK_TEMPLATE(uncontended, std::shared_mutex);
BENCHMARK_TEMPLATE(uncontended, whywait::shared_mutex);

void clock_reading(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(whywait::core::cycle_clock::now());
}
BENCHMARK(clock_reading)->Name("clock");

template <class Condition>
void notify(benchmark::State& state) {
  static Condition c;
  for (auto _ : state) {
    c.notify_one();
    benchmark::ClobberMemory();
  }
}
BENCHMARK_TEMPLATE(notify, std::condition_variable);
BENCHMARK_TEMPLATE(notify, whywait::condition_variable);

// Some work under the lock and some outside.
template <class Mutex>
void contended(benchmark::State& state) {
  static Mutex m;
  static unsigned shared = 0;
  unsigned own = 0;
  for (auto _ : state) {
    {
      const std::lock_guard<Mutex> guard(m);
      for (int i = 0; i != 20; ++i) benchmark::DoNotOptimize(++shared);
    }
    for (int i = 0; i != 60; ++i) benchmark::DoNotOptimize(++own);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_TEMPLATE(contended, std::mutex)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK_TEMPLATE(contended, whywait::mutex)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
