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
  const whywait::result so_far = whywait::mpi::explain(MPI_COMM_WORLD);
  if (so_far)
    std::printf("so far %ld calls, %zu warnings\n%s", static_cast<long>(so_far.mpi_calls), so_far.warnings.size(),
                so_far.text().c_str());
  else std::printf("%s\n", so_far.reason.c_str());
  return MPI_Finalize();
}
