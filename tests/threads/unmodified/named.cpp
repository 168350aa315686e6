// A program without whywait, compiled without optimisation and with it. Each wait is made through functions of the C++ library, which
// are inlined or not. Prints the lines of the program that a report must name, and the time that the call took, which ../unmodified.py
// compares:
//
//     named FUNCTION LINE SECONDS ENDED_BY
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

namespace {

#define NOT_INLINED __attribute__((noinline))
#define NO_JUMP __asm__ volatile("")  // in place of the last call

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::atomic<bool> ready;
int line = 0;

// Two lines that lock a mutex through the same functions, and two through others.
std::mutex m;
NOT_INLINED void hold() {
  m.lock();
  ready = true;
  nap(20);
  m.unlock();
  NO_JUMP;
}
NOT_INLINED void lock_first() {
  line = __LINE__ + 1;
  const std::lock_guard<std::mutex> lock(m);
}
NOT_INLINED void lock_second() {
  line = __LINE__ + 1;
  const std::lock_guard<std::mutex> lock(m);
}
NOT_INLINED void lock_unique() {
  line = __LINE__ + 1;
  const std::unique_lock<std::mutex> lock(m);
}
NOT_INLINED void lock_scoped() {
  line = __LINE__ + 1;
  const std::scoped_lock<std::mutex> lock(m);
}

std::shared_mutex shared;
NOT_INLINED void hold_shared() {
  shared.lock();
  ready = true;
  nap(20);
  shared.unlock();
  NO_JUMP;
}
NOT_INLINED void lock_to_read() {
  line = __LINE__ + 1;
  const std::shared_lock<std::shared_mutex> lock(shared);
}

std::condition_variable changed;
bool has_changed = false;
NOT_INLINED void change() {
  ready = true;
  nap(20);
  {
    const std::lock_guard<std::mutex> lock(m);
    has_changed = true;
  }
  changed.notify_one();
  NO_JUMP;
}
NOT_INLINED void wait_for_change() {
  std::unique_lock<std::mutex> lock(m);
  line = __LINE__ + 1;
  changed.wait(lock, [] { return has_changed; });
}

std::latch opened(1);
NOT_INLINED void open_latch() {
  ready = true;
  nap(20);
  opened.count_down();
  NO_JUMP;
}
NOT_INLINED void wait_for_latch() {
  line = __LINE__ + 1;
  opened.wait();
  NO_JUMP;
}

std::counting_semaphore<8> slots(0);
NOT_INLINED void free_slot() {
  ready = true;
  nap(20);
  slots.release();
  NO_JUMP;
}
NOT_INLINED void take_first() {
  line = __LINE__ + 1;
  slots.acquire();
  NO_JUMP;
}
NOT_INLINED void take_second() {
  line = __LINE__ + 1;
  slots.acquire();
  NO_JUMP;
}

// The future joins the thread in a function that std::call_once calls.
NOT_INLINED void run_task() { nap(40); }
std::future<void> task;
NOT_INLINED void wait_for_task() {
  line = __LINE__ + 1;
  task.wait();
  NO_JUMP;
}

void one_case(const char* function, void (*wait)(), const char* ended_by, void (*make_late)()) {
  ready = false;
  std::thread other(make_late);
  while (!ready) nap(1);
  nap(1);
  const auto begin = std::chrono::steady_clock::now();
  wait();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("named %s %d %.6f %s\n", function, line, took.count(), ended_by);
  other.join();
}

}  // namespace

int main() {
  one_case("lock_first", lock_first, "hold", hold);
  one_case("lock_second", lock_second, "hold", hold);
  one_case("lock_unique", lock_unique, "hold", hold);
  one_case("lock_scoped", lock_scoped, "hold", hold);
  one_case("lock_to_read", lock_to_read, "hold_shared", hold_shared);
  one_case("wait_for_change", wait_for_change, "change", change);
  one_case("wait_for_latch", wait_for_latch, "open_latch", open_latch);
  one_case("take_first", take_first, "free_slot", free_slot);
  one_case("take_second", take_second, "free_slot", free_slot);
  task = std::async(std::launch::async, [] { return run_task(); });  // ten functions of the library, inlined or not
  one_case("wait_for_task", wait_for_task, "main", [] { ready = true; });  // names the thread by its creation
}
