// Rank 0 is late because a lock is held; nothing of whywait is in this program. Prints what it measured.
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex m;
std::atomic<bool> held{false};
void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

__attribute__((noinline)) void flush_output() {
  const std::lock_guard<std::mutex> guard(m);
  held = true;
  nap(20);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double waited = 0;
  for (int i = 0; i != 10; ++i) {
    int value = i;
    if (rank == 0) {
      std::thread other(flush_output);
      while (!held) nap(1);
      held = false;
      const double begin = MPI_Wtime();
      { const std::lock_guard<std::mutex> guard(m); }  // the wait for the lock
      waited += MPI_Wtime() - begin;
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      other.join();
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 0) std::printf("waited %.6f s\n", waited);
  MPI_Finalize();
  return 0;
}
