// ranks: 1 32
// timeout: 240
// environment: WHYWAIT_OUTPUT=many
// not: mpich
// with: observer
// stderr ~ whywait · \S+ · {ranks} ranks?
// json many.json
// file many.json ~ "ranks": {ranks}\b
//
// One rank, and 32 ranks on any number of cores. Open MPI only, because MPICH spins and never yields.
#include <mpi.h>

#include <ctime>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int k = 0; k < 10; ++k) {
    if (rank == k % ranks) {
      timespec t{0, 5000000};
      nanosleep(&t, nullptr);
    }
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&k, 1, MPI_INT, right, 0, &value, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
