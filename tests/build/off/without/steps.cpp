// The program of ../with/steps.cpp, written without whywait.
#ifdef HAS_MPI
#include <mpi.h>
#endif

namespace {
int refined = 0;
}

int assemble(const int* cells, int count);
int assemble(const int* cells, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += cells[i];
  }
  if (sum > 0) {
  }
  { ++refined; }
  return sum;
}

#ifndef ONLY_MACROS
int solve(int steps);
int solve(int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += i * steps;
  return sum;
}
#endif

#ifndef ONLY_MACROS
void smooth(double* to, const double* from, long count);
void smooth(double* to, const double* from, long count) {
  for (long i = 1; i < count; ++i) to[i] = 2.0 * from[i];
  to[0] = to[1];
  to[2] += 1.0;
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
