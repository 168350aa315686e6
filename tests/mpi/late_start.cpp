// Rank 1 works before it calls MPI_Init, and rank 0 waits for it there. That is before the run, which is short and even: the
// report states it nevertheless.
//
// ranks: 2 4
// timeout: 60
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=late
// json late.json
// page late.html
// stdout ~ ^done$
// stderr ~ before the run: (9\d\d ms|1\.[0-4]\d? s) of waiting in MPI_Init for rank 1, which called it [\d.]+ m?s after its process began
// stderr !~ nothing worth changing
// file late.json ~ "late_start": \{\s*"rank": 1,\s*"seconds": 1\.\d+,\s*"wait_seconds": (0\.9|1\.)
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

int main(int argc, char** argv) {
  const char* launched = std::getenv("OMPI_COMM_WORLD_RANK");
  if (launched == nullptr) launched = std::getenv("PMI_RANK");
  if (launched == nullptr) return std::fprintf(stderr, "the launcher does not say which rank this is\n"), 1;
  if (std::strcmp(launched, "1") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  MPI_Init(&argc, &argv);
  for (int k = 0; k < 100; ++k) MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::puts("done");
  MPI_Finalize();
}
