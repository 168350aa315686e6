// ranks: 2 4
// with: observer comes_last.cpp
// environment: WHYWAIT_RULES=broken.rules:missing.rules:list WHYWAIT_OUTPUT=out
// stdout ~ ^rank 0 got 15$
// stderr ~ ^broken\.rules:2:15: whywait-R021: .*\n             when w\.duratoin > 1 ms.*\n {18}\^~+$
// stderr ~ did you mean duration
// stderr ~ ^broken\.rules:\d+:\d+: whywait-R010: expected
// stderr ~ ^missing\.rules: whywait-R070: cannot be read: No such file or directory
// stderr ~ ^broken\.rules:6:\d+: whywait-R060: this divides by zero; the affected events were skipped, \d times$
// stderr !~ R060[^$]*R060
// stderr ~ ^  divides +for wait \(broken\.rules\)$
// stderr ~ ^  late_sender +for late_sender \(built-in/messages\)$
// stderr ~ ^ \d  late sender
// stderr ~ try: call MPI_Send
// stderr ~ warning: 4 errors in rules
// json out.json
//
// Rank 0 prints each error in rules once, with its position. Errors affect neither the run nor the rest of the report.
#include "parts/comes_last.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, number = 15;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    if (std::FILE* const file = std::fopen("broken.rules", "w")) {
      std::fputs(
          "declare composite event typo member ( wait as w )\n"
          "         when w.duratoin > 1 ms parameters ( d = w.duration );\n"
          "declare problem for wait parameters name = \"x\";\n"
          "declare problem for wait\n"
          "  when pattern = 'late_sender' or pattern = 'wait_at_barrier'\n"
          "  parameters ( name = \"divides\", duration = duration / (count - count) );\n",
          file);
      std::fclose(file);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  comes_last order;
  if (rank == 1) {
    order.after(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    order.waits_for(0);
  }
  if (rank == 0) {
    order.waits_for(1);
    MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("rank 0 got %d\n", number);
    order.after(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
