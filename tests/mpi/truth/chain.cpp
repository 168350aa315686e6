// A chain of ranks that relay a message; one rank does three times the work of the others.
//
//   chain [--slow RANK] [--steps N] [--faster F] [--even 1]
#include "stamps.hpp"

#include <whywait/record.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps::log log;
  const stamps::options options(argc, argv);
  const int steps = options.count("--steps", 60), slow = options.count("--slow", 1);
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double work = rank == slow ? 0.012 : 0.004;
  if (options.count("--even", 0) != 0) work = 0.004 * (ranks + 2) / ranks;
  work /= options.number("--faster", 1);

  double edge[8] = {};
  log.meet();
  log("run", [&] {
    for (int step = 0; step < steps; ++step) {
      if (rank > 0) log("MPI_Recv", [&] { MPI_Recv(edge, 8, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
      log("sweep", [&] {
        WHYWAIT_REGION("sweep");
        stamps::nap(work);
      });
      if (rank + 1 < ranks) log("MPI_Send", [&] { MPI_Send(edge, 8, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); });
      if (step % 20 != 19) continue;
      double residual = 1, most = 0;
      log("MPI_Allreduce", [&] { MPI_Allreduce(&residual, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); });
    }
  });
  log.write();
  MPI_Finalize();
  return 0;
}
