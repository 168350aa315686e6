// Compares converted ticks of the cycle counter with the clocks of the kernel:
//
//   bench_clock [--seconds=60] [--json=FILE]
//
// The conversion is that of the reports, with a single rate from an anchor at either end of a span. For spans of 1, 10
// and 60 seconds, as far as they fit, it prints three differences in nanoseconds. `end` compares the length of the span
// with CLOCK_MONOTONIC_RAW, which NTP does not steer; steering also affects this figure. `inside` is the largest
// difference within the span to CLOCK_MONOTONIC, and `inside_raw` the one to CLOCK_MONOTONIC_RAW, scaled to the same
// length. Each of the twenty readings per second is the tightest of 16 brackets; `reading` is half of the widest one,
// the maximum error of a reading.
#include <whywait/core/clock.hpp>

#include <time.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using whywait::core::clock_anchor;
using whywait::core::plain_counter;

struct reading {
  clock_anchor monotonic, raw;
};

// Like clock_anchor::take, but with CLOCK_MONOTONIC_RAW.
clock_anchor take_raw() {
  clock_anchor best{0, 0, ~std::uint64_t(0)};
  for (int i = 0; i < 16; ++i) {
    timespec now;
    const std::uint64_t before = plain_counter::now();
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const std::uint64_t after = plain_counter::now();
    const std::uint64_t ns = static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
    if (after - before < best.error_ticks) best = clock_anchor{before + (after - before) / 2, ns, after - before};
  }
  return best;
}

// Distance of `at` from the line through `first` and `last`.
double off_line(const clock_anchor& first, const clock_anchor& last, const clock_anchor& at) {
  const double rate = clock_anchor::rate(first, last);
  return std::fabs(static_cast<double>(at.ns - first.ns) - static_cast<double>(at.ticks - first.ticks) * rate);
}

struct figures {
  std::vector<double> end, inside, inside_raw;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
double greatest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t per_second = 20;
  double seconds = 60;
  const char* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seconds=", 10) == 0) seconds = std::atof(argv[i] + 10);
    else if (std::strncmp(argv[i], "--json=", 7) == 0) json = argv[i] + 7;
    else if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0) json = argv[i] + 16;
    else if (std::strncmp(argv[i], "--benchmark_min_time=", 21) == 0) seconds = 1;
    else if (std::strncmp(argv[i], "--benchmark_", 12) != 0) return std::fprintf(stderr, "what is %s?\n", argv[i]), 1;
  }
  if (!whywait::core::cycle_clock::invariant()) return std::printf("the counter is not invariant here, so it is not used\n"), 0;
  const auto wanted = static_cast<std::size_t>(seconds * per_second) + 1;
  std::vector<reading> readings;
  for (std::size_t i = 0; i < wanted; ++i) {
    readings.push_back({clock_anchor::take<plain_counter>(), take_raw()});
    const timespec pause = {0, 1000000000 / per_second};
    if (i + 1 < wanted) nanosleep(&pause, nullptr);
  }
  const double rate = clock_anchor::rate(readings.front().monotonic, readings.back().monotonic);
  double widest = 0;
  for (const reading& r : readings)
    widest = std::max(widest, rate * static_cast<double>(std::max(r.monotonic.error_ticks, r.raw.error_ticks)) / 2);
  std::printf("%.6f MHz, reading +-%.0f ns\n%-8s %8s %12s %12s %12s %12s %12s %12s\n", 1e3 / rate, widest, "ns", "spans", "end",
              "greatest", "inside", "greatest", "inside_raw", "greatest");
  FILE* const out = json != nullptr ? std::fopen(json, "w") : nullptr;
  if (json != nullptr && out == nullptr) return std::perror(json), 1;
  if (out != nullptr) std::fprintf(out, "{\"reading_ns\": %.1f, \"benchmarks\": [", widest);
  const char* comma = "";
  for (const std::size_t span : {std::size_t(1), std::size_t(10), std::size_t(60)}) {
    figures f;
    const std::size_t step = span * per_second;
    for (std::size_t first = 0; first + step < readings.size(); first += step) {
      const reading &a = readings[first], &b = readings[first + step];
      const double ours = static_cast<double>(b.raw.ticks - a.raw.ticks) * clock_anchor::rate(a.monotonic, b.monotonic);
      f.end.push_back(std::fabs(ours - static_cast<double>(b.raw.ns - a.raw.ns)));
      double inside = 0, inside_raw = 0;
      for (std::size_t i = first + 1; i < first + step; ++i) {
        inside = std::max(inside, off_line(a.monotonic, b.monotonic, readings[i].monotonic));
        inside_raw = std::max(inside_raw, off_line(a.raw, b.raw, readings[i].raw));
      }
      f.inside.push_back(inside);
      f.inside_raw.push_back(inside_raw);
    }
    if (f.end.empty()) continue;
    std::printf("%zu s%*s %8zu %12.0f %12.0f %12.0f %12.0f %12.0f %12.0f\n", span, span < 10 ? 5 : 4, "", f.end.size(),
                median(f.end), greatest(f.end), median(f.inside), greatest(f.inside), median(f.inside_raw),
                greatest(f.inside_raw));
    if (out != nullptr)
      std::fprintf(out,
                   "%s\n  {\"name\": \"%zu_seconds\", \"spans\": %zu, \"end_ns\": %.1f, \"inside_ns\": %.1f, "
                   "\"inside_raw_ns\": %.1f}",
                   comma, span, f.end.size(), greatest(f.end), greatest(f.inside), greatest(f.inside_raw));
    comma = ",";
  }
  if (out != nullptr) {
    std::fprintf(out, "\n]}\n");
    std::fclose(out);
  }
  return 0;
}
