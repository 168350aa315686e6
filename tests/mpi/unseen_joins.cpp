// ranks: 2
// beside: nothing
// with: observer
// tries 3
// environment: WHYWAIT_REPORT=full
// stderr ~ warning: several threads call MPI on 2 of 2 ranks, and how they wait for one another \(join, locks\) is not observed
// stderr ~ (ranks 0 and 1|rank 1 thread \d) waited(, mostly)? for rank 0 thread \d
// stderr ~ late_part.* same visits, each (9\.\d ms|1[0-3] ms) slower
//
// Two threads of each rank call collectives, each on a communicator of its own. One is late each time: a wait is explained by what
// both threads ran since they last met, not since the begin of the run.
#include <mpi.h>

#include <whywait/record.hpp>

#include <chrono>
#include <thread>

namespace {

int rank = 0;

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void late_part() {
  WHYWAIT_REGION("late_part");
  nap(rank == 0 ? 12 : 2);
}
void part() {
  WHYWAIT_REGION("part");
  nap(2);
}

void work(MPI_Comm comm, void (*step)()) {
  double mine = rank, most = 0;
  for (int i = 0; i != 40; ++i) {
    step();
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm first, second;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  std::thread other(work, first, &part), late(work, second, &late_part);
  other.join();
  late.join();
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
  MPI_Finalize();
  return 0;
}
