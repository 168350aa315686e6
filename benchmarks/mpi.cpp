// What interception costs: the same calls with and without it, in short batches in turn, in one run.
//
//   mpirun -n 2 mpi --benchmark_out=mpi.json          (counters: minimum and median over batches)
//
// Records are drained between batches, so that their pages are used again; mpi_null_fresh_whywait keeps them all
// and so pays for new pages too (64 bytes a record).
// mpi_null: MPI_Isend + MPI_Wait to MPI_PROC_NULL, two calls that do nothing: the pure price. mpi_request: the
// same with a request that MPI really keeps (MPI_Irecv + MPI_Isend to itself + MPI_Waitall). mpi_pingpong: one
// round trip of 8 bytes, four calls.

#include <whywait/sync/mpi/wrappers.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

double value = 1, other = 0;

void null_plain(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request r;
    PMPI_Isend(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
    PMPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}
void null_whywait(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request r;
    MPI_Isend(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}
void request_plain(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request r[2];
    PMPI_Irecv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
    PMPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[1]);
    PMPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
}
void request_whywait(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Request r[2];
    MPI_Irecv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
    MPI_Isend(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
}
void pingpong_plain(int n, int rank) {
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      PMPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      PMPI_Recv(&other, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      PMPI_Recv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      PMPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
  }
}
void pingpong_whywait(int n, int rank) {
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(&other, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&other, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

void forget_records() {
  whywait::record::this_location()->syncs.drain([](const whywait::core::sync_record*, std::uint64_t) {});
}

constexpr int batches = 400;
constexpr int null_batch = 1000;
constexpr int pingpong_batch = 500;

struct series {
  std::vector<double> ns;  // per iteration, one value for each batch
  template <class Work>
  void add(int n, Work&& work) {
    const double begin = now_ns();
    work(n);
    ns.push_back((now_ns() - begin) / n);
  }
};

// All is measured before Google Benchmark reports it: batches of both variants in turn, so that both meet the
// same moods of the machine, and both ranks walk through the same program.
series measured[7];

void report(benchmark::State& state, series& s) {
  std::sort(s.ns.begin(), s.ns.end());
  for (auto _ : state) state.SetIterationTime(s.ns.front() * 1e-9);
  state.counters["min_ns"] = s.ns.front();
  state.counters["median_ns"] = s.ns[s.ns.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WHYWAIT_MEMORY", "2G", 0);  // every record is kept: 64 bytes a call
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < batches; ++i) {
    if (rank == 0) {
      measured[0].add(null_batch, null_plain);
      measured[1].add(null_batch, null_whywait);
      forget_records();
      measured[4].add(null_batch, request_plain);
      measured[5].add(null_batch, request_whywait);
      forget_records();
    }
    if (ranks < 2) continue;
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank > 1) continue;
    measured[2].add(pingpong_batch, [&](int n) { pingpong_plain(n, rank); });
    measured[3].add(pingpong_batch, [&](int n) { pingpong_whywait(n, rank); });
    forget_records();
  }
  for (int i = 0; rank == 0 && i < batches; ++i) measured[6].add(null_batch, null_whywait);
  if (rank == 0) {
    const char* names[] = {"mpi_null_plain",   "mpi_null_whywait",  "mpi_pingpong_plain", "mpi_pingpong_whywait",
                           "mpi_request_plain", "mpi_request_whywait", "mpi_null_fresh_whywait"};
    for (int i = 0; i < 7; ++i)
      if (!measured[i].ns.empty())
        benchmark::RegisterBenchmark(names[i], [i](benchmark::State& s) { report(s, measured[i]); })
            ->UseManualTime()
            ->Iterations(1);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
  }
  MPI_Finalize();
  return 0;
}
