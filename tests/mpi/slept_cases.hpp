#ifndef WHYWAIT_TESTS_MPI_SLEPT_CASES_HPP
#define WHYWAIT_TESTS_MPI_SLEPT_CASES_HPP

// Cases whose waits are known because all work is sleeping. Each case runs in a region of its name; the ranks stamp when they
// enter and leave its calls, and exchange the stamps through PMPI, which whywait does not see.

#include <whywait/mpi.hpp>

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace slept {

inline int rank, ranks, failures;

/// On the shared clock of the machine, in seconds.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
inline void nap(int ms) {
  timespec t{ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&t, nullptr);
}
/// The work that other ranks wait for, and work that none does.
inline void guilty(int ms) {
  WHYWAIT_REGION("guilty");
  nap(ms);
}
inline void innocent(int ms) {
  WHYWAIT_REGION("innocent");
  nap(ms);
}

/// What one rank noted in each round of a case.
struct stamp {
  double enter = 0, leave = 0;
};
using stamps = std::vector<std::vector<stamp>>;  // by rank and round

struct slept_case {
  std::string name, call, pattern;
  std::function<void(std::vector<stamp>&)> play;
  std::function<double(const stamps&)> truth;  ///< seconds that all ranks together waited in `call`
  std::string preparation = "MPI_Barrier";     ///< a call whose waits do not count
  double least = 0;                            ///< share of the waiting to be found; 0: as in all cases
  double most = 1.05;  ///< of the waiting, that `guilty` explains: more if the waiter worked meanwhile
};

/// Every rank waits until the last one that it needs has entered: needs(waiter, other).
inline double until_last(const stamps& all, const std::function<bool(int, int)>& needs) {
  double sum = 0;
  for (std::size_t p = 0; p != all.size(); ++p)
    for (std::size_t k = 0; k != all[p].size(); ++k) {
      double last = all[p][k].enter;
      for (std::size_t q = 0; q != all.size(); ++q)
        if (k < all[q].size() && needs(static_cast<int>(p), static_cast<int>(q))) last = std::max(last, all[q][k].enter);
      sum += std::min(last, all[p][k].leave) - all[p][k].enter;
    }
  return sum;
}
inline double for_everybody(const stamps& all) {
  return until_last(all, [](int, int) { return true; });
}

inline stamps exchange(const std::vector<stamp>& own) {
  stamps all;
  int count = 2 * static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks)), places;
  PMPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int sum = 0;
  for (const int n : counts) {
    places.push_back(sum);
    sum += n;
    all.emplace_back(static_cast<std::size_t>(n) / 2);
  }
  std::vector<stamp> flat(static_cast<std::size_t>(sum) / 2);
  PMPI_Allgatherv(own.data(), count, MPI_DOUBLE, flat.data(), counts.data(), places.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  std::size_t at = 0;
  for (auto& each : all)
    for (stamp& s : each) s = flat[at++];
  return all;
}

/// Runs all cases and compares the report with the stamps: at least the share `least` of the true waiting is found, and
/// `guilty` explains at least `share` of it. Each case is played `plays` times; where ranks wait it is enough that one play was
/// not disturbed by another process. Returns the report, on rank 0.
inline whywait::result run(const std::vector<slept_case>& all, double share, double least = 0.97, int plays = 1) {
  std::vector<slept_case> cases;
  for (int play = 0; play != plays; ++play)
    for (const slept_case& c : all) {
      cases.push_back(c);
      if (play != 0) cases.back().name += ", play " + std::to_string(play + 1);
    }
  std::vector<bool> good(all.size(), false), bad(all.size(), false);
  std::vector<double> truths;
  for (const slept_case& c : cases) {
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<stamp> own;
    {
      whywait::site* const place = new whywait::site(whywait::core::site_kind::region, c.name.c_str());
      whywait::region scope(*place);
      c.play(own);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    truths.push_back(c.truth(exchange(own)));
  }
  whywait::result result = whywait::mpi::explain(MPI_COMM_WORLD);
  if (rank != 0) return result;
  for (std::size_t i = 0; i != cases.size(); ++i) {
    const slept_case& c = cases[i];
    double found = 0, explained = 0, others = 0;
    for (const whywait::result::wait& w : result.waits) {
      if (w.operation.region != c.name || w.operation.call == c.preparation) continue;
      const bool expected = w.operation.call == c.call && w.pattern == c.pattern;
      (expected ? found : others) += w.seconds;
      for (const whywait::result::cause& t : w.causes)
        if (expected && t.block == "guilty") explained += t.seconds;
      if (!expected && w.seconds > 0.001)
        std::printf("  also %s in %s: %.4f s\n", w.pattern.c_str(), w.operation.call.c_str(), w.seconds);
    }
    const double truth = truths[i];
    const bool right = found >= (c.least > 0 ? c.least : least) * truth - 0.001 && found <= 1.03 * truth + 0.001 &&
                       others <= 0.03 * truth + 0.001 &&
                       (truth < 0.001 || (explained >= share * truth && explained <= c.most * truth + 0.001));
    std::printf("%s %s: %.4f s in %s, truth %.4f s, guilty %.4f s\n", right ? "ok" : "off", c.name.c_str(), found,
                c.call.c_str(), truth, explained);
    if (right) good[i % all.size()] = true;
    if (!right && truth < 0.001) bad[i % all.size()] = true;  // no rank waited, although it should have
  }
  for (std::size_t i = 0; i != all.size(); ++i) {
    if (good[i] && !bad[i]) continue;
    std::printf("FAILED %s\n", all[i].name.c_str());
    ++failures;
  }
  return result;
}

}  // namespace slept

#endif
