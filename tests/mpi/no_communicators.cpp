// ranks: 2
// timeout: 100
// with: observer
// stderr ~ MPI calls seen
//
// A program that uses up all communicators of MPI (MPICH has 2048 per process; Open MPI more than a test can create).
// whywait then has none to compare clocks with and continues without.
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<MPI_Comm> all;
  for (MPI_Comm c = MPI_COMM_NULL; all.size() < 4000 && MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS;) all.push_back(c);
  std::printf("rank %d: %zu communicators\n", rank, all.size());
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum == ranks ? 0 : 1;
}
