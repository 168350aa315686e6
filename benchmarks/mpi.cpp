// Measures interception by the same calls without (PMPI_) and with wrappers, in one run, in random order.
//
//   mpirun -n 2 bench_mpi --benchmark_report_aggregates_only=true --benchmark_format=json
//
// The defaults are --benchmark_repetitions=101 --benchmark_min_time=0.01 --benchmark_enable_random_interleaving=true.
// Read `mpi_null_plain_min`, `mpi_null_whywait_min`, ..., per iteration:
//
//   mpi_null      MPI_Isend + MPI_Wait to MPI_PROC_NULL, two calls without effect; the difference is the overhead
//   mpi_pingpong  a round trip of 8 bytes between ranks 0 and 1, with two calls on each side
//   mpi_request   a request that MPI stores, by MPI_Irecv + MPI_Isend to itself + MPI_Waitall
//
//   mpi_send      one MPI_Send to MPI_PROC_NULL into memory used before: `direct`, in a function of the program (`wrapped`) that
//                 is called from one place, and in turn from eight (`callers`)
//
//   mpi_null_in_regions  mpi_null_whywait with MPI_Isend in a WHYWAIT_REGION and both calls in another; each iteration
//                        adds two path steps and two clock readings
//
// Programs pay the price of `_whywait`. Every record is kept in fresh memory, which the kernel maps and clears during
// the measurement. Before each repetition, and when the default memory of 64 MiB (WHYWAIT_MEMORY) is full, the timer is
// paused while all records are dropped and their pages are unmapped. Only `mpi_null_reused` writes to touched pages, to
// show the difference.

#include <whywait/mpi/wrappers.hpp>
#include <whywait/record.hpp>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;

double value = 1, other = 0;

void null_plain() {
  MPI_Request r;
  PMPI_Isend(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
  PMPI_Wait(&r, MPI_STATUS_IGNORE);
}
void null_whywait() {
  MPI_Request r;
  MPI_Isend(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

void request_plain() {
  MPI_Request r[2];
  PMPI_Irecv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
  PMPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[1]);
  PMPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
void request_whywait() {
  MPI_Request r[2];
  MPI_Irecv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
  MPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

void ping_plain(int peer) {
  PMPI_Send(&value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
  PMPI_Recv(&other, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void pong_plain(int peer) {
  PMPI_Recv(&other, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  PMPI_Send(&value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
}
void ping_whywait(int peer) {
  MPI_Send(&value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
  MPI_Recv(&other, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void pong_whywait(int peer) {
  MPI_Recv(&other, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
}

/// Drops all records and returns their pages to the kernel.
void start_afresh() {
  record::location& mine = *record::this_location();
  mine.syncs.release();
  mine.steps.release();
  mine.syncs.open(core::the_registry()->memory);
  mine.steps.open(core::the_registry()->memory);
}

void complain_of_loss(benchmark::State& state) {
  const record::location& mine = *record::this_location();
  if (mine.syncs.dropped() + mine.steps.dropped() != 0)
    state.SkipWithError("records were lost: give more WHYWAIT_MEMORY or a smaller --benchmark_min_time");
}

constexpr std::uint64_t batch = 1024;

/// Runs `once` in fresh memory. An iteration may record at most 256 bytes.
template <class Once>
void in_fresh_memory(benchmark::State& state, Once&& once) {
  constexpr std::uint64_t most = (std::uint64_t(60) << 20) / 256;
  start_afresh();
  for (std::uint64_t done = 0; state.KeepRunningBatch(batch); done += batch) {
    if (done + batch > most) {
      state.PauseTiming();
      start_afresh();
      done = 0;
      state.ResumeTiming();
    }
    for (std::uint64_t i = 0; i < batch; ++i) once();
  }
  complain_of_loss(state);
}

template <void (*Calls)()>
void alone(benchmark::State& state) {
  in_fresh_memory(state, [] { Calls(); });
}

void null_in_regions(benchmark::State& state) {
  WHYWAIT_REGION("outer");
  in_fresh_memory(state, [] {
    MPI_Request r;
    {
      WHYWAIT_REGION("inner");
      MPI_Isend(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  });
}

// Like `alone`, but a reader drains the records periodically, so that the same few chunks are reused.
template <void (*Calls)(), std::uint64_t Times = 1>
void reused(benchmark::State& state) {
  auto& syncs = record::this_location()->syncs;
  start_afresh();
  while (state.KeepRunningBatch(batch)) {
    for (std::uint64_t i = 0; i < batch; i += Times) Calls();
    syncs.drain([](const core::sync_record*, std::uint64_t) {});
  }
  complain_of_loss(state);
}

void send_direct() { MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD); }
__attribute__((noinline)) void wrapped_send() {
  MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  __asm__ volatile("");  // so that it is no tail call
}
void send_from_eight_places() {
  wrapped_send(), wrapped_send(), wrapped_send(), wrapped_send();
  wrapped_send(), wrapped_send(), wrapped_send(), wrapped_send();
}

// An order of rank 0 to rank 1, with the number of round trips and the functions to use. Rank 1 sleeps between orders,
// because the other rows run on rank 0 alone.
struct order {
  std::uint64_t times;  // 0 ends rank 1
  std::uint64_t recorded;
};

void give(order o) { PMPI_Send(&o, sizeof o, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }

void obey() {
  for (;;) {
    int here = 0;
    for (;;) {
      PMPI_Iprobe(0, 0, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
      if (here != 0) break;
      usleep(200);
    }
    order o;
    PMPI_Recv(&o, sizeof o, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (o.times == 0) return;
    start_afresh();
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);  // ready
    for (std::uint64_t i = 0; i < o.times; ++i) o.recorded != 0 ? pong_whywait(0) : pong_plain(0);
  }
}

template <void (*Calls)(int), bool Recorded>
void with_rank_1(benchmark::State& state) {
  start_afresh();
  give(order{static_cast<std::uint64_t>(state.max_iterations), Recorded});
  PMPI_Recv(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (auto _ : state) Calls(1);
  complain_of_loss(state);
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

void measure(const char* name, void (*function)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, function)->ComputeStatistics("min", least);
}

void report(int argc, char** argv, bool pair) {
  measure("mpi_null_plain", alone<null_plain>);
  measure("mpi_null_whywait", alone<null_whywait>);
  measure("mpi_null_reused", reused<null_whywait>);
  measure("mpi_send_direct", reused<send_direct>);
  measure("mpi_send_wrapped", reused<wrapped_send>);
  measure("mpi_send_callers", reused<send_from_eight_places, 8>);
  measure("mpi_null_in_regions", null_in_regions);
  measure("mpi_request_plain", alone<request_plain>);
  measure("mpi_request_whywait", alone<request_whywait>);
  if (pair) {
    measure("mpi_pingpong_plain", with_rank_1<ping_plain, false>);
    measure("mpi_pingpong_whywait", with_rank_1<ping_whywait, true>);
  }
  // later flags win, so that these are defaults
  char repetitions[] = "--benchmark_repetitions=101", time[] = "--benchmark_min_time=0.01",
       interleave[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> flags{argv[0], repetitions, time, interleave};
  flags.insert(flags.end(), argv + 1, argv + argc);
  int count = static_cast<int>(flags.size());
  flags.push_back(nullptr);
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) PMPI_Abort(MPI_COMM_WORLD, 1);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WHYWAIT_MEMORY", "8G", 0);  // 64 bytes per call, for long ping-pongs without a reset
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    report(argc, argv, ranks > 1);
    if (ranks > 1) give(order{0, 0});
  } else if (rank == 1) {
    obey();
  }
  MPI_Finalize();
  return 0;
}
