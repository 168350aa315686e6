// timeout: 60
// stderr ~ \d\d % of the processor time \(.*\) is that of threads that were not recorded, so that there is no verdict
// stderr !~ would shorten
// stderr !~ efficiency
// file report.json ~ "unrecorded_share": 0\.[5-9]
// json report.json
// tries 3
//
// Nearly all work is done by threads that nothing records: what the recorded ones wait for is no statement about the program.
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <chrono>
#include <mutex>
#include <thread>

namespace {

void compute(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main() {
  whywait::mutex lock;
  std::thread not_recorded[2];
  for (std::thread& each : not_recorded) each = std::thread(compute, 300);
  whywait::thread holder([&lock] {
    const std::lock_guard<whywait::mutex> guard(lock);
    compute(30);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  { const std::lock_guard<whywait::mutex> guard(lock); }
  holder.join();
  for (std::thread& each : not_recorded) each.join();
}
