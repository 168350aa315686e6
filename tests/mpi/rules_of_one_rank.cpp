// ranks: 1 2 3 4
// with: observer
// environment: WHYWAIT_OUTPUT=out
// stderr !~ whywait-R
// json out.json
// file out.json ~ "problem": "retries",\s+"text": "look at the disk",\s+"saving_seconds": 0\.00025,
// file out.json ~ "description": ?"the last rank retried 7 times, all ranks together \d+ times on {ranks} ranks"
//
// A library that only the last rank calls adds its rule; rank 0 gets the events of all ranks.
#include <whywait/rules.hpp>

#include <mpi.h>

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static whywait::event<double, whywait::seconds> retried("retry", {"try", "lost"});
  for (int i = 0; i <= rank; ++i) retried(i, {0.25e-3 / 4});
  if (rank == ranks - 1) {
    for (int i = ranks; i < 7; ++i) retried(i, {0.25e-3 / 4});
    whywait::rules::add(
        "declare composite event retries member ( all retry as r )\n"
        "  parameters ( most = most(r.try) + 1, tries = count(), ranks = distinct(r.rank), lost = 0.25 ms );\n"
        "declare problem for retries when tries >= 7 parameters (\n"
        "  name = \"retries\", duration = lost, advice = \"look at the disk\", threshold = 0 %,\n"
        "  description = \"the last rank retried {most} times, all ranks together {tries} times on {ranks} ranks\" "
        ");\n",
        "retry library");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than the 0.25 ms that the rule names
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
