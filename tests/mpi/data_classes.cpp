// ranks: 4
// with: observer_data comes_last.cpp
// environment: WHYWAIT_OUTPUT=out
// stderr ~ `table`\s+is\s+handed\s+on\s+from\s+rank\s+to\s+rank,\s+unchanged,\s+up\s+to\s+3\s+times;\s+the\s+last\s+rank\s+gets\s+it\s+after\s+3\s+messages\s+in\s+a\s+row
// stderr ~ try: use MPI_Bcast: 2 steps instead of 3
// stderr ~ 27\s+of\s+30\s+transfers\s+of\s+`edge`\s+repeated\s+data\s+that\s+the\s+sender\s+had\s+sent\s+to\s+the\s+same\s+rank\s+before\s+and\s+that\s+was\s+not\s+written\s+since
// stderr ~ try: send it only when it has changed: the receiver still has it
// stderr ~ 75\s+%\s+of\s+what\s+is\s+received\s+of\s+`halo`\s+at\s+MPI_Recv\s+in\s+halos\s+\(data_classes\.cpp:\d+\)\s+is\s+overwritten\s+or\s+never\s+read:\s+1\.50\s+KiB\s+of\s+2\s+KiB
// stderr ~ ^        produced by `fill`; 1 pair of ranks$
// stderr ~ ^        received at MPI_Recv in hand_on \(data_classes\.cpp:\d+\),
// stderr !~ warning
// file out.json ~ "problem": "relay_chain"
// file out.json ~ "problem": "unchanged_data"
// file out.json ~ (?s)"data": "late",((?!"data":).)*"seconds": (0\.0[3-9]|0\.[1-9]|[1-9])[^,]*,\s+"wait_seconds": (0\.0[3-9]|0\.[1-9]|[1-9])
// json out.json
//
// Reasons of messages in a real run. Data is relayed from rank to rank, the same data is sent repeatedly, more is sent
// than read, and a sender is late, whose class gets the wait.
#include "parts/comes_last.hpp"

#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>

#include <chrono>
#include <thread>

namespace {

int rank = 0, ranks = 1;

void hand_on(double* table, int n) {
  WHYWAIT_REGION("hand_on");
  if (rank != 0) MPI_Recv(table, n, MPI_DOUBLE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank + 1 != ranks) MPI_Send(table, n, MPI_DOUBLE, rank + 1, 1, MPI_COMM_WORLD);
}

void send_again(double* edge, int n) {
  WHYWAIT_REGION("again");
  if (rank > 1) return;
  for (int i = 0; i < 30; ++i) {
    if (rank == 0) {
      if (i % 10 == 0) WHYWAIT_WRITES("renew", whywait::range(edge, n));
      MPI_Send(edge, n, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else {
      MPI_Recv(edge, n, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      WHYWAIT_READS("use_edge", whywait::range(edge, n));
    }
  }
}

void halos(double* halo, int n) {
  WHYWAIT_REGION("halos");
  if (rank == 2) {
    WHYWAIT_WRITES("fill", whywait::range(halo, n));
    MPI_Send(halo, n, MPI_DOUBLE, 3, 3, MPI_COMM_WORLD);
  } else if (rank == 3) {
    MPI_Recv(halo, n, MPI_DOUBLE, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    WHYWAIT_READS("use_halo", whywait::range(halo, n / 4));
  }
}

void come_late(double* late, int n, comes_last& order) {
  WHYWAIT_REGION("come_late");
  if (rank == 0) {
    order.after(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(31));
    MPI_Send(late, n, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    order.waits_for(0);
    MPI_Recv(late, n, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  comes_last order;
  constexpr int n = 256;
  double table[n] = {}, edge[n] = {}, halo[n] = {}, late[n] = {};
  WHYWAIT_DATA("table", table, n);
  WHYWAIT_DATA("edge", edge, n);
  WHYWAIT_DATA("halo", halo, n);
  WHYWAIT_DATA("late", late, n);
  hand_on(table, n);
  send_again(edge, n);
  halos(halo, n);
  MPI_Barrier(MPI_COMM_WORLD);
  come_late(late, n, order);
  MPI_Finalize();
}
