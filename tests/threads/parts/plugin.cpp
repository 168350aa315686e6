// A library that is closed again after its primitives were recorded.
#include <whywait/record.hpp>
#include <whywait/thread.hpp>

#include <chrono>
#include <mutex>
#include <thread>

extern "C" __attribute__((visibility("default"))) int wait_in_plugin() {
  whywait::mutex m;
  whywait::latch has(1);
  whywait::thread holder([&] {
    const std::lock_guard<whywait::mutex> guard(m);
    has.count_down();
    WHYWAIT_REGION("held by plugin");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  has.wait();
  m.lock();
  m.unlock();
  holder.join();
  return 7;
}
