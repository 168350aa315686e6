// Measures pthread functions that <whywait/pthread.hpp> interposes beside those of the C library, in one run:
//
//   bench_interposed                     uncontended, then 2 and 8 threads at one lock
//
//   uncontended<...>          lock and unlock by one thread: at most 1.25 times the C library, one clock reading (clock) and 10 ns
//   contended<...>/threads    items_per_second is the throughput of all threads: at least 0.95 times that of the C library
//   signal<...>, post<...>    pthread_cond_signal while no thread waits; sem_post and sem_wait of one thread
#include <whywait/core/clock.hpp>
#include <whywait/pthread.hpp>

#include <benchmark/benchmark.h>

#include <pthread.h>
#include <semaphore.h>

namespace {

namespace next = whywait::threads::detail;

template <bool Interposed>
struct mutex {
  void lock() { Interposed ? pthread_mutex_lock(&m) : next::next_mutex_lock.get()(&m); }
  void unlock() { Interposed ? pthread_mutex_unlock(&m) : next::next_mutex_unlock.get()(&m); }
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
};
template <bool Interposed>
struct read_lock {
  void lock() { Interposed ? pthread_rwlock_rdlock(&l) : next::next_pthread_rwlock_rdlock.get()(&l); }
  void unlock() { Interposed ? pthread_rwlock_unlock(&l) : next::next_pthread_rwlock_unlock.get()(&l); }
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
};
template <bool Interposed>
struct spin_lock {
  spin_lock() { pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE); }
  void lock() { Interposed ? pthread_spin_lock(&l) : next::next_pthread_spin_lock.get()(&l); }
  void unlock() { Interposed ? pthread_spin_unlock(&l) : next::next_pthread_spin_unlock.get()(&l); }
  pthread_spinlock_t l;
};
using c_library_mutex = mutex<false>;
using interposed_mutex = mutex<true>;
using c_library_rwlock = read_lock<false>;
using interposed_rwlock = read_lock<true>;
using c_library_spin_lock = spin_lock<false>;
using interposed_spin_lock = spin_lock<true>;

template <class Lock>
void uncontended(benchmark::State& state) {
  static Lock m;
  for (auto _ : state) {
    m.lock();
    benchmark::ClobberMemory();
    m.unlock();
  }
}
BENCHMARK_TEMPLATE(uncontended, c_library_mutex);
BENCHMARK_TEMPLATE(uncontended, interposed_mutex);
BENCHMARK_TEMPLATE(uncontended, c_library_rwlock);
BENCHMARK_TEMPLATE(uncontended, interposed_rwlock);
BENCHMARK_TEMPLATE(uncontended, c_library_spin_lock);
BENCHMARK_TEMPLATE(uncontended, interposed_spin_lock);

void clock_reading(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(whywait::core::cycle_clock::now());
}
BENCHMARK(clock_reading)->Name("clock");

template <bool Interposed>
void signal(benchmark::State& state) {
  static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  for (auto _ : state) Interposed ? pthread_cond_signal(&c) : next::next_pthread_cond_signal.get()(&c);
}
BENCHMARK_TEMPLATE(signal, false);
BENCHMARK_TEMPLATE(signal, true);

template <bool Interposed>
void post(benchmark::State& state) {
  sem_t s;
  sem_init(&s, 0, 0);
  for (auto _ : state) {
    Interposed ? sem_post(&s) : next::next_sem_post.get()(&s);
    Interposed ? sem_wait(&s) : next::next_sem_wait.get()(&s);
  }
}
BENCHMARK_TEMPLATE(post, false);
BENCHMARK_TEMPLATE(post, true);

// Some work under the lock and some outside.
template <class Lock>
void contended(benchmark::State& state) {
  static Lock m;
  static unsigned shared = 0;
  unsigned own = 0;
  for (auto _ : state) {
    m.lock();
    for (int i = 0; i != 20; ++i) benchmark::DoNotOptimize(++shared);
    m.unlock();
    for (int i = 0; i != 60; ++i) benchmark::DoNotOptimize(++own);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_TEMPLATE(contended, c_library_mutex)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK_TEMPLATE(contended, interposed_mutex)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
