// ranks: 2
// with: observer late_snapshot.cpp comes_last.cpp
// environment: WHYWAIT_OUTPUT=plain
// stderr ~ late sender
// stderr !~ side by side
// json plain.json
// file plain.json ~ "pattern":\s*"late_sender"
// file plain.json !~ "picture"
//
// Without WHYWAIT_PATH=order no order is kept, and the report is unchanged.
#include "parts/late_snapshot.hpp"

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  late_snapshot();
  MPI_Finalize();
  return 0;
}
