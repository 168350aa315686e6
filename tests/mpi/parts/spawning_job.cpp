// Spawns two processes of itself, meets them, waits for a message of one of them that comes late, and merges both worlds into one
// communicator, in which a rank of the own world comes late. Every rank says what it is; the first one, how long it waited.
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <cstdio>
#include <ctime>

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
void late(int ms) {
  WHYWAIT_REGION("late");
  timespec t{0, ms * 1000000L};
  nanosleep(&t, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm others, all;
  MPI_Comm_get_parent(&others);
  const bool spawned = others != MPI_COMM_NULL;
  double begin = now();
  if (!spawned) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  const double started = now() - begin;
  begin = now();
  if (spawned && rank == 0) late(300);
  if (spawned && rank == 0) MPI_Send(&value, 1, MPI_INT, 0, 1, others);
  if (!spawned && rank == 0) MPI_Recv(&value, 1, MPI_INT, 0, 1, others, MPI_STATUS_IGNORE);
  const double received = now() - begin;
  MPI_Intercomm_merge(others, spawned ? 1 : 0, &all);
  begin = now();
  if (spawned && rank == 1) late(200);
  int in_all = 0;
  MPI_Comm_rank(all, &in_all);
  if (spawned && rank == 1) MPI_Send(&value, 1, MPI_INT, in_all - 1, 2, all);
  if (spawned && rank == 0) MPI_Recv(&value, 1, MPI_INT, in_all + 1, 2, all, MPI_STATUS_IGNORE);
  if (!spawned) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  std::printf("%s rank %d finished\n", spawned ? "spawned" : "first", rank);
  if (!spawned && rank == 0) std::printf("started %.6f received %.6f\n", started, received);
  return 0;
}
