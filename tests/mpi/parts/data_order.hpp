// Programs whose threads hand registered data on in a known order: once with marks (WHYWAIT_SYNC) around primitives that whywait
// does not see, once with primitives that it sees and without marks. Both must have the same sharing graph.
#ifndef WHYWAIT_TESTS_MPI_PARTS_DATA_ORDER_HPP
#define WHYWAIT_TESTS_MPI_PARTS_DATA_ORDER_HPP

#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <sched.h>

#include <atomic>

namespace data_order {

constexpr int rounds = 4;

// An order of two threads that no tool sees.
class turns {
 public:
  void wait_for(int turn) const {
    while (now_.load() != turn) sched_yield();
  }
  void next() { ++now_; }

 private:
  std::atomic<int> now_{0};
};

struct alignas(64) values {
  double value[8] = {};
};

inline void change(values& v, int thread) {
  WHYWAIT_REGION("change");
  v.value[0] += thread;
  WHYWAIT_READS("change", whywait::range(v.value, 8));
  WHYWAIT_WRITES("change", whywait::range(v.value, 8));
}
inline void fill(values& v, int thread) {
  WHYWAIT_REGION("fill");
  v.value[thread] += 1;
  WHYWAIT_WRITES("fill", whywait::range(&v.value[thread], 1));
}
inline void sum(values& v) {
  WHYWAIT_REGION("sum");
  v.value[7] = v.value[0] + v.value[1];
  WHYWAIT_READS("sum", whywait::range(v.value, 2));
}

/// Runs `part(thread)` in two threads.
template <class Thread, class Part>
void both(Part part) {
  Thread threads[2];
  for (int t = 0; t != 2; ++t) threads[t] = Thread([&part, t] { part(t); });
  for (Thread& t : threads) t.join();
}

/// The threads take a lock in turn. `marks`: around it.
template <class Thread, class Lock>
void take_in_turn(const char* name, Lock& lock, bool marks) {
  values v;
  const whywait::registered_array is(name, v.value, whywait::shape(8), __FILE__, __LINE__);
  turns order;
  both<Thread>([&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      order.wait_for(2 * i + thread);
      lock.lock();
      if (marks) whywait::synchronise("lock");
      change(v, thread);
      if (marks) whywait::synchronise("lock");
      lock.unlock();
      order.next();
    }
  });
}

/// Each thread writes its element; behind a barrier both read both. `meet(thread)` is the barrier.
template <class Thread, class Meet>
void fill_and_sum(const char* name, Meet meet, bool marks) {
  values v;
  const whywait::registered_array is(name, v.value, whywait::shape(8), __FILE__, __LINE__);
  both<Thread>([&](int thread) {
    for (int i = 0; i < 2 * rounds; ++i) {
      if (i % 2 == 0) fill(v, thread);
      else sum(v);
      if (marks) whywait::synchronise_all("barrier");
      meet();
    }
  });
}

/// One thread changes data and lets the other one go on, as a buffer with one slot does. `post(k)` and `wait(k)`: of two semaphores.
template <class Thread, class Post, class Wait>
void hand_on(const char* name, Post post, Wait wait, bool marks) {
  values v;
  const whywait::registered_array is(name, v.value, whywait::shape(8), __FILE__, __LINE__);
  static const char* const things[] = {"full", "empty"};
  both<Thread>([&](int thread) {
    for (int i = 0; i < rounds; ++i) {
      if (thread == 1 || i != 0) wait(1 - thread);
      if (marks && (thread == 1 || i != 0)) whywait::synchronise(things[1 - thread]);
      if (thread == 0) fill(v, 0);
      else sum(v);
      if (marks) whywait::synchronise(things[thread]);
      post(thread);
    }
  });
}

/// What a thread wrote, the one that has waited for its end reads.
template <class Thread>
void join_and_read(const char* name) {
  values v;
  const whywait::registered_array is(name, v.value, whywait::shape(8), __FILE__, __LINE__);
  fill(v, 0);
  Thread other([&v] {
    sum(v);
    fill(v, 1);
  });
  other.join();
  sum(v);
}

}  // namespace data_order

#endif
