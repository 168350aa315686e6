// Rank 1 is late; says when MPI_Init has returned, and how MPI_Finalize did. Ends with the given status.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  std::atexit([] { std::fprintf(stderr, "a handler from before MPI_Init\n"); });
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::fprintf(stderr, "MPI_Init has returned\n");
  for (int k = 0; k < 10; ++k) {
    const timespec t{0, rank == 1 ? 9000000 : 1000000};
    nanosleep(&t, nullptr);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const int code = MPI_Finalize();
  std::printf("rank %d ends after MPI_Finalize with %d\n", rank, code);
  return rank == 0 && argc > 1 ? std::atoi(argv[1]) : 0;
}
