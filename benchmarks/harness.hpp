#ifndef WHYWAIT_BENCHMARKS_HARNESS_HPP
#define WHYWAIT_BENCHMARKS_HARNESS_HPP

// Times very short operations on a machine with other load. Each row runs in batches of about ten microseconds, so that
// most are not interrupted. The batches of all rows alternate in shuffled order, so that disturbances affect all rows
// alike. Reports the minimum and the median over many rounds. The thread stays on one processor.

#include <sched.h>
#include <time.h>
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace harness {

inline std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

inline void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// Makes the compiler assume that the value is used and modified.
template <class T>
inline void keep(T& value) {
  __asm__ volatile("" : "+m"(value) : : "memory");
}
inline void barrier() { __asm__ volatile("" : : : "memory"); }

/// Two clock readings and two stores of 16 bytes, the minimum cost of any recorder with exact times.
struct alignas(16) timed_event {
  std::uint64_t ticks;
  std::uint64_t id;
};
inline timed_event ring[4096];

inline std::uint64_t counter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

__attribute__((noinline)) inline void floor(std::uint64_t times) {
  timed_event* events = ring;
  keep(events);  // the stores would be optimised away without a reader
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    events[at] = timed_event{counter(), 1};
    at = (at + 1) & 4095;
    barrier();
    events[at] = timed_event{counter(), 2};
    at = (at + 1) & 4095;
    barrier();
  }
}

class table {
 public:
  /// Adds a row. `run` returns the nanoseconds per operation.
  void add(const char* name, std::function<double()> run) { rows_.push_back(row{name, std::move(run), {}}); }
  /// Adds a row that the harness times. `after` is not timed; it empties the buffers of a recorder.
  void add(const char* name, void (*run)(std::uint64_t), std::uint64_t times = 2000, void (*after)() = nullptr) {
    add(name, [run, times, after] {
      const std::uint64_t begin = now_ns();
      run(times);
      const std::uint64_t end = now_ns();
      if (after != nullptr) after();
      return static_cast<double>(end - begin) / static_cast<double>(times);
    });
  }

  /// Adds a row (more - less) / parts, computed from their minima and from their medians.
  void derive(const char* name, const char* more, const char* less, double parts) {
    derived_.push_back(difference{name, more, less, parts});
  }

  /// For several processes that run the same rows in the same order: equal seeds, the processor of this one, and whether
  /// it prints.
  void together(unsigned seed, int processor, bool prints) {
    seed_ = seed;
    processor_ = processor;
    prints_ = prints;
  }

  /// Flags are --rounds=N (1001), --only=TEXT (rows with that in their name) and --json=FILE (or --benchmark_out=FILE). --benchmark_min_time=... makes the run
  /// short.
  int main(int argc, char** argv) {
    int rounds = 1001;
    const char* json = nullptr;
    const char* only = nullptr;
    for (int i = 1; i < argc; ++i) {
      if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::max(1, std::atoi(argv[i] + 9));
      else if (std::strncmp(argv[i], "--json=", 7) == 0) json = argv[i] + 7;
      else if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0) json = argv[i] + 16;
      else if (std::strncmp(argv[i], "--only=", 7) == 0) only = argv[i] + 7;
      else if (std::strncmp(argv[i], "--benchmark_min_time=", 21) == 0) rounds = 5;
      else if (std::strncmp(argv[i], "--benchmark_", 12) != 0) return std::fprintf(stderr, "what is %s?\n", argv[i]), 1;
    }
    pin(processor_ >= 0 ? processor_ : sched_getcpu());
    std::mt19937 random(seed_ != 0 ? seed_ : static_cast<unsigned>(now_ns()));
    std::vector<row*> order;
    if (only != nullptr) {
      rows_.erase(
          std::remove_if(rows_.begin(), rows_.end(), [only](const row& r) { return r.name.find(only) == std::string::npos; }),
          rows_.end());
      derived_.clear();
    }
    for (row& r : rows_) order.push_back(&r);
    for (int i = 0; i < rounds; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      for (row* r : order) r->ns.push_back(r->run());
    }
    if (!prints_) return 0;
    double least_floor = 0, median_floor = 0;
    for (row& r : rows_) {
      std::sort(r.ns.begin(), r.ns.end());
      if (r.name == "floor") least_floor = r.ns.front(), median_floor = r.ns[r.ns.size() / 2];
    }
    for (const difference& d : derived_) {
      row made{d.name, nullptr, {}};
      const row *more = nullptr, *less = nullptr;
      for (const row& r : rows_) {
        if (r.name == d.more) more = &r;
        if (r.name == d.less) less = &r;
      }
      const double least = (more->ns.front() - less->ns.front()) / d.parts;
      const double median = (more->ns[more->ns.size() / 2] - less->ns[less->ns.size() / 2]) / d.parts;
      made.ns = {least, median};
      rows_.push_back(made);
    }
    std::printf("%-24s %10s %10s %8s %8s\n", "ns", "minimum", "median", "x floor", "median");
    FILE* const out = json != nullptr ? std::fopen(json, "w") : nullptr;
    if (out != nullptr) std::fprintf(out, "{\"benchmarks\": [");
    const char* comma = "";
    for (const row& r : rows_) {
      const double least = r.ns.front(), median = r.ns[r.ns.size() / 2];
      std::printf("%-24s %10.2f %10.2f", r.name.c_str(), least, median);
      if (least_floor > 0) std::printf(" %8.3f %8.3f", least / least_floor, median / median_floor);
      std::printf("\n");
      if (out != nullptr)
        std::fprintf(out,
                     "%s\n  {\"name\": \"%s\", \"rounds\": %zu, \"min_ns\": %.3f, \"median_ns\": %.3f, "
                     "\"floor_min_ns\": %.3f, \"floor_median_ns\": %.3f}",
                     comma, r.name.c_str(), r.ns.size(), least, median, least_floor, median_floor);
      comma = ",";
    }
    if (out != nullptr) {
      std::fprintf(out, "\n]}\n");
      std::fclose(out);
    } else if (json != nullptr) {
      return std::perror(json), 1;
    }
    return 0;
  }

 private:
  struct row {
    std::string name;
    std::function<double()> run;
    std::vector<double> ns;
  };
  struct difference {
    std::string name, more, less;
    double parts;
  };
  std::vector<row> rows_;
  std::vector<difference> derived_;
  unsigned seed_ = 0;
  int processor_ = -1;
  bool prints_ = true;
};

}  // namespace harness

#endif
