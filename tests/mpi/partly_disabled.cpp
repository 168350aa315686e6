// ranks: 2 4
// timeout: 60
// with: observer
// stderr ~ ^whywait: switched off on 1 of \d ranks \(WHYWAIT_ENABLE=0 in their environment
// stderr !~ (?s)whywait:.*whywait:
// stdout ~ rank 0 finished
// stdout ~ rank 1 finished
//
// A launcher passes the environment to some ranks only. The ranks agree, none of them waits for the others, and one line says so.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <unistd.h>

int main(int argc, char** argv) {
  const char* own = nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* value = std::getenv(name)) own = value;
  if (own != nullptr && std::strcmp(own, "1") == 0 && std::getenv("WHYWAIT_ENABLE") == nullptr) {
    setenv("WHYWAIT_ENABLE", "0", 1);  // the variable is read before main, so restart
    execv("/proc/self/exe", argv);
    return 9;
  }
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::printf("rank %d finished\n", rank);
  return 0;
}
