// ranks: 2
// with: observer
// timeout: 100
// environment: WHYWAIT_OUTPUT=unknown
// json unknown.json
// file unknown.json ~ "nothing_worth_changing": false
// stderr ~ of rank time is inside MPI calls that whywait does not understand:\s+MPI_
// stderr !~ nothing worth changing
//
// One rank is late before calls that the explanation does not model. What the other one loses is neither a wait of the report
// nor forgotten: it is the time that is not understood.
#include <whywait/mpi.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

int rank, failures;
double lost = 0;  // of this rank, by its own clock

template <class Call>
void after_a_nap(Call&& call) {
  for (int i = 0; i != 10; ++i) {
    usleep(rank == 1 ? 20000 : 5000);
    const double begin = MPI_Wtime();
    call();
    lost += MPI_Wtime() - begin;
  }
}

double before = 0;  // not understood until now

/// Compares what was added since the last time. `least`: the share of the lost time that is inside calls.
void compare(const char* what, double least = 0.8) {
  const whywait::result result = whywait::mpi::explain(MPI_COMM_WORLD);
  double truth = 0;
  PMPI_Allreduce(&lost, &truth, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  lost = 0;
  if (rank != 0) return;
  const double found = result.not_understood_seconds - before;
  before = result.not_understood_seconds;
  std::printf("%s: lost %.3f s, not understood %.3f s\n", what, truth, found);
  // Of a call that could have taken some time itself only what is beyond that is not understood.
  const bool close = found > least * truth - 0.002 && found < 1.02 * truth + 0.01;
  if (close && truth > 0.12) return;
  std::fprintf(stderr, "%s: lost %g s, not understood %g s\n", what, truth, found);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int in = rank, out[2] = {0, 0};
  MPI_Request request;

  // The program completes a request itself: from here on there may be requests that no wrapper knows.
  MPI_Grequest_start([](void*, MPI_Status* status) { return MPI_Status_set_elements(status, MPI_INT, 0); },
                     [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; }, nullptr, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  before = whywait::mpi::explain(MPI_COMM_WORLD).not_understood_seconds;
  after_a_nap([&] {
    PMPI_Iallreduce(&in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  compare("MPI_Wait of a request that no wrapper saw");
  after_a_nap([&] {
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int over = 0; over == 0;) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  });
  compare("MPI_Test of a request that no wrapper saw", 0.7);  // pauses of the loop are its own
  MPI_Comm hidden;
  PMPI_Comm_dup(MPI_COMM_WORLD, &hidden);
  after_a_nap([&] { MPI_Allreduce(&in, out, 1, MPI_INT, MPI_SUM, hidden); });
  compare("MPI_Allreduce on a communicator that no wrapper saw");
  PMPI_Comm_free(&hidden);

  long* flag = nullptr;
  MPI_Win window;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &window);
  *flag = 0;
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  before = whywait::mpi::explain(MPI_COMM_WORLD).not_understood_seconds;
  const auto set_flag = [&](long to) {
    long old = 0;
    MPI_Fetch_and_op(&to, &old, MPI_LONG, 0, 0, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
  };
  long step = 0;
  after_a_nap([&] {
    ++step;
    if (rank == 1) return set_flag(step);
    for (long seen = 0, nothing = 0; seen < step;) {
      MPI_Fetch_and_op(&nothing, &seen, MPI_LONG, 0, 0, MPI_NO_OP, window);
      MPI_Win_flush(0, window);
    }
  });
  compare("a flag in a window");
  if (rank == 0) set_flag(1);  // the mutex is taken
  MPI_Barrier(MPI_COMM_WORLD);
  before = whywait::mpi::explain(MPI_COMM_WORLD).not_understood_seconds;
  after_a_nap([&] {
    if (rank == 1) return set_flag(0);
    for (long taken = 1, free = 0, old = 1; old != 0;) {
      MPI_Compare_and_swap(&taken, &free, &old, MPI_LONG, 0, 0, window);
      MPI_Win_flush_all(window);
    }
  });
  compare("a mutex in a window");
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return failures;
}
