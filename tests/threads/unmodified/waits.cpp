// A program without whywait whose threads sleep instead of working, so that it takes as long on a busy machine. Prints how long it took.
//
//   critical   four OpenMP threads that spend most time in a critical section; --corrected: outside it
//   rounds     four threads in each round, of which one takes longest; --corrected: as long as the others
//   beside     two threads wait for the lock of a third one, which takes longer than they do
//   polls      a thread looks every 15 ms whether another one has asked for something
//   workers    two threads run one function, the main thread and one that it begins, which takes longer; --corrected: as long
//   stages     a thread each reads, changes and writes items; changing takes longest; --corrected: two threads change
//   turns      a thread fills a buffer, another one uses it; --corrected: two buffers
//   forked     four threads in a list, of which the last one takes longest; --corrected: all as long
//   barrier    three threads meet at a barrier made of a mutex and a condition variable, in turn late; --corrected: as late
//   single     one thread of a team of two writes, after each step of both; --corrected: each writes a half
//   phases     two loops that are uneven in opposite directions; --corrected: without the barrier between them
//   tasks      a loop is divided into three tasks for two threads
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void critical(bool corrected) {
#pragma omp parallel for num_threads(4) schedule(static)
  for (int i = 0; i < 80; ++i) {
    nap(1);
    if (corrected) nap(4);
#pragma omp critical
    if (!corrected) nap(4);
  }
}

void rounds(bool corrected) {
  for (int round = 0; round != 8; ++round) {
    std::thread all[4];
    for (int i = 0; i != 4; ++i) all[i] = std::thread(nap, corrected ? 50 : 20 * (i + 1));
    for (std::thread& t : all) t.join();
  }
}

void beside() {
  std::mutex lock;
  const auto writes = [&lock] {
    for (int i = 0; i != 60; ++i) {
      {
        const std::lock_guard<std::mutex> guard(lock);
        nap(4);
      }
      nap(1);
    }
  };
  const auto reads = [&lock] {
    for (int i = 0; i != 20; ++i) {
      nap(2);
      const std::lock_guard<std::mutex> guard(lock);
    }
  };
  std::thread writer(writes), one(reads), other(reads);
  one.join();
  other.join();
  writer.join();
}

void polls() {
  std::mutex lock;
  std::condition_variable asked, answered;
  int request = -1, answer = -1;
  std::thread server([&] {
    for (int n = 0; n != 20; ++n) {
      std::unique_lock<std::mutex> guard(lock);
      while (request != n) asked.wait_for(guard, std::chrono::milliseconds(15));
      nap(2);
      answer = n;
      answered.notify_one();
    }
  });
  for (int n = 0; n != 20; ++n) {
    nap(4);
    std::unique_lock<std::mutex> guard(lock);
    request = n;
    answered.wait(guard, [&] { return answer == n; });
  }
  server.join();
}

pthread_barrier_t together;
int naps[2];  // of the workers in each round, ms

[[gnu::noinline, gnu::noclone]] void* work(void* nap_ms) {
  for (int round = 0; round != 30; ++round) {
    nap(*static_cast<int*>(nap_ms));
    pthread_barrier_wait(&together);
    nap(1);
    pthread_barrier_wait(&together);
  }
  return nullptr;
}

void workers(bool corrected) {
  naps[0] = corrected ? 6 : 3;
  naps[1] = corrected ? 6 : 9;
  pthread_barrier_init(&together, nullptr, 2);
  pthread_t other;
  if (pthread_create(&other, nullptr, work, &naps[1]) != 0) return;
  work(&naps[0]);
  pthread_join(other, nullptr);
}

class item_queue {
 public:
  void push(int item) {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return items_.size() < 4; });
    items_.push_back(item);
    changed_.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<int> items_;
};
constexpr int end_of_items = -1;

void stages(bool corrected) {
  item_queue read, changed;
  const int changers = corrected ? 2 : 1;
  std::thread reader([&] {
    for (int i = 0; i != 60; ++i) {
      nap(2);
      read.push(i);
    }
    for (int i = 0; i != changers; ++i) read.push(end_of_items);
  });
  const auto change = [&] {
    for (int item = read.pop(); item != end_of_items; item = read.pop()) {
      nap(6);
      changed.push(item);
    }
    changed.push(end_of_items);
  };
  std::thread first(change), second;
  if (corrected) second = std::thread(change);
  for (int open = changers; open != 0;) {
    if (changed.pop() == end_of_items) --open;
    else nap(3);
  }
  for (std::thread* const t : {&reader, &first, &second})
    if (t->joinable()) t->join();
}

void turns(bool corrected) {
  std::mutex lock;
  std::condition_variable changed;
  const int buffers = corrected ? 2 : 1;
  int full = 0;
  const auto wait_until = [&](bool fills, int wanted) {  // at most, or at least, so many buffers are full
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return fills ? full <= wanted : full >= wanted; });
  };
  const auto hand_on = [&](int change) {
    const std::lock_guard<std::mutex> guard(lock);
    full += change;
    changed.notify_all();
  };
  constexpr int items = 50;
  std::thread fills([&] {
    for (int i = 0; i != items; ++i) {
      wait_until(true, buffers - 1);
      nap(6);
      hand_on(1);
    }
  });
  for (int i = 0; i != items; ++i) {
    wait_until(false, 1);
    nap(5);
    hand_on(-1);
  }
  fills.join();
}

void forked(bool corrected) {
  const auto run = [](int pieces) {
    for (int i = 0; i != pieces; ++i) nap(5);
  };
  std::vector<std::thread> all;
  for (int i = 0; i != 4; ++i) all.emplace_back(run, corrected ? 50 : i == 3 ? 80 : 40);
  for (std::thread& t : all) t.join();
}

struct own_barrier {
  std::mutex lock;
  std::condition_variable changed;
  int arrived = 0, phase = 0;
};
[[gnu::noinline]] void run_to_barriers(own_barrier& all, int thread, bool corrected) {
  for (int step = 0; step != 40; ++step) {
    nap(corrected ? 5 : step % 3 == thread ? 10 : 3);
    std::unique_lock<std::mutex> guard(all.lock);
    const int mine = all.phase;
    if (++all.arrived == 3) {
      all.arrived = 0;
      ++all.phase;
      all.changed.notify_all();
    } else {
      all.changed.wait(guard, [&] { return all.phase != mine; });
    }
  }
}

void barrier(bool corrected) {
  own_barrier all;
  std::thread one(run_to_barriers, std::ref(all), 1, corrected), two(run_to_barriers, std::ref(all), 2, corrected);
  run_to_barriers(all, 0, corrected);
  one.join();
  two.join();
}

void single(bool corrected) {
#pragma omp parallel num_threads(2)
  for (int step = 0; step != 15; ++step) {
    nap(10);
    if (corrected) nap(10);
#pragma omp barrier
#pragma omp single
    if (!corrected) nap(20);
  }
}

void phases(bool corrected) {
#pragma omp parallel num_threads(2)
  for (int step = 0; step != 12; ++step) {
    if (corrected) {
#pragma omp for schedule(static) nowait
      for (int half = 0; half < 2; ++half) nap(half == 0 ? 12 : 4);
    } else {
#pragma omp for schedule(static)
      for (int half = 0; half < 2; ++half) nap(half == 0 ? 12 : 4);
    }
#pragma omp for schedule(static)
    for (int half = 0; half < 2; ++half) nap(half == 0 ? 4 : 12);
  }
}

void tasks() {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int step = 0; step != 10; ++step) {
#pragma omp taskloop num_tasks(3)
    for (int i = 0; i < 12; ++i) nap(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const bool corrected = argc > 2 && std::strcmp(argv[2], "--corrected") == 0;
  const auto begin = std::chrono::steady_clock::now();
  if (what == "critical") critical(corrected);
  else if (what == "rounds") rounds(corrected);
  else if (what == "polls") polls();
  else if (what == "workers") workers(corrected);
  else if (what == "stages") stages(corrected);
  else if (what == "turns") turns(corrected);
  else if (what == "forked") forked(corrected);
  else if (what == "barrier") barrier(corrected);
  else if (what == "single") single(corrected);
  else if (what == "phases") phases(corrected);
  else if (what == "tasks") tasks();
  else beside();
  std::printf("%s: %.4f s\n", what.c_str(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
