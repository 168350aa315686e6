// An ocean-like solver. Threads relax a grid in blocks of rows, and each sums the change of its points. As in the
// program of the Carnival papers, the sums are adjacent in one small structure, `multi`. All threads therefore write
// the same cache line continuously, although none reads what another wrote. The report diagnoses false sharing, with
// the table of the papers' figure 3. The padded version follows the advice and gives each sum its own cache line. Both
// versions run, and the ratio of their times is printed. The example needs as many idle cores as threads (mpirun
// --bind-to none, because Open MPI binds a single rank to one core). Threads that share a core never compete for a
// cache line.
//
//     ./ocean [--shared | --padded] [--size 512] [--sweeps 200] [--threads 2]

#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace {

constexpr int most_threads = 8;

// Sums in one shared cache line, or in one cache line each.
struct alignas(64) shared_errors {
  double error[most_threads] = {};
  double* of(int thread) { return &error[thread]; }
};
struct padded_errors {
  struct alignas(64) line {
    double error = 0;
  };
  line lines[most_threads];
  double* of(int thread) { return &lines[thread].error; }
};

class barrier {
 public:
  explicit barrier(int threads) { pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads)); }
  ~barrier() { pthread_barrier_destroy(&barrier_); }
  void wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

template <class Errors>
class ocean {
 public:
  ocean(int size, int threads, const char* name)
      : n_(size),
        threads_(threads),
        swept_(threads),
        summed_(threads),
        psi_(points()),
        next_(points()),
        psi_is_("psi", psi_.data(), whywait::shape(size, size)),
        next_is_("next", next_.data(), whywait::shape(size, size)),
        multi_is_(name, reinterpret_cast<double*>(&multi_), whywait::shape(sizeof multi_ / sizeof(double))) {
    for (int j = 0; j < n_; ++j) psi_[static_cast<std::size_t>(j)] = next_[static_cast<std::size_t>(j)] = 1.0;
  }

  void run(int thread, int first_sweep, int last_sweep) {
    const int each = (n_ - 2 + threads_ - 1) / threads_;
    const int first = 1 + thread * each, last = std::min(first + each, n_ - 1);
    for (int sweep = first_sweep; sweep < last_sweep; ++sweep) {
      double* const from = sweep % 2 == 0 ? psi_.data() : next_.data();
      double* const to = sweep % 2 == 0 ? next_.data() : psi_.data();
      relax(from, to, first, last, multi_.of(thread));
      WHYWAIT_SYNC_ALL("swept");
      swept_.wait();
      if (thread == 0) sum_up();
      WHYWAIT_SYNC_ALL("summed");
      summed_.wait();
    }
  }
  double change() const { return change_; }

 private:
  std::size_t points() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }

  void relax(const double* from, double* to, int first, int last, double* error) {
    WHYWAIT_REGION("relax");
    *error = 0;
    for (int i = first; i < last; ++i) {
      const double* const row = from + static_cast<std::ptrdiff_t>(i) * n_;
      double* const into = to + static_cast<std::ptrdiff_t>(i) * n_;
      for (int j = 1; j < n_ - 1; ++j) {
        const double next = 0.25 * (row[j - 1] + row[j + 1] + row[j - n_] + row[j + n_]);
        *error += std::fabs(next - row[j]);
        into[j] = next;
      }
    }
    WHYWAIT_READS("relax", whywait::range(from, whywait::box({first - 1, last + 1}, {0, n_})));
    WHYWAIT_WRITES("relax", whywait::range(to, whywait::box({first, last}, {1, n_ - 1})), whywait::range(error));
  }

  void sum_up() {
    WHYWAIT_REGION("sum_up");
    change_ = 0;
    for (int t = 0; t < threads_; ++t) {
      change_ += *multi_.of(t);
      WHYWAIT_READS("sum_up", whywait::range(multi_.of(t)));
    }
  }

  int n_, threads_;
  barrier swept_, summed_;
  std::vector<double> psi_, next_;
  Errors multi_;
  double change_ = 0;
  whywait::registered_array psi_is_, next_is_, multi_is_;
};

// The same threads run all requested versions in turn, so that other load on the machine affects both alike. Returns
// the seconds of each version, 0 for one that was not requested.
struct times {
  double shared = 0, padded = 0;
};

times solve(bool shared, bool padded, int size, int sweeps, int threads) {
  std::optional<ocean<shared_errors>> together;
  std::optional<ocean<padded_errors>> apart;
  if (shared) together.emplace(size, threads, "multi");
  if (padded) apart.emplace(size, threads, "padded multi");
  times took;
  const auto run = [&](int thread) {
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
      const int first = sweeps * round / rounds, last = sweeps * (round + 1) / rounds;
      const double begin = MPI_Wtime();
      if (shared) together->run(thread, first, last);
      const double middle = MPI_Wtime();
      if (padded) apart->run(thread, first, last);
      if (thread != 0) continue;
      took.shared += middle - begin;
      took.padded += MPI_Wtime() - middle;
    }
  };
  std::vector<std::thread> team;
  for (int t = 1; t < threads; ++t) team.emplace_back(run, t);
  run(0);
  for (std::thread& t : team) t.join();
  if (shared) std::printf("ocean: shared %.3f s, last change %.6f\n", took.shared, together->change());
  if (padded) std::printf("ocean: padded %.3f s, last change %.6f\n", took.padded, apart->change());
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  int given = 0, size = 512, sweeps = 200, threads = 2;
  bool shared = true, padded = true;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--shared") == 0) padded = false;
    if (std::strcmp(argv[i], "--padded") == 0) shared = false;
    if (std::strcmp(argv[i], "--size") == 0 && i + 1 < argc) size = std::atoi(argv[++i]);
    if (std::strcmp(argv[i], "--sweeps") == 0 && i + 1 < argc) sweeps = std::atoi(argv[++i]);
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      threads = std::min(std::max(std::atoi(argv[++i]), 1), most_threads);
  }
  const times took = solve(shared, padded, size, sweeps, threads);
  if (shared && padded) std::printf("ocean: following the advice makes it %.1f times faster\n", took.shared / took.padded);
  MPI_Finalize();
}
