// Uses everything in record.hpp and mpi.hpp; ../without/steps.cpp is the same program without whywait.
#ifdef HAS_MPI
#include <whywait/mpi.hpp>
#endif
#include <whywait/data.hpp>
#include <whywait/record.hpp>

namespace {
int refined = 0;
}

int assemble(const int* cells, int count);
int assemble(const int* cells, int count) {
  WHYWAIT_DATA("cells", cells, count);
  WHYWAIT_REGION("assemble");
  WHYWAIT_ITERATIONS("assemble", 0, count);
  WHYWAIT_READS("assemble", whywait::range(cells, count), whywait::range(cells, whywait::box({0, count})).at_most());
  WHYWAIT_WRITES("assemble", whywait::range(&refined));
  WHYWAIT_PACKS(&refined, cells, count, 2);
  WHYWAIT_UNPACKS(&refined, cells, count, 2);
  WHYWAIT_SYNC("cells");
  WHYWAIT_SYNC_ALL("cells");
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

#ifndef ONLY_MACROS
void smooth(double* to, const double* from, long count);
void smooth(double* to, const double* from, long count) {
  const whywait::registered_array array = whywait::registered_array::sampled("to", to, whywait::shape(count));
  whywait::reads("smooth", whywait::range(from, count));
  whywait::synchronise("smooth");
  const whywait::array_view<double> v(to, count);
  const whywait::array_view<const double> u(from, count);
  for (long i = 1; i < count; ++i) v[i] = 2.0 * u[i];
  whywait::tracked<double>* const last = reinterpret_cast<whywait::tracked<double>*>(to);
  last[0] = last[1];
  last[2] += 1.0;
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
