// A ring with one slow rank that may be killed, run by left_behind.py. Arguments are the folder for each rank's count
// of MPI calls, and the rank to kill, "all" or "none".
#include "comes_last.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

long calls = 0;

void say_count(const char* folder, int rank) {
  const std::string name = std::string(folder) + "/calls." + std::to_string(rank);
  std::FILE* const file = std::fopen((name + ".new").c_str(), "w");
  std::fprintf(file, "%ld", calls);
  std::fclose(file);
  std::rename((name + ".new").c_str(), name.c_str());
}

// The killer waits until all ranks have written their counts, because the launcher may end the others at any time
// afterwards.
void wait_for_all(const char* folder, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    while (access((std::string(folder) + "/calls." + std::to_string(rank)).c_str(), F_OK) != 0) usleep(10000);
}

// The program waits in a function of its own, which it calls from two places.
__attribute__((noinline)) void complete(MPI_Request* request) {
  ++calls, MPI_Wait(request, MPI_STATUS_IGNORE);
  __asm__ volatile("");  // so that it is no tail call
}
__attribute__((noinline)) void end_even_round(MPI_Request* request) {
  complete(request);
  __asm__ volatile("# even");  // so that the compiler does not merge the two
}
__attribute__((noinline)) void end_odd_round(MPI_Request* request) {
  complete(request);
  __asm__ volatile("# odd");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ++calls, MPI_Init(&argc, &argv);
  int rank, ranks, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);  // a local call, which is not intercepted
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  comes_last order;
  for (int round = 0; round < 20; ++round) {
    WHYWAIT_REGION("round");
    MPI_Request request;
    ++calls, MPI_Irecv(&value, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &request);
    if (rank == 1) order.after_all();  // the others have already sent
    {
      WHYWAIT_REGION("compute");
      if (rank == 1) usleep(5000);
    }
    ++calls, MPI_Send(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    if (rank != 1) order.waits_for(1);
    round % 2 == 0 ? end_even_round(&request) : end_odd_round(&request);
    ++calls, MPI_Barrier(MPI_COMM_WORLD);
  }
  const bool all = std::strcmp(argv[2], "all") == 0;
  const int victim = all || std::strcmp(argv[2], "none") == 0 ? -1 : std::atoi(argv[2]);
  if (victim >= 0 || all) {
    WHYWAIT_REGION("the end");
    if (rank != victim && !all) ++calls;
    say_count(argv[1], rank);
    if (rank == victim || all) {
      wait_for_all(argv[1], ranks);
      if (!all) {  // they are in the call that they have counted
        order.after_all();
        usleep(100000);
      }
      std::raise(SIGKILL);
    }
    order.waits_for(victim);
    MPI_Recv(&value, 1, MPI_INT, victim, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
