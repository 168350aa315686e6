// A master prepares each task itself and sends it to the next worker that requests one (MPI_ANY_SOURCE):
//
//     mpirun -n 4 ./master_worker
//
// The workers wait for the master although the design leaves no rank idle, and the report names `prepare_task` as
// the cause. At the end the master waits for one long task, and the report names `solve_task` on the last worker.
// Work is simulated by sleeping, so that its duration is known on a machine with fewer cores than ranks.
#include <whywait/record.hpp>  // use whywait_observe(target) of CMake, or link cmake/observe.cpp

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

constexpr int tasks = 60;
constexpr int request_tag = 1, task_tag = 2;
constexpr int no_more = -1;

void busy_for(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

int prepare_task(int number) {
  WHYWAIT_REGION("prepare_task");
  busy_for(4000);  // serial, so that all workers queue for it
  return number;
}

double solve_task(int number) {
  WHYWAIT_REGION("solve_task");
  WHYWAIT_WORK(number == tasks - 1 ? 50u : 1u);
  busy_for(number == tasks - 1 ? 250000 : 5000);
  return number * 0.5;
}

double master(int workers) {
  WHYWAIT_REGION("master");
  double sum = 0;
  int prepared = 0, running = workers;
  while (running > 0) {
    double result;
    MPI_Status from;
    MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, request_tag, MPI_COMM_WORLD, &from);
    sum += result;
    const int task = prepared < tasks ? prepare_task(prepared++) : no_more;
    if (task == no_more) --running;
    MPI_Send(&task, 1, MPI_INT, from.MPI_SOURCE, task_tag, MPI_COMM_WORLD);
  }
  return sum;
}

void worker() {
  WHYWAIT_REGION("worker");
  double result = 0;
  for (;;) {
    MPI_Send(&result, 1, MPI_DOUBLE, 0, request_tag, MPI_COMM_WORLD);
    int task;
    MPI_Recv(&task, 1, MPI_INT, 0, task_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == no_more) return;
    result = solve_task(task);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    const double sum = master(ranks - 1);
    std::printf("master_worker: sum %.1f\n", sum);
  } else {
    worker();
  }
  MPI_Finalize();
  return 0;
}
