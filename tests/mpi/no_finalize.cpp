// ranks: 1 2
// timeout: 60
// with: mpi_once
// environment: WHYWAIT_OUTPUT=unfinished
// exit any
// stderr ~ whywait: rank 0 of {ranks} ended by exit without MPI_Finalize after
// json unfinished.rank0.json
#include <whywait/record.hpp>

#include <mpi.h>

#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  std::exit(0);
}
