// ranks: 2
// timeout: 60
// with: observer benchmark
// stdout ~ "waiting": [\d.e-]+
// stdout ~ "efficiency": [\d.e-]+
// stdout ~ "label": "waits for uneven_work"
// stdout !~ FAILED
//
// Counters of Google Benchmark: the share of waiting, the efficiency, and the code that caused it.
#include <whywait/benchmark.hpp>

#include <whywait/record.hpp>

#include <mpi.h>

#include <cstdio>
#include <ctime>
#include <sstream>
#include <vector>

namespace {

int rank;

void nap(int ms) {
  const timespec t{0, ms * 1000000L};
  nanosleep(&t, nullptr);
}

void step(benchmark::State& state) {
  const whywait::benchmark_counters explained(state);
  for (auto each : state) {
    static_cast<void>(each);
    {
      WHYWAIT_REGION("uneven_work");
      nap(rank == 1 ? 12 : 4);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
BENCHMARK(step)->Iterations(20);

/// Keeps what a benchmark reported.
class keeping : public benchmark::JSONReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    JSONReporter::ReportRuns(runs);
    for (const Run& r : runs) {
      const double waiting = r.counters.at("waiting"), efficiency = r.counters.at("efficiency");
      if (waiting < 0.25 || waiting > 0.4 || efficiency < 0.5 || efficiency > 0.8)
        std::printf("FAILED: waiting %g (true 0.33), efficiency %g (true 0.67)\n", waiting, efficiency);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  keeping reporter;
  std::ostringstream nowhere;
  if (rank != 0) {
    reporter.SetOutputStream(&nowhere);
    reporter.SetErrorStream(&nowhere);
  }
  benchmark::RunSpecifiedBenchmarks(&reporter);
  MPI_Finalize();
}
