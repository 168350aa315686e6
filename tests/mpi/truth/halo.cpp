// The ordinary halo exchange, on a line or on a square of ranks: one rank takes twice as long as the others in the interior.
//
//   halo [--bytes N] [--dimensions 1|2] [--slow RANK] [--steps N] [--faster F] [--even 1]
//
// --faster divides the interior of all ranks, --even gives each the mean.
#include "stamps.hpp"

#include <whywait/record.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps::log log;
  const stamps::options options(argc, argv);
  const int steps = options.count("--steps", 80), slow = options.count("--slow", 1);
  const int dimensions = options.count("--dimensions", 1);
  const std::size_t bytes = static_cast<std::size_t>(options.count("--bytes", 512));
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  std::vector<int> neighbours;
  if (dimensions == 1) {
    if (rank > 0) neighbours.push_back(rank - 1);
    if (rank + 1 < ranks) neighbours.push_back(rank + 1);
  } else {  // two rows
    neighbours.push_back(rank ^ 1);
    if (rank >= 2) neighbours.push_back(rank - 2);
    if (rank + 2 < ranks) neighbours.push_back(rank + 2);
  }
  double work = rank == slow ? 0.010 : 0.005;
  if (options.count("--even", 0) != 0) work = 0.005 * (ranks + 1) / ranks;
  work /= options.number("--faster", 1);

  const int edges = static_cast<int>(neighbours.size());
  std::vector<char> in(bytes * neighbours.size()), out(bytes * neighbours.size());
  std::vector<MPI_Request> requests(2 * neighbours.size());
  log.meet();
  log("run", [&] {
    for (int step = 0; step < steps; ++step) {
      log("MPI_Isend", [&] {
        for (int i = 0; i < edges; ++i)
          MPI_Irecv(&in[bytes * static_cast<std::size_t>(i)], static_cast<int>(bytes), MPI_CHAR,
                    neighbours[static_cast<std::size_t>(i)], 0, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
        for (int i = 0; i < edges; ++i)
          MPI_Isend(&out[bytes * static_cast<std::size_t>(i)], static_cast<int>(bytes), MPI_CHAR,
                    neighbours[static_cast<std::size_t>(i)], 0, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(edges + i)]);
      });
      log("interior", [&] {
        WHYWAIT_REGION("interior");
        stamps::nap(work);
      });
      log("MPI_Waitall", [&] { MPI_Waitall(2 * edges, requests.data(), MPI_STATUSES_IGNORE); });
      if (step % 8 != 7) continue;
      double residual = 1, most = 0;
      log("MPI_Allreduce", [&] { MPI_Allreduce(&residual, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); });
    }
  });
  log.write();
  MPI_Finalize();
  return 0;
}
