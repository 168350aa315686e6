// ranks: 2
// with: observer
// timeout: 100
// tries 3
//
// Many threads, one after the other, that only run marked work and end between two MPI calls of the main thread: their
// work is the cause of its lateness, although their locations serve later threads.
#include <whywait/mpi.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace {

int rank, failures;

void check(bool holds, const char* text, double found, double expected) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s: found %g, expected %g\n", text, found, expected);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, value = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int steps = 3, threads = 100;
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      for (int i = 0; i < threads; ++i)
        std::thread([] {
          WHYWAIT_REGION("piece of work");
          usleep(1000);
        }).join();
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  const whywait::result run = whywait::mpi::explain(MPI_COMM_WORLD);
  const std::uint32_t locations = whywait::core::the_registry()->location_count;
  check(locations <= 2, "locations of a process", locations, 2);
  if (rank == 0) {
    const double least = 1e-3 * steps * threads;
    check(run.threads == 2, "threads that call MPI", static_cast<double>(run.threads), 2);
    check(run.other_threads == 0, "threads whose work is not that of their rank", static_cast<double>(run.other_threads), 0);
    check(run.waiting_seconds > 0.95 * least, "waiting", run.waiting_seconds, least);
    double explained = 0, visits = 0;
    for (const whywait::result::wait& w : run.waits)
      for (const whywait::result::cause& r : w.causes)
        if (r.block == "piece of work") explained += r.seconds, visits += static_cast<double>(r.late_visits);
    check(explained > 0.95 * least, "waiting because of the threads' work", explained, least);
    check(visits == steps * threads, "visits of the threads' work", visits, steps * threads);
  }
  MPI_Finalize();
  return failures;
}
