// ranks: 1
// with: observer_data
// not: address thread mpich
// environment: WHYWAIT_OUTPUT=out
// file out.json ~ (?s)"data": "lock",\s+"pattern": "migratory".*?"misses": 8,.*?"invalidation": "pthread_mutex_lock in
// file out.json ~ (?s)"data": "shared lock",\s+"pattern": "migratory".*?"misses": 8,.*?"invalidation": "pthread_rwlock_wrlock in
// file out.json ~ (?s)"data": "barrier",\s+"pattern": "false sharing".*?"misses": 10,.*?"invalidation": "pthread_barrier_wait in
// file out.json ~ (?s)"data": "semaphore",\s+"pattern": "producer-consumer 1:1".*?"misses": 5,.*?"invalidation": "sem_wait in
// file out.json ~ (?s)"data": "condition",\s+"pattern": "producer-consumer 1:1".*?"misses": 5,
// file out.json ~ (?s)"data": "join",\s+"pattern": "mixed".*?"misses": 3,.*?"invalidation": "pthread_join in
// stderr !~ not understand: thread start
// json out.json
//
// With <whywait/pthread.hpp> the sharing graph takes its synchronisations from the primitives of the standard library: the
// graphs are those of data_order.cpp. AddressSanitizer of clang and ThreadSanitizer interpose the functions themselves.
#include "parts/data_order.hpp"

#include <whywait/pthread.hpp>

#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace data_order;

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  std::mutex lock;
  take_in_turn<std::thread>("lock", lock, false);
  std::shared_mutex shared;
  take_in_turn<std::thread>("shared lock", shared, false);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  fill_and_sum<std::thread>(
      "barrier", [&] { pthread_barrier_wait(&barrier); }, false);
  pthread_barrier_destroy(&barrier);
  sem_t semaphores[2];
  for (sem_t& s : semaphores) sem_init(&s, 0, 0);
  hand_on<std::thread>(
      "semaphore", [&](int k) { sem_post(&semaphores[k]); }, [&](int k) { sem_wait(&semaphores[k]); }, false);
  std::mutex mutex;
  std::condition_variable changed;
  int count[2] = {0, 0};
  hand_on<std::thread>(
      "condition",
      [&](int k) {
        {
          const std::lock_guard<std::mutex> guard(mutex);
          ++count[k];
        }
        changed.notify_all();
      },
      [&](int k) {
        std::unique_lock<std::mutex> own(mutex);
        changed.wait(own, [&] { return count[k] != 0; });
        --count[k];
      },
      false);
  join_and_read<std::thread>("join");
  MPI_Finalize();
}
