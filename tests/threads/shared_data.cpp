// with: observer_sharing
// environment: WHYWAIT_OUTPUT=out WHYWAIT_RULES=own.rules WHYWAIT_REPORT=full
// stderr ~ ^    shared memory$
// stderr ~ `counters`: false sharing in 1 piece, 40\d misses
// stderr ~ R count \(shared_data\.cpp:\d+\) · I barrier::arrive_and_wait in .*count \(shared_data\.cpp:\d+\)
// stderr ~ `sum`: reduction 100 %
// stderr ~ counters \(shared_data\.cpp:\d+\) is in false sharing by threads 0-2 where time passes on (threads 1 and 2|thread [12] \(\d+ %\)) in count
// stderr !~ data was registered but is not analysed
// file out.json ~ "pattern": ?"false sharing"
// json out.json
// tries 3
//
// Registered data in a program without MPI: the report names the arrays that threads share, with the synchronisation of primitives
// as the cause of misses, over the whole run also where the program asks for a report before its end. Rules see the array in the
// block that makes a thread late.
#include <whywait/data.hpp>
#include <whywait/record.hpp>
#include <whywait/result.hpp>
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

constexpr int rounds = 100;

struct shared {
  alignas(64) long counters[2] = {};
  alignas(64) long sum = 0;
  whywait::mutex lock;
  whywait::barrier<> all{2};
};

void compute(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

void count(shared& with, int thread) {
  for (int i = 0; i < rounds; ++i) {
    {
      WHYWAIT_REGION("count");
      ++with.counters[thread];
      WHYWAIT_WRITES("count", whywait::range(&with.counters[thread], 1));
      if (thread == 1) compute(std::chrono::microseconds(300));
    }
    {
      const std::lock_guard<whywait::mutex> guard(with.lock);
      WHYWAIT_REGION("add");
      with.sum += 1;
      WHYWAIT_WRITES("add", whywait::range(&with.sum, 1).updated());
    }
    with.all.arrive_and_wait();
  }
}

bool run(shared& with) {
  whywait::thread other(count, std::ref(with), 1);
  count(with, 0);
  other.join();
  WHYWAIT_REGION("check");
  WHYWAIT_READS("check", whywait::range(&with.sum, 1));
  return with.counters[0] == with.counters[1];
}

}  // namespace

int main() {
  if (std::FILE* const file = std::fopen("own.rules", "w")) {
    std::fputs(
        "declare problem for block when data_sharing != '' parameters (name = 'shared_lines', duration = duration, saving = "
        "duration / ranks,\n"
        "  description = \"{data} ({data_place}) is in {data_sharing} by {data_users} where time passes on {late_ranks} in "
        "{name}.\");\n",
        file);
    std::fclose(file);
  }
  static shared with;
  WHYWAIT_DATA("counters", with.counters, 2);
  WHYWAIT_DATA("sum", &with.sum, 1);
  bool right = run(with);
  const whywait::result found = whywait::report();  // takes the records so far
  right = run(with) && right;
  if (!right || with.sum != 4 * rounds || !found.reason.empty()) return std::puts("wrong sums"), 1;
}
