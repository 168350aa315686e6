// Even ranks sleep three times as long as odd ones: load balance 2/3, no more lost, and the long sleep, made shorter by
// half, makes the run almost so much shorter. Both notations of a question are one.
//
// with: mpi_once
// ranks: 2 4
// environment: WHYWAIT_OUTPUT=out "WHYWAIT_WHATIF=block slow part x2; slow part=0.5,network=0; no such=0; slow=; network=x"
// stdout ~ ^done$
// stderr ~ ^  efficiency \d+ % = load balance \d+ % × serialisation \d+ % × transfer \d+ %$
// stderr ~ ^    critical path  .*above mean  x2 saves$
// stderr ~ ^      slow part \(efficiency\.cpp:\d+\)\s+\d+ ms\s+\d+ ms\s+\d+ ms$
// stderr ~ ^      block slow part x2: \d.*, saves \d
// stderr ~ ^        by the clocks of the critical path; replay is [+-]\d+\.\d % from that$
// stderr ~ ^      slow part=0\.5,network=0: \d.*, saves \d
// stderr ~ ^      no such=0: no answer: no time was recorded for a block 'no such'$
// stderr ~ whywait-P023: expected the part of its time that stays, such as 0\.5 or 0\n   slow=\n        \^
// stderr ~ whywait-P023: expected the part of its time that stays, such as 0\.5 or 0\n   network=x\n           \^
// json out.json
// file out.json ~ "load_balance": ?0\.[67]
// file out.json ~ "balance_between_nodes": ?(1|0\.99\d*),?\s
// file out.json ~ (?s)"critical_path": \[\s*\{\s*"block": "slow part".*?"saving_seconds": 0\.[01]
// file out.json ~ (?s)"delay_costs": \[\s*\{\s*"block": "slow part"
// file out.json ~ "engine": "clocks"
#include <whywait/record.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < 10; ++step) {
    if (rank % 2 == 0) {
      WHYWAIT_REGION("slow part");
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    } else {
      WHYWAIT_REGION("quick part");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) std::puts("done");
  MPI_Finalize();
  return 0;
}
