// A program that is measured with an expensive clock, and the prediction of its run without it. Whenever code of this
// executable (marks, wrappers) reads CLOCK_MONOTONIC, the reading sleeps for --reading, of which the toolkit is not
// informed. --late applies this only after MPI_Init, so that the calibration there is wrong. With --forgive, a reading
// that took too long is not compensated by the next one. --longer multiplies all work and readings, so that late
// wake-ups matter less. overhead.py compares runs.
//
//   overhead [--reading MICROSECONDS] [--late] [--forgive] [--longer TIMES] [--steps N] [--exchanges N]
//
// with: observer
// ranks: 4
// arguments: --reading 20 --steps 8
// environment: WHYWAIT_OUTPUT=out WHYWAIT_CLOCK=monotonic
// stdout ~ ^done$
// json out.json
#include <whywait/record.hpp>

#include <mpi.h>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using get_time = int (*)(clockid_t, timespec*);

get_time real_time() noexcept {
  static const auto real = reinterpret_cast<get_time>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real;
}

/// Takes time without using a processor, exactly on average unless delays are forgiven.
struct sleeper {
  long debt_ns = 0;  // excess of the sleeping time so far
  bool forgives = false;
  static long now() noexcept {
    timespec t{};
    real_time()(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
  }
  void sleep(long ns) noexcept {
    const long begin = now(), least = ns - debt_ns;
    const timespec t{least / 1000000000, least % 1000000000};
    if (least > 0) nanosleep(&t, nullptr);
    if (!forgives) debt_ns += now() - begin - ns;
  }
};

volatile long reading_ns = 0;
sleeper reading;

}  // namespace

// The clock of this executable; MPI libraries use the real one.
extern "C" {
extern char __executable_start, etext;
int clock_gettime(clockid_t which, timespec* now) noexcept {
  const char* const from = static_cast<const char*>(__builtin_return_address(0));
  const long ns = from >= &__executable_start && from < &etext ? reading_ns : 0;
  if (ns == 0) return real_time()(which, now);
  reading.sleep(ns / 2);
  const int code = real_time()(which, now);
  reading.sleep(ns / 2);
  return code;
}
}

namespace {

struct program {
  int rank = 0, ranks = 1, steps = 40;
  int exchanges = 1;  // with the neighbours, in each step
  int longer = 1;
  sleeper worker;

  void work(double milliseconds) { worker.sleep(static_cast<long>(milliseconds * longer * 1e6)); }

  // Low ranks work longer in few pieces, high ones shorter in many, so that measuring fills their waiting time.
  void compute() {
    const int pieces = 2 + 4 * rank;
    const double all = 24 - 4 * rank;
    for (int i = 0; i != pieces; ++i) {
      WHYWAIT_REGION("piece");
      work(all / pieces);
    }
  }

  void exchange() {
    double out[2] = {1, 2}, in[2] = {};
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&out[0], 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&out[1], 1, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }

  void run() {
    for (int step = 0; step != steps; ++step) {
      compute();
      for (int i = 0; i != exchanges; ++i) exchange();
      if (step % 5 == 4) {
        double sum = 0, one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      }
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  program p;
  long asked_ns = 0;
  bool late = false, forgive = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--reading" && i + 1 < argc) asked_ns = std::atol(argv[++i]) * 1000;
    else if (word == "--steps" && i + 1 < argc) p.steps = std::atoi(argv[++i]);
    else if (word == "--exchanges" && i + 1 < argc) p.exchanges = std::atoi(argv[++i]);
    else if (word == "--longer" && i + 1 < argc) p.longer = std::atoi(argv[++i]);
    else if (word == "--late") late = true;
    else if (word == "--forgive") forgive = true;
  }
  asked_ns *= p.longer;
  prctl(PR_SET_TIMERSLACK, 1UL);
  reading.forgives = late || forgive;  // otherwise a few late readings may take the time of all
  reading_ns = late ? 0 : asked_ns;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  reading_ns = late ? asked_ns * p.rank : asked_ns;
  p.run();
  if (p.rank == 0) std::printf("done\n");
  reading_ns = late ? 0 : asked_ns;
  MPI_Finalize();
  return 0;
}
