// ranks: 2
// with: observer comes_last.cpp
// environment: WHYWAIT_RULES=own.rules WHYWAIT_OUTPUT=out
// stderr ~ ^whywait · \S+ · 2 ranks · .* of rank time is waiting
// stderr !~ late sender
// stderr ~ ^ \d  wait at barrier
// stderr ~ ^    [\d,]+ waits? not described by any rule: [\d.]+ m?s \(\d+ % of the waiting\)$
// stderr !~ whywait-R
// json out.json
// file out.json ~ "undescribed_waits": ?1[,}]
// file out.json !~ "pattern": ?"late_sender"
//
// Built-in patterns are rules. A wait without its rule is not a finding, but its time remains in the sums.
#include "parts/comes_last.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    if (std::FILE* const file = std::fopen("own.rules", "w")) {
      std::fputs("remove problem \"late_sender\";\n", file);
      std::fclose(file);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  comes_last order;
  if (rank == 0) {
    order.after(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    order.waits_for(1);
  } else {
    order.waits_for(0);
    MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    order.after(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
