// ranks: 2 4
// with: observer_data
// environment: WHYWAIT_OUTPUT=out WHYWAIT_RULES=own.rules
// stderr ~ ^    where data is, and which ranks need it$
// stderr ~ loop `sum` runs cyclic over `u`, which is block-distributed: (50|75) % of\s+accesses\s+are\s+remote; a block schedule makes it 0 %
// stderr ~ ^    shared memory$
// stderr ~ `counters`: false sharing in {ranks} pieces
// stderr ~ R count \(data_report\.cpp:\d+\) · I counted \(data_report\.cpp:\d+\) · W\s+count \(data_report\.cpp:\d+\)
// stderr ~ written by threads 0 and 1
// stderr ~ try: pad and align what different threads write
// stderr ~ counters \(data_report\.cpp:\d+\) is in false sharing by threads 0 and 1 where rank 1 is late in count
// file out.json ~ "data": ?"u",\s+"extent": \[\s+(32|64)\s+\],\s+"element_bytes": 8,\s+"distribution": "block",\s+"agreement": 1
// file out.json ~ (?s)"loop": "sum".*"schedule": "cyclic".*"access": "contiguous"
// file out.json ~ "pattern": "false sharing"
// json out.json
//
// The report names the accesses of loops and threads to registered arrays, with the location of each array, the loop
// that runs against its distribution, and the threads of every process that write the same cache line. Rules see the
// array in the block that makes a rank late.
#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  int given = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0)
    if (std::FILE* const file = std::fopen("own.rules", "w")) {
      std::fputs(
          "declare problem for block when data_sharing != '' parameters (name = 'shared_lines', duration = duration, saving = "
          "duration / ranks,\n"
          "  description = \"{data} ({data_place}) is in {data_sharing} by {data_users} where {late_ranks} is late in "
          "{name}.\");\n",
          file);
      std::fclose(file);
    }
  const int n = 16 * ranks;
  std::vector<double> u(static_cast<std::size_t>(n));
  WHYWAIT_DATA("u", u.data(), n);
  {
    WHYWAIT_REGION("fill");
    WHYWAIT_WRITES("fill", whywait::range(&u[static_cast<std::size_t>(rank * 16)], 16));
  }
  {
    WHYWAIT_REGION("sum");
    WHYWAIT_ITERATIONS("sum", rank, n, ranks);
    WHYWAIT_READS("sum", whywait::range(&u[static_cast<std::size_t>(rank)], 16, ranks));
  }

  alignas(64) long counters[2] = {};
  WHYWAIT_DATA("counters", counters, 2);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  const auto count = [&](int thread) {
    WHYWAIT_REGION("count");
    for (int i = 0; i < 3; ++i) {
      ++counters[thread];
      if (rank == 1 && thread == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      WHYWAIT_WRITES("count", whywait::range(&counters[thread], 1));
      WHYWAIT_SYNC_ALL("counted");
      pthread_barrier_wait(&barrier);
    }
  };
  std::thread other(count, 1);
  count(0);
  other.join();
  pthread_barrier_destroy(&barrier);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return counters[0] + counters[1] == 6 ? 0 : 1;
}
