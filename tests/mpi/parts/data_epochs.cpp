// A program for data_epochs.py. It sends its registered arrays in many ways and meets at a barrier repeatedly, while
// messages, persistent requests, probed messages and wildcard receives are pending. Two threads share an array, or with
// "ranks" all ranks of the machine. The use of data is the same in each run.
#include "comes_last.hpp"

#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

constexpr int n = 64;
int rank = 0, ranks = 1, right = 0, left = 0;

void nap(long milliseconds) {
  const timespec t{0, milliseconds * 1000000};
  nanosleep(&t, nullptr);
}

void compute(double* u, double* v, int step) {
  WHYWAIT_REGION("compute");
  WHYWAIT_ITERATIONS("compute", rank * n, (rank + 1) * n, 1);
  WHYWAIT_READS("compute", whywait::range(v, n));
  for (int i = 0; i < n; ++i) u[i] = v[i] + step;
  for (int i = 0; i < n; ++i) WHYWAIT_WRITES("compute", whywait::range(u + i, 1));
}

// Rank 0 is late. It sleeps after its neighbours have sent and wait.
void halo(double* u, double* v, MPI_Comm comm, comes_last& order) {
  WHYWAIT_REGION("halo");
  MPI_Request requests[4];
  MPI_Irecv(v, 8, MPI_DOUBLE, left, 1, comm, &requests[0]);
  MPI_Irecv(v + 8, 8, MPI_DOUBLE, right, 2, comm, &requests[1]);
  if (rank == 0) {
    order.after(right);
    if (left != right) order.after(left);
    nap(1);
  }
  MPI_Isend(u + n - 8, 8, MPI_DOUBLE, right, 1, comm, &requests[2]);
  MPI_Isend(u, 8, MPI_DOUBLE, left, 2, comm, &requests[3]);
  if (right == 0 || left == 0) order.waits_for(0);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

void hand_on(double* table) {
  WHYWAIT_REGION("hand_on");
  if (rank != 0) MPI_Recv(table, n, MPI_DOUBLE, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 != ranks) MPI_Send(table, n, MPI_DOUBLE, rank + 1, 3, MPI_COMM_WORLD);
}

void exchange(double* letters, MPI_Comm comm) {
  MPI_Sendrecv(letters, 4, MPI_DOUBLE, right, 8, letters + 32, 4, MPI_DOUBLE, left, 8, comm, MPI_STATUS_IGNORE);
}

/// Ends all registrations before the window is freed.
int run(int steps, bool by_ranks, double* shared, MPI_Comm same) {
  comes_last order;
  std::vector<double> u(n), v(n), table(n), letters(n), sums(n), counters(16);
  WHYWAIT_DATA("u", u.data(), n);
  WHYWAIT_DATA("v", v.data(), n);
  WHYWAIT_DATA("table", table.data(), n);
  WHYWAIT_DATA("sums", sums.data(), n);
  WHYWAIT_DATA("shared", shared, 8);
  alignas(64) long counter[2] = {};
  WHYWAIT_DATA("counter", counter, 2);

  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  const auto count = [&](int thread) {
    WHYWAIT_REGION("count");
    ++counter[thread];
    WHYWAIT_WRITES("count", whywait::range(&counter[thread], 1));
    WHYWAIT_SYNC_ALL("counted");
    pthread_barrier_wait(&barrier);
  };
  std::thread other([&] {
    for (int k = 0; k < steps && !by_ranks; ++k) count(1);
  });

  int wrong = 0;
  MPI_Request late, again[2];
  MPI_Message probed;
  MPI_Send_init(u.data() + 8, 8, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &again[0]);
  MPI_Recv_init(v.data() + 48, 8, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &again[1]);
  if (rank == 0) WHYWAIT_WRITES("begin", whywait::range(table.data(), n));
  for (int k = 0; k < steps; ++k) {
    compute(u.data(), v.data(), k);
    halo(u.data(), v.data(), k % 2 == 0 ? MPI_COMM_WORLD : same, order);
    hand_on(table.data());
    if (k < steps / 2) {
      exchange(letters.data(), same);
    } else {  // the same messages, registered from here on
      WHYWAIT_DATA("letters", letters.data(), n);
      exchange(letters.data(), same);
    }
    if (!by_ranks) count(0);
    if (k > 0) {  // from the previous step, posted or sent before the meeting, or both
      WHYWAIT_REGION("across");
      MPI_Wait(&late, MPI_STATUS_IGNORE);
      if (v[16] != k - 1) ++wrong;
      MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
      MPI_Recv(v.data() + 24, 8, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Mrecv(v.data() + 32, 8, MPI_DOUBLE, &probed, MPI_STATUS_IGNORE);
    }
    shared[rank] += 1;
    if (by_ranks) WHYWAIT_WRITES("own", whywait::range(&shared[rank], 1));
    MPI_Allreduce(u.data(), sums.data(), n, MPI_DOUBLE, MPI_SUM, same);
    MPI_Irecv(v.data() + 16, 8, MPI_DOUBLE, k % 3 == 0 ? MPI_ANY_SOURCE : left, 4, MPI_COMM_WORLD, &late);
    MPI_Startall(2, again);
    MPI_Send(u.data() + 24, 8, MPI_DOUBLE, right, 5, MPI_COMM_WORLD);
    MPI_Send(u.data() + 32, 8, MPI_DOUBLE, right, 6, MPI_COMM_WORLD);
    MPI_Mprobe(left, 6, MPI_COMM_WORLD, &probed, MPI_STATUS_IGNORE);
    if (rank == 0) nap(1);
    MPI_Barrier(MPI_COMM_WORLD);
    u[40] = k;
    WHYWAIT_WRITES("number", whywait::range(&u[40], 8));
    MPI_Send(u.data() + 40, 8, MPI_DOUBLE, right, 4, MPI_COMM_WORLD);
  }
  MPI_Wait(&late, MPI_STATUS_IGNORE);
  MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
  MPI_Recv(v.data() + 24, 8, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Mrecv(v.data() + 32, 8, MPI_DOUBLE, &probed, MPI_STATUS_IGNORE);
  for (MPI_Request& r : again) MPI_Request_free(&r);
  other.join();
  pthread_barrier_destroy(&barrier);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 50;
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  MPI_Comm same;
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  double* shared = nullptr;
  MPI_Win window;
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);

  const int wrong = run(steps, argc > 2 && std::strcmp(argv[2], "ranks") == 0, shared, same);
  if (wrong != 0) std::printf("%d messages were wrong on rank %d\n", wrong, rank);
  MPI_Win_free(&window);
  MPI_Comm_free(&same);
  MPI_Finalize();
  return wrong != 0;
}
