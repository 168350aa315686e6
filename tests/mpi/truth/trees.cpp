// A rooted collective that the library makes of a tree, with one late rank; the root is rank 0.
//
//   trees [--call bcast|reduce|scatter|gather] [--bytes N] [--late RANK] [--rounds N]
//
// After each call all meet in a barrier, so that in every round each other rank waits for the late one, in one or both.
#include "stamps.hpp"

#include <whywait/record.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps::log log;
  const stamps::options options(argc, argv);
  const std::string call = options.text("--call", "bcast");
  const int rounds = options.count("--rounds", 6), late = options.count("--late", 1), bytes = options.count("--bytes", 8);
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::size_t all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks);
  std::vector<char> own(all), whole(all);

  log.meet();
  log("run", [&] {
    for (int i = 0; i < rounds; ++i) {
      log("prepare", [&] {
        WHYWAIT_REGION("prepare");
        stamps::nap(0.003);
      });
      if (rank == late)
        log("solve", [&] {
          WHYWAIT_REGION("solve");
          stamps::nap(0.040);
        });
      if (call == "bcast") log("MPI_Bcast", [&] { MPI_Bcast(own.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD); });
      else if (call == "reduce")
        log("MPI_Reduce", [&] { MPI_Reduce(own.data(), whole.data(), bytes, MPI_CHAR, MPI_BXOR, 0, MPI_COMM_WORLD); });
      else if (call == "scatter")
        log("MPI_Scatter", [&] { MPI_Scatter(whole.data(), bytes, MPI_CHAR, own.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD); });
      else if (call == "gather")
        log("MPI_Gather", [&] { MPI_Gather(own.data(), bytes, MPI_CHAR, whole.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD); });
      else MPI_Abort(MPI_COMM_WORLD, 2);
      log("MPI_Barrier", [&] { MPI_Barrier(MPI_COMM_WORLD); });
    }
  });
  log.write();
  MPI_Finalize();
  return 0;
}
