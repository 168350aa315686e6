// A slow receiver of many small messages: the buffers fill up, and then MPI_Send blocks until it receives again.
//
//   flow_control [--messages N] [--bytes N] [--rounds N]
#include "stamps.hpp"

#include <whywait/record.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps::log log;
  const stamps::options options(argc, argv);
  const int rounds = options.count("--rounds", 3), messages = options.count("--messages", 2000);
  const int bytes = options.count("--bytes", 64);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> packet(static_cast<std::size_t>(bytes));

  log.meet();
  log("run", [&] {
    for (int i = 0; i < rounds; ++i) {
      if (rank == 1)
        log("filter", [&] {
          WHYWAIT_REGION("filter");
          stamps::nap(0.150);
        });
      const auto exchange = [&](const char* name, auto one) {
        double begin = stamps::now();
        for (int m = 0; m < messages; ++m) {
          one();
          const double end = stamps::now();
          if (m == 0 || end - begin > 0.02) log.add(name, begin, end);  // the first one and those that block
          begin = end;
        }
      };
      if (rank == 0) exchange("MPI_Send", [&] { MPI_Send(packet.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD); });
      else if (rank == 1)
        exchange("MPI_Recv", [&] { MPI_Recv(packet.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
      log("MPI_Barrier", [&] { MPI_Barrier(MPI_COMM_WORLD); });
    }
  });
  log.write();
  MPI_Finalize();
  return 0;
}
