// Steps of marked work with an MPI_Allreduce after each; every 500th step the last rank sleeps for 2 ms.
//
//     steps N
#include <whywait/record.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1000;
  for (int i = 0; i != steps; ++i) {
    {
      WHYWAIT_REGION("work");
      if (i % 500 == 0 && rank == ranks - 1) {
        WHYWAIT_REGION("late");
        usleep(2000);
      }
    }
    double one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
