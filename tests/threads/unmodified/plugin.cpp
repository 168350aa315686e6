// A library that is closed again after its threads waited: for a std::mutex, and in C++20 for a std::latch, which calls the kernel itself.
// Prints how long it waited for the latch.
#include <chrono>
#include <cstdio>
#include <latch>
#include <mutex>
#include <thread>

extern "C" __attribute__((visibility("default"))) int wait_in_plugin() {
  std::mutex m;
  std::latch has(1);
  std::thread holder([&] {
    const std::lock_guard<std::mutex> guard(m);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    has.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  const auto begin = std::chrono::steady_clock::now();
  has.wait();
  std::printf("latch %.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  m.lock();
  m.unlock();
  holder.join();
  return 7;
}
