#ifndef WHYWAIT_TESTS_THREADS_SLEPT_HPP
#define WHYWAIT_TESTS_THREADS_SLEPT_HPP

// Cases of programs whose waits are known: the program measures each blocking call itself, and sleeps where it is slow.

#include <whywait/record.hpp>
#include <whywait/result.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slept {

using clock = std::chrono::steady_clock;

inline void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Time that the calling thread measured in calls that wait. `until`: up to the instants at which what they waited for had
/// happened; the rest is how long the thread took to go on.
class stopwatch {
 public:
  template <class Call>
  auto operator()(Call&& call) {
    const struct lap {
      stopwatch& in;
      clock::time_point begin = clock::now();
      ~lap() {
        in.seconds += std::chrono::duration<double>(clock::now() - begin).count();
        ++in.count;
      }
    } measured{*this};
    return call();
  }
  double seconds = 0;
  double until = -1;  ///< negative: not measured
  int count = 0;
};

/// What a case measured: calls of one kind in one region, and the blocks that made them wait.
struct expectation {
  std::string region;   ///< innermost region of the calls
  std::string pattern;  ///< of the waits
  stopwatch waited;
  std::vector<std::pair<std::string, double>> guilty =
      {};  ///< blocks and their parts of the explained time, which ends before the thread goes on; they sum to 1
};

inline int failures = 0;

/// Checks one expectation, and says what does not hold: the waits within 3 % and 1 ms per wait, the guilty blocks at least 95 %.
inline void check(const whywait::result& found, const expectation& e) {
  const auto fail = [&e](const std::string& what) {
    ++failures;
    std::fprintf(stderr, "NOT SO in %s: %s\n", e.region.c_str(), what.c_str());
  };
  double seconds = 0, other = 0;
  std::vector<std::pair<std::string, double>> blocks;
  for (const whywait::result::wait& w : found.waits) {
    const std::string& path = w.operation.region;
    if (path != e.region && (path.size() <= e.region.size() ||
                             path.compare(path.size() - e.region.size() - 1, std::string::npos, "/" + e.region) != 0))
      continue;
    if (w.pattern != e.pattern) {
      other += w.seconds;
      continue;
    }
    seconds += w.seconds;
    for (const whywait::result::cause& c : w.causes) {
      std::size_t i = 0;
      while (i != blocks.size() && blocks[i].first != c.block) ++i;
      if (i == blocks.size()) blocks.emplace_back(c.block, 0.0);
      blocks[i].second += c.seconds;
    }
  }
  const double wanted = e.waited.seconds, least = e.waited.until < 0 ? wanted : std::min(wanted, e.waited.until);
  const double allowed = 0.03 * wanted + 0.001 * e.waited.count;
  if (seconds < least - allowed || seconds > wanted + allowed)
    fail("the program waited " + std::to_string(least) + " to " + std::to_string(wanted) + " s in " +
         std::to_string(e.waited.count) + " calls, the report has " + std::to_string(seconds) + " s (and " +
         std::to_string(other) + " s of other patterns)");
  for (const auto& [name, part] : e.guilty) {
    double of = 0;
    for (const auto& b : blocks)
      if (b.first == name) of = b.second;
    if (of < 0.95 * part * seconds || (part < 1 && of > part * seconds / 0.95)) {
      std::string all;
      for (const auto& b : blocks) all += " " + b.first + " " + std::to_string(b.second);
      fail(name + " has " + std::to_string(of) + " s of " + std::to_string(part * seconds) + " s; all blocks:" + all);
    }
  }
  std::printf("%-28s %-20s waited %.4f s in %d calls, reported %.4f s\n", e.region.c_str(), e.pattern.c_str(), wanted,
              e.waited.count, seconds);
}

}  // namespace slept

#endif
