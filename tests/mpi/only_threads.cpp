// ranks: 1
// with: observer
// stderr ~ ^whywait: this program never called MPI_Init: what its threads wait for is not explained, there is no report$
//
// A program that starts threads with marks and never calls MPI.
#include <whywait/mpi.hpp>

#include <thread>

int main() {
  for (int i = 0; i != 4; ++i) std::thread([] { WHYWAIT_REGION("work"); }).join();
  return 0;
}
