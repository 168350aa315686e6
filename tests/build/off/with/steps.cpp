// Uses everything that record.hpp and mpi.hpp offer; ../without/steps.cpp is the same program without.
#ifdef HAS_MPI
#include <whywait/mpi.hpp>
#endif
#include <whywait/record.hpp>

namespace {
int refined = 0;
}

int assemble(const int* cells, int count);
int assemble(const int* cells, int count) {
  WHYWAIT_REGION("assemble");
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    WHYWAIT_BLOCK("add");
    sum += cells[i];
  }
  if (sum > 0) {
    WHYWAIT_BLOCK("positive");
    WHYWAIT_WORK(sum);
  }
  WHYWAIT_NEXT("refine");
  {
    WHYWAIT_WAIT("refined");
    ++refined;
  }
  return sum;
}

#ifndef ONLY_MACROS
int solve(int steps);
int solve(int steps) {
  const whywait::region scope("solve");
  int sum = 0;
  whywait::begin("loop");
  for (int i = 0; i < steps; ++i) sum += i * steps;
  whywait::end("loop");
  whywait::work(3);
  return sum;
}
#endif

#ifdef HAS_MPI
int exchange(int* value, MPI_Comm comm);
int exchange(int* value, MPI_Comm comm) {
  MPI_Request request;
  MPI_Isend(value, 1, MPI_INT, 0, 1, comm, &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif
