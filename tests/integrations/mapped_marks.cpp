// A program with marks of Caliper and NVTX, which is observed by whywait; the last rank is slow in one mark of each.
#include <whywait/caliper.hpp>
#include <whywait/nvtx.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

static bool slow = false;

static void advance() {
  CALI_CXX_MARK_FUNCTION;
  usleep(slow ? 8000 : 1000);
}
static void pack() {
  NVTX3_FUNC_RANGE();
  usleep(500);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  slow = rank == ranks - 1;
  CALI_CXX_MARK_LOOP_BEGIN(steps, "time loop");
  for (int i = 0; i != 10; ++i) {
    CALI_CXX_MARK_LOOP_ITERATION(steps, i);
    advance();
    CALI_MARK_BEGIN("exchange");
    pack();
    nvtxRangePushA("wait for a friend");
    usleep(slow ? 6000 : 500);
    nvtxMarkA("a mark");
    if (nvtxRangePop() != 0) std::printf("FAILED: a range is still open\n");
    {
      nvtx3::scoped_range inner{"inner"};
      nvtxEventAttributes_t what;
      what.messageType = NVTX_MESSAGE_TYPE_ASCII;
      what.message.ascii = "by attributes";
      if (nvtxRangePushA("outer") != 0 || nvtxRangePushEx(&what) != 1) std::printf("FAILED: wrong depth\n");
      nvtxRangePop();
      nvtxRangePop();
    }
    CALI_MARK_END("exchange");
    double one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  CALI_CXX_MARK_LOOP_END(steps);
  if (nvtxRangePop() != -1) std::printf("FAILED: no range was open\n");
  CALI_WRAP_STATEMENT("wrapped", usleep(10));
  MPI_Finalize();
}
