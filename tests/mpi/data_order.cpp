// ranks: 1
// with: observer_data
// environment: WHYWAIT_OUTPUT=out
// file out.json ~ (?s)"data": "lock, marked",\s+(?P<what>"pattern": "migratory").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "lock, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "lock, marked",\s+(?P<what>"pattern": "migratory").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "shared lock, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "lock, marked",\s+(?P<what>"pattern": "migratory").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "recursive lock, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "barrier, marked",\s+(?P<what>"pattern": "false sharing").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "barrier, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "barrier, marked",\s+(?P<what>"pattern": "false sharing").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "split barrier, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "semaphore, marked",\s+(?P<what>"pattern": "producer-consumer 1:1").*?(?P<misses>"misses": \d+).*?(?P<graph>"transitions": \[.*?\])(?=.*"data": "semaphore, seen",\s+(?P=what).*?(?P=misses).*?(?P=graph))
// file out.json ~ (?s)"data": "semaphore, marked",\s+(?P<what>"pattern": "producer-consumer 1:1").*?(?P<misses>"misses": \d+)(?=.*"data": "condition, seen",\s+(?P=what).*?(?P=misses))
// file out.json ~ (?s)"data": "lock, unmarked",\s+"pattern": "[^"]*".*?"misses": 2,
// file out.json ~ (?s)"data": "join, unseen",\s+"pattern": "[^"]*".*?"misses": 2,
// file out.json ~ (?s)"data": "join, seen",\s+"pattern": "[^"]*".*?"misses": 3,
// file out.json ~ "invalidation": "thread::join in
// json out.json
//
// The sharing graph takes its synchronisations from thread primitives: a program without marks has the graph that the
// same program has with WHYWAIT_SYNC, and one whose primitives are not seen has none.
#include "parts/data_order.hpp"

#include <whywait/thread.hpp>

#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>

#include <mutex>
#include <thread>

using namespace data_order;

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  {
    std::mutex plain;
    take_in_turn<std::thread>("lock, unmarked", plain, false);
    take_in_turn<std::thread>("lock, marked", plain, true);
    whywait::mutex seen;
    take_in_turn<std::thread>("lock, seen", seen, false);
    whywait::shared_mutex shared;
    take_in_turn<std::thread>("shared lock, seen", shared, false);
    whywait::recursive_mutex recursive;
    take_in_turn<std::thread>("recursive lock, seen", recursive, false);
  }
  {
    pthread_barrier_t plain;
    pthread_barrier_init(&plain, nullptr, 2);
    fill_and_sum<std::thread>(
        "barrier, marked", [&] { pthread_barrier_wait(&plain); }, true);
    pthread_barrier_destroy(&plain);
    whywait::barrier<> seen(2);
    fill_and_sum<std::thread>(
        "barrier, seen", [&] { seen.arrive_and_wait(); }, false);
    whywait::barrier<> split(2);
    fill_and_sum<std::thread>(
        "split barrier, seen", [&] { split.wait(split.arrive()); }, false);
  }
  {
    sem_t plain[2];
    for (sem_t& s : plain) sem_init(&s, 0, 0);
    hand_on<std::thread>(
        "semaphore, marked", [&](int k) { sem_post(&plain[k]); }, [&](int k) { sem_wait(&plain[k]); }, true);
    whywait::counting_semaphore<> seen[2] = {whywait::counting_semaphore<>(0), whywait::counting_semaphore<>(0)};
    hand_on<std::thread>(
        "semaphore, seen", [&](int k) { seen[k].release(); }, [&](int k) { seen[k].acquire(); }, false);
    whywait::mutex mutex;
    whywait::condition_variable changed;
    int count[2] = {0, 0};
    hand_on<std::thread>(
        "condition, seen",
        [&](int k) {
          {
            const std::lock_guard<whywait::mutex> guard(mutex);
            ++count[k];
          }
          changed.notify_all();
        },
        [&](int k) {
          std::unique_lock<whywait::mutex> lock(mutex);
          changed.wait(lock, [&] { return count[k] != 0; });
          --count[k];
        },
        false);
  }
  join_and_read<std::thread>("join, unseen");
  join_and_read<whywait::thread>("join, seen");
  MPI_Finalize();
}
