// ranks: 2 4
// with: observer_data
// environment: WHYWAIT_OUTPUT=out
// stderr ~ ^    shared memory$
// stderr ~ `slots`: false sharing in 1 piece
// stderr ~ R count\s+\(data_windows\.cpp\) · I MPI_Barrier in rounds\s+\(data_windows\.cpp:\d+\) · W\s+count\s+\(data_windows\.cpp\)
// stderr ~ written\s+by\s+ranks\s+0( and |-)\d
// stderr ~ `field`: producer-consumer 1:1 in 1 piece
// stderr ~ R use\s+\(data_windows\.cpp\) · I MPI_Barrier in rounds\s+\(data_windows\.cpp:\d+\) · W\s+make\s+\(data_windows\.cpp\)\s+\(read\s+by\s+rank\s+1\)
// stderr !~ warning
// file out.json ~ (?s)"data": "slots",\s+"pattern": "false sharing",.*"who": "rank"
// json out.json
//
// Memory that ranks share (MPI_Win_allocate_shared). Some ranks write one cache line, and one rank reads what another
// has written and sends single elements of it to itself. MPI_Barrier makes the writes visible.
#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int slots = 8, all = 16;
  double* memory = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(rank == 0 ? all * sizeof(double) : 0, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                          &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &bytes, &unit, &memory);
  const int lengths[] = {1, 2, 1}, places[] = {0, 2, 7};
  MPI_Datatype some;
  MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &some);
  MPI_Type_commit(&some);
  double sum = 0, got[4] = {};
  {
    WHYWAIT_DATA("slots", memory, slots);
    WHYWAIT_DATA("field", memory + slots, all - slots);
    WHYWAIT_REGION("rounds");
    for (int i = 0; i < 4; ++i) {
      memory[rank] = i;
      WHYWAIT_WRITES("count", whywait::range(memory + rank));
      if (rank == 0) {
        memory[slots] = i;
        WHYWAIT_WRITES("make", whywait::range(memory + slots, all - slots));
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 1) {
        sum += memory[slots];
        WHYWAIT_READS("use", whywait::range(memory + slots, all - slots));
        WHYWAIT_DATA("got", got, 4);
        MPI_Sendrecv(memory + slots, 1, some, 0, 0, got, 4, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&some);
  MPI_Win_free(&window);
  MPI_Finalize();
  return rank != 1 || sum == 6 ? 0 : 1;
}
