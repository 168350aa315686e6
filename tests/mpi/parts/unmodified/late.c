/* Rank 1 waits for messages of rank 0, which sleeps first. Built without whywait; MARKED adds marks.
 * Prints its result, and what it measured itself: seconds from receive to send, and MPI calls of both ranks. */
#ifdef MARKED
#include <whywait/whywait.h>
#endif
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  enum { steps = 8 };
  int rank, values[100], others[100], sum = 0;
  double own = 0, waited = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; ++i) values[i] = rank + 1;
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[2];
    if (rank == 0) {
#ifdef MARKED
      whywait_begin("plan");
      whywait_next("prepare");
      whywait_work(step + 1);
      whywait_block("part");
#endif
      usleep(25000);
#ifdef MARKED
      whywait_end("prepare");
      whywait_wait("nothing");
      whywait_end("nothing");
#endif
      own += seconds();
      MPI_Send(values, 100, MPI_INT, 1, 7, MPI_COMM_WORLD); /* the late send */
    } else {
      own -= seconds();
      MPI_Recv(values, 100, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the receive */
    }
    MPI_Isend(values, 100, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(others, 100, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, others, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 100; ++i) values[i] = (values[i] + others[i]) % 1000;
  }
  MPI_Reduce(&own, &waited, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i) sum += values[i];
  if (rank == 0) printf("result %d\nmeasured %.9f s, calls %d\n", sum, waited, 2 * (3 + steps * 5));
  MPI_Finalize();
  return 0;
}
