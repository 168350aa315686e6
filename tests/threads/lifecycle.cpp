// timeout: 120
// stderr ~ whywait · threads_\w+ · \d+ threads
// stderr !~ (?s)whywait · .*whywait ·
//
// What programs do to threads: many at once, very many one after the other, exceptions through locks, fork, cancellation, libraries
// that are closed again, and threads that outlive main. Run with sanitizers as well.
#include "../sanitizers.hpp"

#include <whywait/core/registry.hpp>
#include <whywait/record.hpp>
#include <whywait/result.hpp>
#include <whywait/thread.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

int failures = 0;
void check(bool holds, const char* text, int line) {
  if (!holds) std::fprintf(stderr, "lifecycle.cpp:%d: not so: %s\n", line, text), ++failures;
}
#define CHECK(condition) check(static_cast<bool>(condition), #condition, __LINE__)

void nap_us(int us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

constexpr bool sanitized = WHYWAIT_TEST_THREAD_SANITIZER || WHYWAIT_TEST_ADDRESS_SANITIZER;

long resident_kib() {
  long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// 64 threads with all primitives at once.
void many_at_once() {
  constexpr int count = 64, rounds = sanitized ? 8 : 100;  // the explanation of its waits takes most of the time
  whywait::mutex m;
  whywait::shared_mutex s;
  whywait::condition_variable changed;
  whywait::counting_semaphore<> slots(4);
  whywait::barrier<> meeting(count);
  whywait::latch done(count);
  int turn = 0, items = 0;
  std::atomic<int> passed{0};
  std::vector<whywait::thread> all;
  for (int number = 0; number != count; ++number) {
    all.emplace_back([&] {
      WHYWAIT_REGION("member");
      for (int i = 0; i != rounds; ++i) {
        {
          const std::lock_guard<whywait::mutex> guard(m);
          WHYWAIT_BLOCK("item");
          ++items;
          changed.notify_one();
        }
        {
          std::unique_lock<whywait::mutex> guard(m);
          changed.wait(guard, [&] { return items > 0; });
          --items;
        }
        slots.acquire();
        if (i % 16 == 0) nap_us(50);
        slots.release();
        if (i % 8 == 0) {
          const std::lock_guard<whywait::shared_mutex> guard(s);
          ++turn;
        } else {
          const std::shared_lock<whywait::shared_mutex> guard(s);
          if (turn < 0) ++failures;
        }
        if (i % 10 == 0) meeting.arrive_and_wait();
      }
      done.count_down();
      ++passed;
    });
  }
  done.wait();
  for (whywait::thread& t : all) t.join();
  CHECK(passed == count);
  CHECK(items == 0);
}

// A thread waits for the holder of a lock that began later, and with which it has not synchronised: what it sees of the holder's
// records must have been published with the lock.
void waits_for_a_younger_one() {
  whywait::mutex m;
  std::atomic<bool> held{false};
  whywait::thread older([&] {
    while (!held.load(std::memory_order_relaxed)) nap_us(100);
    const std::lock_guard<whywait::mutex> guard(m);
  });
  nap_us(2000);
  whywait::thread younger([&] {
    const std::lock_guard<whywait::mutex> guard(m);
    held.store(true, std::memory_order_relaxed);
    nap_us(10000);
  });
  older.join();
  younger.join();
}

// Threads that end give their locations to those that begin: only records grow.
void many_in_a_row() {
  constexpr int count = sanitized ? 400 : 10000, warm_up = count / 5;
  whywait::mutex m;
  long before = 0;
  unsigned locations = 0;
  int sum = 0;
  for (int i = 0; i != count; ++i) {
    if (i == warm_up) {
      before = resident_kib();
      locations = whywait::core::the_registry()->location_count;
    }
    whywait::thread a([&] {
      const std::lock_guard<whywait::mutex> guard(m);
      WHYWAIT_REGION("short life");
      ++sum;
    });
    a.join();
  }
  CHECK(sum == count);
  CHECK(whywait::core::the_registry()->location_count == locations);
  const long grown = resident_kib() - before;
  std::printf("%d threads in a row: %u locations, %ld KiB more in the last %d\n", count, locations, grown, count - warm_up);
  if (!sanitized) CHECK(grown < count - warm_up);  // a KiB for the records of each and, on a busy machine, its counts
}

void exceptions() {
  whywait::mutex m;
  whywait::latch has(1), thrown(1);
  whywait::thread holder([&] {
    try {
      const std::lock_guard<whywait::mutex> guard(m);
      WHYWAIT_REGION("throws");
      has.count_down();
      nap_us(5000);
      throw std::runtime_error("out of the lock");
    } catch (const std::runtime_error&) {
      thrown.count_down();
    }
  });
  has.wait();
  m.lock();
  m.unlock();
  thrown.wait();
  holder.join();
}

// The child has one thread, uses the primitives, and reports nothing.
void in_a_child() {
  whywait::mutex m;
  const pid_t child = fork();
  if (child == 0) {
    whywait::thread holder([&] {
      const std::lock_guard<whywait::mutex> guard(m);
      nap_us(3000);
    });
    nap_us(1000);
    m.lock();
    m.unlock();
    holder.join();
    const whywait::result nothing = whywait::report();
    std::exit(nothing ? 3 : 0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A thread is cancelled while it waits; it unwinds, and the primitives work afterwards.
void cancelled() {
  whywait::mutex m;
  whywait::condition_variable never;
  std::atomic<bool> inside{false};
  struct context {
    whywait::mutex& m;
    whywait::condition_variable& never;
    std::atomic<bool>& inside;
  } shared{m, never, inside};
  pthread_t thread;
  CHECK(pthread_create(
            &thread, nullptr,
            [](void* data) -> void* {
              context& c = *static_cast<context*>(data);
              WHYWAIT_REGION("cancelled");
              std::unique_lock<whywait::mutex> guard(c.m);
              c.inside = true;
              for (;;) c.never.wait(guard);
            },
            &shared) == 0);
  while (!inside) nap_us(100);
  nap_us(3000);
  CHECK(pthread_cancel(thread) == 0);
  void* result = nullptr;
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(m.try_lock());  // the guard gave it up
  m.unlock();
  never.notify_all();
}

void closed_library() {
  void* const plugin = dlopen(WHYWAIT_TEST_PART_plugin, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  CHECK(plugin != nullptr);
  if (plugin == nullptr) return;
  const auto wait_in_plugin = reinterpret_cast<int (*)()>(dlsym(plugin, "wait_in_plugin"));
  CHECK(wait_in_plugin != nullptr && wait_in_plugin() == 7);
  CHECK(dlclose(plugin) == 0);
}

// They go on while the program ends and the report is made. A report takes long with a sanitizer, and the next one explains what
// they did meanwhile, which must not be much.
struct for_ever {
  whywait::mutex m;
  whywait::counting_semaphore<> items{0};
};
void outlive_main() {
  static for_ever& shared = *new for_ever;
  for (int number = 0; number != 3; ++number) {
    whywait::thread(
        [](int own) {
          WHYWAIT_REGION("for ever");
          for (;;) {
            {
              const std::lock_guard<whywait::mutex> guard(shared.m);
              nap_us(2000);
            }
            if (own == 0) shared.items.acquire();
            else shared.items.release();
          }
        },
        number)
        .detach();
  }
  nap_us(20000);
}

}  // namespace

int main() {
  many_at_once();
  waits_for_a_younger_one();
  many_in_a_row();
  exceptions();
  in_a_child();
  cancelled();
  closed_library();
  outlive_main();
  const whywait::result found = whywait::report();
  CHECK(found);
  CHECK(found.dropped_events == 0);
  CHECK(found.clock_violations == 0);
  double sum = 0;
  for (const whywait::result::wait& w : found.waits) sum += w.seconds;
  CHECK(sum > 0);
  std::printf("waiting %.3f s of %.3f s in %d threads\n", found.waiting_seconds, found.rank_seconds, found.ranks);
  return failures == 0 ? 0 : 1;
}
