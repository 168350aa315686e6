// A library that is closed again after its threads waited: for a std::mutex, and in C++20 for a std::latch, which calls the kernel itself.
// Prints how long it waited for the latch. Its OpenMP runtime is loaded with it, so that the program does not see that.
#include <dlfcn.h>
#include <omp.h>

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
  int members = 0, sum = 0;
  omp_lock_t own;
  omp_init_lock(&own);
#pragma omp parallel num_threads(3) reduction(+ : sum)
  {
#pragma omp critical
    ++members;
#pragma omp barrier
    omp_set_lock(&own);
    sum += members;
    omp_unset_lock(&own);
  }
  omp_destroy_lock(&own);
  // Its threads are still in the runtime.
  if (dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) return 0;
  return sum == 9 ? 7 : 0;
}
