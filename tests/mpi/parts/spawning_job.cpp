// Spawns two processes of itself and meets them. Every rank says what it is.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm others;
  MPI_Comm_get_parent(&others);
  const bool spawned = others != MPI_COMM_NULL;
  if (!spawned) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  MPI_Barrier(others);
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  std::printf("%s rank %d finished\n", spawned ? "spawned" : "first", rank);
  return 0;
}
