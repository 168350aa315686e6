// Shared by the programs skipped_parts and short_of_memory: their report is about a part of the run, and its figures must describe
// that part alone.
#ifndef WHYWAIT_TESTS_MPI_PARTS_PARTLY_RECORDED_HPP
#define WHYWAIT_TESTS_MPI_PARTS_PARTLY_RECORDED_HPP

#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace partly {

class report {
 public:
  explicit report(const char* file) {
    std::ifstream in(file);
    text_.assign(std::istreambuf_iterator<char>(in), {});
  }
  /// The first number with that name; 0 without one.
  double operator[](const char* name) const { return std::atof(value_of(name)); }
  /// The first two numbers of the list with that name; 0 without one.
  std::pair<double, double> range(const char* name) const {
    const char* const list = std::strchr(value_of(name), '[');
    double low = 0, high = 0;
    if (list != nullptr) std::sscanf(list, "[ %lf , %lf", &low, &high);
    return {low, high};
  }

 private:
  const char* value_of(const char* name) const {
    const std::size_t at = text_.find("\"" + std::string(name) + "\":");
    return at == std::string::npos ? "" : text_.c_str() + at + std::strlen(name) + 3;
  }
  std::string text_;
};

inline bool within(const char* what, double said, double truth, double error) {
  std::fprintf(stderr, "%s: %.4f, expected %.4f ± %.4f\n", what, said, truth, error);
  if (std::abs(said - truth) <= error) return true;
  std::fprintf(stderr, "FAILED: %s\n", what);
  return false;
}

/// The time stamps of a run of two ranks.
struct stamps {
  int rank = 0;
  double waited = 0, ran = 0;  ///< of this rank; after `end` of both
  double seconds = 0;  ///< after `end`: of the run, pauses included

  /// Begins the run.
  stamps(int& argc, char**& argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin_ = MPI_Wtime();
  }
  /// Ends it, with a barrier.
  void end() {
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime() - begin_;
    double sums[2] = {waited, ran};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    waited = sums[0];
    ran = sums[1];
    MPI_Finalize();
  }

 private:
  double begin_ = 0;
};

inline void work(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) {
  }
}

/// Rank 0 works all the time, and rank 1 waits for it, but for a few messages. Where other programs interrupt the ranks, the recorded part
/// may differ from the rest.
inline bool undisturbed(const stamps& own) { return std::abs(own.waited / own.ran - 0.49) < 0.02; }

/// What must hold of two ranks that were both recorded in the same part of the run.
inline bool consistent(const report& r, const stamps& own) {
  const double share = own.waited / own.ran;
  const double run = r["seconds"], seen = run - r["unseen_seconds"], ranks = r["location_seconds"];
  bool good = within("the run and its pauses", run + r["pause_seconds"], own.seconds, 0.02 * own.seconds + 0.010);
  good = within("rank time", ranks, 2 * seen, 0.05 * 2 * seen + 0.002) && good;
  if (undisturbed(own)) good = within("share of waiting", r["waiting_seconds"] / ranks, share, 0.05) && good;
  else std::fprintf(stderr, "others interrupted the ranks: %.4f of their time is waiting\n", share);
  return within("messages without partner", r["unmatched"], 0, 0) && good;
}

}  // namespace partly

#endif
