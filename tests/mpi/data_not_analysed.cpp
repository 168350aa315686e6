// ranks: 2
// with: observer
// environment: WHYWAIT_OUTPUT=out WHYWAIT_MEMORY=1M
// stderr ~ ^    warning: data was registered but is not analysed; include\s+<whywait/communication\.hpp>\s+beside\s+<whywait/mpi\.hpp>\s+in\s+one\s+file
// stderr !~ where data is|buffer was full
// file out.json ~ "communication_classes": \[\],\s+"distributions": \[\],\s+"sharing": \[\]
// file out.json ~ "epochs": ([5-9]|\d\d)
// json out.json
//
// A program that registers data on one rank only and does not include the analysis. Rank 0 warns once. The unused
// records do not fill the memory, because they are dropped where all ranks meet. An explanation in the middle is a result with that
// warning on all ranks.
#include <whywait/data.hpp>
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double u[16] = {};
  bool good = true;
  for (int round = 0; round < 200; ++round) {
    if (rank == 1) {
      WHYWAIT_DATA("u", u, 16);
      for (int i = 0; i < 100; ++i) WHYWAIT_WRITES("fill", whywait::range(u, 16));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (round != 100) continue;
    const whywait::result so_far = whywait::mpi::explain(MPI_COMM_WORLD);
    good = so_far && so_far.warnings.size() == 1;
    if (!good)
      std::fprintf(stderr, "rank %d: reason `%s`, %zu warnings\n", rank, so_far.reason.c_str(), so_far.warnings.size());
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
