// ranks: 2 4
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=skewed WHYWAIT_REPORT=none WHYWAIT_CLOCK=monotonic
// json skewed.json
// tries 3
//
// The clock of each rank but rank 0 is off by up to 1 s and drifts by up to 50 ppm, as on nodes of their own. Neighbours wait for
// each other in turn, so that an error of the clocks lengthens the waits of one and shortens those of the other. The waits are
// compared with stamps of the clock as it is, in two epochs, by groups: a rank that loses its processor between stamp and call
// spoils one of them.
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

/// CLOCK_MONOTONIC of the machine, in ns.
std::int64_t true_ns() {
  timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return std::int64_t{1000000000} * t.tv_sec + t.tv_nsec;
}

/// What the clock of this process is ahead, `now` being the machine's time.
std::int64_t ahead_ns(std::int64_t now) {
  struct skew {
    std::int64_t begin = true_ns(), offset = 0;
    double drift = 0;
    skew() {
      static constexpr std::int64_t offsets[] = {0, 1000000000, -600000000, 200000000};
      static constexpr double drifts[] = {0, 50e-6, -50e-6, 25e-6};
      const char* number = std::getenv("OMPI_COMM_WORLD_RANK");
      if (number == nullptr) number = std::getenv("PMI_RANK");
      const int rank = number != nullptr ? std::atoi(number) % 4 : 0;
      offset = offsets[rank];
      drift = drifts[rank];
    }
  };
  static const skew own;
  return own.offset + static_cast<std::int64_t>(own.drift * static_cast<double>(now - own.begin));
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const long code = syscall(SYS_clock_gettime, clock, t);
  if (code != 0 || clock != CLOCK_MONOTONIC) return static_cast<int>(code);
  const std::int64_t now = std::int64_t{1000000000} * t->tv_sec + t->tv_nsec, shown = now + ahead_ns(now);
  t->tv_sec = shown / 1000000000;
  t->tv_nsec = shown % 1000000000;
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  timespec shown;
  clock_gettime(CLOCK_MONOTONIC, &shown);
  const double ahead =
      static_cast<double>(shown.tv_sec) - 1e-9 * static_cast<double>(true_ns()) + 1e-9 * static_cast<double>(shown.tv_nsec);
  const double wanted[] = {0, 1, -0.6, 0.2};
  if (std::fabs(ahead - wanted[rank]) > 0.01)
    std::fprintf(stderr, "FAILED: rank %d is %.3f s ahead\n", rank, ahead), ++failures;

  // In each round the odd or the even rank of a pair comes 15 ms late to a message that it sends. 1.8 s in all.
  constexpr int groups = 6, rounds = 10;
  static const char* const names[groups] = {"group 0", "group 1", "group 2", "group 3", "group 4", "group 5"};
  constexpr timespec late{0, 15000000}, pause{0, 15000000};
  const int other = rank ^ 1;
  std::vector<std::int64_t> entered;
  for (int k = 0; k < groups * rounds; ++k) {
    if (k == groups * rounds / 2) whywait::mpi::explain(MPI_COMM_WORLD);
    nanosleep(&pause, nullptr);
    PMPI_Barrier(MPI_COMM_WORLD);
    int value = k;
    const bool sends = (rank + k) % 2 == 1;
    if (sends) nanosleep(&late, nullptr);
    whywait::region scope(names[k / rounds]);
    // After a sleep the processor is slow at first: that is no error of the clocks.
    if (sends) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    else MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    entered.push_back(true_ns());
    if (sends) MPI_Send(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    else MPI_Recv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::vector<std::int64_t> others(entered.size());
  PMPI_Sendrecv(entered.data(), groups * rounds, MPI_INT64_T, other, 1, others.data(), groups * rounds, MPI_INT64_T, other, 1,
                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double own[groups] = {};  // waiting of this rank in each group, s
  for (std::size_t k = 0; k != entered.size(); ++k)
    if ((static_cast<std::size_t>(rank) + k) % 2 == 0)
      own[k / rounds] += 1e-9 * static_cast<double>(std::max<std::int64_t>(0, others[k] - entered[k]));
  std::vector<double> truth(static_cast<std::size_t>(ranks * groups));
  PMPI_Gather(own, groups, MPI_DOUBLE, truth.data(), groups, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank != 0) return failures;

  std::ifstream file("skewed.json");
  if (!file) return std::fprintf(stderr, "FAILED: skewed.json was not written\n"), 1;
  const nlohmann::json report = nlohmann::json::parse(file);
  const double stated = report["run"]["clock_error_seconds"].get<double>();
  std::vector<double> found(truth.size());
  for (const auto& wait : report["waits"]) {
    const std::string region = wait["operation"]["region"];
    if (wait["pattern"] != "late_sender" || region.compare(0, 6, "group ") != 0) continue;
    for (const auto& waiter : wait["waiters"])
      found[waiter["rank"].get<std::size_t>() * groups + static_cast<std::size_t>(region[6] - '0')] +=
          waiter["seconds"].get<double>();
  }
  const double bound = std::max(20e-6, stated + 5e-6);
  std::fprintf(stderr, "clocks: stated error %.1f us\n", 1e6 * stated);
  for (std::size_t r = 0; r != static_cast<std::size_t>(ranks); ++r) {
    std::vector<double> off;  // a wait, s
    for (std::size_t g = r * groups; g != (r + 1) * groups; ++g) off.push_back((found[g] - truth[g]) / (rounds / 2));
    std::fprintf(stderr, "rank %zu, by groups, off by", r);
    for (const double x : off) std::fprintf(stderr, " %.1f", 1e6 * x);
    std::sort(off.begin(), off.end(), [](double x, double y) { return std::fabs(x) < std::fabs(y); });
    const bool good = std::fabs(off[groups / 2]) <= bound;
    std::fprintf(stderr, " us a wait%s\n", good ? "" : ": FAILED");
    if (!good) ++failures;
  }
  if (!(stated > 0 && stated < 1e-3)) std::fprintf(stderr, "FAILED: the stated error is %g s\n", stated), ++failures;
  if (report["run"].value("epochs", 0) < 2) std::fprintf(stderr, "FAILED: one epoch\n"), ++failures;
  return failures;
}
