// ranks: 2 4
// with: observer_data
// environment: WHYWAIT_OUTPUT=out
// stderr ~ ^     \d `u` \(part\): [\d.]+ KiB in (14|28) messages
// stderr ~ ^     \d `u` \(part\): [\d.]+ KiB in (20|40) messages
// stderr !~ buffer was full|ignored|not followed
// stdout ~ ^done$
// json out.json
//
// A program requests an explanation while another thread continues to access registered arrays. The records of that
// thread are not lost, and the final report covers 7 rounds before the request and 10 after it, for each rank. They are two
// classes, because the function was called from two places.
#include <whywait/data.hpp>
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  int given = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> u(64), own(4096);
  WHYWAIT_DATA("u", u.data(), 64);
  WHYWAIT_DATA("own", own.data(), 4096);
  std::atomic<bool> over{false};
  std::thread other([&] {
    whywait::array_view<double, 1> v(own.data(), 4096);
    for (unsigned i = 0; !over; i = (i * 5 + 3) % 4096) {
      v(i) += 1.0;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  const auto rounds = [&](int count) {
    WHYWAIT_REGION("rounds");
    for (int i = 0; i < count; ++i) {
      WHYWAIT_WRITES("rounds", whywait::range(u.data(), 32));
      MPI_Sendrecv(u.data(), 32, MPI_DOUBLE, (rank + 1) % ranks, 1, u.data() + 32, 32, MPI_DOUBLE, (rank + ranks - 1) % ranks,
                   1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  };
  rounds(7);
  whywait::mpi::explain(MPI_COMM_WORLD);
  rounds(10);
  over = true;
  other.join();
  if (rank == 0) std::printf("done\n");
  MPI_Finalize();
  return 0;
}
