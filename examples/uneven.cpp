#include <whywait/mpi.hpp>     // in one file of the program: observes MPI calls, explains at MPI_Finalize
#include <whywait/record.hpp>  // wherever code is marked; optional

#include <chrono>
#include <thread>

void relax(int cells) {
  WHYWAIT_REGION("relax");  // a timed scope
  WHYWAIT_WORK(cells);      // so that "slower" means slower per cell
  std::this_thread::sleep_for(std::chrono::microseconds(30 * cells));  // stands for real work
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step != 20; ++step) {
    relax(rank == 2 ? 900 : 300);  // rank 2 has three times as many cells
    double local = 1, sum = 0;
    MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
