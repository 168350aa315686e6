// ranks: 2
// with: observer
// timeout: 100
// tries 3
//
// Threads that only exist do not dilute the waiting of their rank: pools of 7 and of 63 that sleep, and 60 short-lived ones,
// most of which have run a marked piece of work. Rank 1 waits for most of the time.
#include <whywait/mpi.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

int rank, failures;

void check(bool holds, const char* text, double found, double expected) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s: found %g, expected %g\n", text, found, expected);
  ++failures;
}

/// Threads that mark one millisecond of work each and then sleep.
class pool {
 public:
  explicit pool(int size) {
    for (int i = 0; i < size; ++i)
      threads_.emplace_back([this, i] {
        if (i % 2 == 0) {
          WHYWAIT_REGION("warm up");
          usleep(1000);
        }
        std::unique_lock<std::mutex> guard(mutex_);
        over_.wait(guard, [this] { return stop_; });
      });
  }
  ~pool() {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      stop_ = true;
    }
    over_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

void short_lived(int count) {
  for (int i = 0; i < count; ++i)
    std::thread([] {
      WHYWAIT_REGION("short");
      usleep(1000);
    }).join();
}

/// The time this rank spent in MPI calls that may wait.
double waited = 0;

/// Rank 0 works for 0.42 s while rank 1 waits; then both work for 0.08 s.
void run() {
  int value = 0;
  if (rank == 0) {
    usleep(420000);
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    const double begin = MPI_Wtime();
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    waited += MPI_Wtime() - begin;
  }
  usleep(80000);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  const double begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  short_lived(60);
  {
    const pool seven(7);
    run();
  }
  {
    const pool many(63);
    run();
  }
  // on a busy machine one rank comes much later here than the other, so this wait counts as well
  const double at_barrier = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  waited += MPI_Wtime() - at_barrier;
  const whywait::result run = whywait::mpi::explain(MPI_COMM_WORLD);
  double elapsed = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &waited, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    check(run.rank_seconds < 2 * elapsed, "rank time is that of two ranks", run.rank_seconds, 2 * elapsed);
    check(run.rank_seconds > 1.8 * run.seconds, "rank time is that of two ranks", run.rank_seconds, 2 * run.seconds);
    check(run.threads == 2, "two threads call MPI", static_cast<double>(run.threads), 2);
    check(std::fabs(run.waiting_seconds - waited) < 0.05 * waited, "waiting", run.waiting_seconds, waited);
    const double share = run.waiting_seconds / run.rank_seconds, truth = waited / (2 * run.seconds);
    check(std::fabs(share - truth) < 0.05 * truth, "share of waiting", share, truth);
    const double useful = 1 - truth;
    check(std::fabs(run.efficiency->parallel - useful) < 0.05, "efficiency", run.efficiency->parallel, useful);
    // 36 threads of each rank's pools have marked at least 1 ms each; 60 short-lived ones worked for their rank
    check(run.other_threads == 2 * (4 + 32), "threads without MPI", static_cast<double>(run.other_threads), 72);
    check(run.other_thread_seconds > 0.072 && run.other_thread_seconds < 2 * elapsed, "marked work of these threads",
          run.other_thread_seconds, 0.072);
  }
  MPI_Finalize();
  return failures;
}
