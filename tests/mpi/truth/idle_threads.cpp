// Threads that only exist: in each step rank 1 solves for 7 ms and rank 0 for 1 ms, and rank 0 waits for
// rank 1, whatever threads sleep beside them.
//
//   idle_threads [--pool N] [--short 1] [--steps N]
//
// --pool: threads of a pool, each of which ran a region once. --short: each step's work is done by a thread of its own.
#include "stamps.hpp"

#include <whywait/record.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  stamps::log log;
  const stamps::options options(argc, argv);
  const int steps = options.count("--steps", 60), pool = options.count("--pool", 0);
  const bool one_each = options.count("--short", 0) != 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  std::mutex mutex;
  std::condition_variable change;
  bool ended = false;
  int ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < pool; ++i)
    threads.emplace_back([&] {
      { WHYWAIT_REGION("warm_up"); }
      std::unique_lock<std::mutex> lock(mutex);
      ++ready;
      change.notify_all();
      change.wait(lock, [&] { return ended; });
    });
  {
    std::unique_lock<std::mutex> lock(mutex);
    change.wait(lock, [&] { return ready == pool; });
  }

  log.meet();
  log("run", [&] {
    const double work = rank == 1 ? 0.007 : 0.001;
    for (int step = 0; step < steps; ++step) {
      double value = 0;
      log("solve", [&] {
        const auto task = [work] {
          WHYWAIT_REGION("solve");
          stamps::nap(work);
        };
        if (one_each) std::thread(task).join();
        else task();
      });
      if (rank == 1) log("MPI_Send", [&] { MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); });
      if (rank == 0) log("MPI_Recv", [&] { MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    }
  });
  {
    std::lock_guard<std::mutex> lock(mutex);
    ended = true;
    change.notify_all();
  }
  for (std::thread& t : threads) t.join();
  log.write();
  MPI_Finalize();
  return 0;
}
