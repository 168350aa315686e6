// Includes the declarations of <whywait/mpi.hpp> and calls them.
#include <whywait/mpi.hpp>

#include <cstdio>

void take_steps();

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  whywait::rules::add("set threshold = 1 %;", "program.cpp");
  {
    WHYWAIT_REGION("steps");
    take_steps();
  }
  const whywait::report::result so_far = whywait::mpi::explain(MPI_COMM_WORLD);
#ifndef WHYWAIT_DISABLE
  std::printf("so far %ld calls, %zu warnings\n", static_cast<long>(so_far.run.mpi_calls), so_far.run.warnings.size());
  whywait::report::print_text(so_far, stdout);
#endif
  return MPI_Finalize();
}
