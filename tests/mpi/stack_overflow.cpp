// ranks: 1 2
// timeout: 60
// with: observer
// not: address thread
// exit nonzero
// file rank0.stderr ~ whywait: rank 0 of {ranks} ended by SIGSEGV after
//
// Last words after a stack overflow, of the thread that called MPI_Init or of another one. The program's own alternate stack stays.
// The sanitizers give threads stacks of their own.
#include "own_stderr.hpp"

#include <mpi.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

[[gnu::noinline]] int descend(volatile int* above) {
  volatile int frame[1024];
  frame[0] = *above + 1;
  const int below = frame[0] < 0 ? 0 : descend(frame);  // no tail call
  return below + frame[0];
}

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(0);  // a failure of this test
}

// The thread keeps the stack that it had set before its first MPI call.
void with_own_stack() {
  static char own[1 << 16];
  stack_t mine{}, now{};
  mine.ss_sp = own;
  mine.ss_size = sizeof own;
  sigaltstack(&mine, nullptr);
  MPI_Barrier(MPI_COMM_SELF);
  sigaltstack(nullptr, &now);
  require(now.ss_sp == own, "the own stack of a thread");
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) own_stderr("rank0.stderr");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::thread(with_own_stack).join();
    volatile int top = 0;
    if (ranks == 1 || level != MPI_THREAD_MULTIPLE) return descend(&top);
    std::thread([&] {
      MPI_Barrier(MPI_COMM_SELF);
      top = descend(&top);
    }).join();
  }
  int value;
  MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
