// ranks: 4
// with: mpi_once communication_once
// environment: WHYWAIT_OUTPUT=out
// stderr ~ `table` is handed on from rank to rank, unchanged, up to 3 times; the last rank\s+gets it after 3 messages in a row
// stderr ~ try: use MPI_Bcast: 2 steps instead of 3
// stderr ~ 27 of 30 transfers of `edge` carried what the same rank had sent to the same\s+rank\s+before and nobody had written since
// stderr ~ try: send it only when it has changed: the receiver still has it
// stderr ~ 75 % of what is received of `halo` at MPI_Recv in halos \(data_classes\.cpp:\d+\)\s+is\s+overwritten or left without anybody reading it: 1\.5 KiB of 2\.0 KiB
// stderr ~ ^        produced by `fill`; 1 pair of ranks$
// stderr ~ ^        received at MPI_Recv in hand_on \(data_classes\.cpp:\d+\),
// stderr !~ warning
// file out.json ~ (?s)"problem": "relay_chain".*"problem": "unchanged_data"|(?s)"problem": "unchanged_data".*"problem": "relay_chain"
// file out.json ~ (?s)"data": "late",.*?"seconds": (0\.0[2-9]|0\.[1-9]).*?"wait_seconds": (0\.0[2-9]|0\.[1-9])
// json out.json
//
// Why messages were sent, from a real run: data that is relayed from rank to rank, the same data again and again, more than
// is read, and a sender that is late, whose class has that waiting.
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

void come_late(double* late, int n) {
  WHYWAIT_REGION("come_late");
  if (rank == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    MPI_Send(late, n, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(late, n, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
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
  come_late(late, n);
  MPI_Finalize();
}
