// A program without whywait. Each case makes a thread wait for a known time because of a known function. It measures its own waits and
// prints what a report must contain, which ../unmodified.py compares:
//
//     expect FUNCTION PATTERN SECONDS UNTIL COUNT GUILTY
//
// the waits in FUNCTION: seconds that its calls took, those up to the instants at which what they waited for had happened, their number,
// and the function that made them long.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

namespace {

using steady = std::chrono::steady_clock;
double seconds_between(steady::time_point a, steady::time_point b) {
  return std::max(0.0, std::chrono::duration<double>(b - a).count());
}
void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::atomic<bool> ready;  // the other thread has what this one will wait for
std::atomic<steady::time_point> last_end;  // when it had done its work

void work() {
  ready = true;
  nap(20);
  last_end = steady::now();
}

#define NOT_INLINED __attribute__((noinline))

std::mutex plain;
NOT_INLINED void hold_mutex() {
  const std::lock_guard<std::mutex> guard(plain);
  work();
}
NOT_INLINED void wait_for_mutex() { const std::lock_guard<std::mutex> guard(plain); }

std::timed_mutex timed;
NOT_INLINED void hold_timed() {
  const std::lock_guard<std::timed_mutex> guard(timed);
  work();
}
NOT_INLINED void wait_with_limit() {
  if (timed.try_lock_for(std::chrono::seconds(5))) timed.unlock();
}

std::recursive_mutex again;
NOT_INLINED void hold_twice() {
  const std::lock_guard<std::recursive_mutex> outer(again);
  {
    const std::lock_guard<std::recursive_mutex> inner(again);
    work();
  }
}
NOT_INLINED void wait_for_recursive() { const std::lock_guard<std::recursive_mutex> guard(again); }

std::shared_mutex read_by_one;
NOT_INLINED void hold_reader() {
  const std::shared_lock<std::shared_mutex> guard(read_by_one);
  work();
}
NOT_INLINED void wait_of_writer() { const std::lock_guard<std::shared_mutex> guard(read_by_one); }

std::shared_mutex written;
NOT_INLINED void hold_writer() {
  const std::lock_guard<std::shared_mutex> guard(written);
  work();
}
NOT_INLINED void wait_of_reader() { const std::shared_lock<std::shared_mutex> guard(written); }

pthread_spinlock_t spun;
NOT_INLINED void hold_spin_lock() {
  pthread_spin_lock(&spun);
  work();
  pthread_spin_unlock(&spun);
}
NOT_INLINED void wait_for_spin_lock() {
  pthread_spin_lock(&spun);
  pthread_spin_unlock(&spun);
  if (pthread_spin_trylock(&spun) != 0) std::abort();
  pthread_spin_unlock(&spun);
}

std::mutex full_mutex;
std::condition_variable filled;
bool full = false;
NOT_INLINED void fill() {
  work();
  const std::lock_guard<std::mutex> guard(full_mutex);
  full = true;
  filled.notify_one();
}
NOT_INLINED void wait_until_full() {
  std::unique_lock<std::mutex> guard(full_mutex);
  filled.wait(guard, [] { return full; });
  full = false;
}

mtx_t c11_mutex;
cnd_t c11_filled;
bool c11_full = false;
NOT_INLINED void hold_mtx() {
  mtx_lock(&c11_mutex);
  work();
  mtx_unlock(&c11_mutex);
}
NOT_INLINED void wait_for_mtx() {
  mtx_lock(&c11_mutex);
  mtx_unlock(&c11_mutex);
  if (mtx_trylock(&c11_mutex) != thrd_success) std::abort();
  mtx_unlock(&c11_mutex);
}
NOT_INLINED void fill_c11() {
  work();
  mtx_lock(&c11_mutex);
  c11_full = true;
  cnd_signal(&c11_filled);
  mtx_unlock(&c11_mutex);
}
NOT_INLINED void wait_for_cnd() {
  mtx_lock(&c11_mutex);
  while (!c11_full) cnd_wait(&c11_filled, &c11_mutex);
  c11_full = false;
  mtx_unlock(&c11_mutex);
}
thrd_t c11_thread;
NOT_INLINED int run_c11(void*) {
  work();
  return -7;
}
void begin_c11() {
  if (thrd_create(&c11_thread, run_c11, nullptr) != thrd_success) std::abort();
}
NOT_INLINED void wait_for_thrd() {
  int result = 0;
  if (thrd_join(c11_thread, &result) != thrd_success || result != -7) std::abort();
}

sem_t slots;
NOT_INLINED void refill() {
  work();
  sem_post(&slots);
}
NOT_INLINED void wait_for_slot() {
  while (sem_wait(&slots) != 0) {
  }
}

pthread_barrier_t meeting;
NOT_INLINED void come_late() {
  work();
  pthread_barrier_wait(&meeting);
}
NOT_INLINED void wait_for_others() { pthread_barrier_wait(&meeting); }

std::promise<int> answer;
NOT_INLINED void give_answer() {
  work();
  answer.set_value(42);
}
NOT_INLINED void wait_for_answer() {
  if (answer.get_future().get() != 42) std::abort();
  answer = std::promise<int>();
}

std::once_flag flags[3];
std::atomic<int> flag_number{0};
NOT_INLINED void initialise() { std::call_once(flags[flag_number], work); }
NOT_INLINED void wait_for_initialised() { std::call_once(flags[flag_number++], std::abort); }

std::atomic<int> static_number{0};
int initial() {
  work();
  return 7;
}
NOT_INLINED void use_static() {
  int sum = 0;
  if (static_number == 0) {
    static const int first = initial();
    sum = first;
  } else if (static_number == 1) {
    static const int second = initial();
    sum = second;
  } else {
    static const int third = initial();
    sum = third;
  }
  if (sum != 7) std::abort();
}
void use_next_static() {
  use_static();
  ++static_number;
}

NOT_INLINED void run_long() { work(); }
std::thread* to_join;
NOT_INLINED void wait_for_end() { to_join->join(); }

void one_case(const char* function, const char* pattern, void (*wait)(), const char* guilty, void (*make_late)()) {
  double took = 0, until = 0;
  constexpr int rounds = 3;
  for (int i = 0; i != rounds; ++i) {
    ready = false;
    std::thread other(make_late);
    to_join = &other;
    while (!ready) nap(1);
    nap(3);
    const steady::time_point begin = steady::now();
    wait();
    const steady::time_point end = steady::now();
    took += seconds_between(begin, end);
    if (other.joinable()) other.join();
    until += seconds_between(begin, std::min(end, last_end.load()));
  }
  std::printf("expect %s %s %.6f %.6f %d %s\n", function, pattern, took, until, rounds, guilty);
}

// Each of two threads takes a lock `each` times; none waits.
NOT_INLINED void count(int each) {
  std::mutex m;
  int sum = 0;
  const auto add = [&] {
    for (int i = 0; i != each; ++i) {
      const std::lock_guard<std::mutex> guard(m);
      ++sum;
    }
  };
  std::thread(add).join();
  std::thread(add).join();
  if (sum != 2 * each) std::abort();
}

void closed_library(const char* path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto wait_in_plugin = plugin != nullptr ? reinterpret_cast<int (*)()>(dlsym(plugin, "wait_in_plugin")) : nullptr;
  if (wait_in_plugin == nullptr || wait_in_plugin() != 7 || dlclose(plugin) != 0) std::abort();
}

// What programs do to threads: exceptions through locks, a child, cancellation, a thread that outlives main.
void lifecycle() {
  std::mutex m;
  std::thread([&] {
    try {
      const std::lock_guard<std::mutex> guard(m);
      throw std::runtime_error("out of the lock");
    } catch (const std::runtime_error&) {
    }
  }).join();
  if (!m.try_lock()) std::abort();
  m.unlock();

  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::thread holder([&] {
      const std::lock_guard<std::mutex> guard(m);
      nap(3);
    });
    nap(1);
    m.lock();
    m.unlock();
    holder.join();
    std::exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) std::abort();

  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  pthread_t cancelled;
  pthread_create(
      &cancelled, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&held);
        pthread_cleanup_push([](void*) { pthread_mutex_unlock(&held); }, nullptr);
        for (;;) pthread_cond_wait(&never, &held);
        pthread_cleanup_pop(1);
        return nullptr;
      },
      nullptr);
  nap(3);
  pthread_cancel(cancelled);
  void* result = nullptr;
  pthread_join(cancelled, &result);
  if (result != PTHREAD_CANCELED || pthread_mutex_trylock(&held) != 0) std::abort();
  pthread_mutex_unlock(&held);

  pthread_t asleep_for_ever;
  pthread_create(
      &asleep_for_ever, nullptr, [](void*) -> void* { return sleep(1000), nullptr; }, nullptr);
  nap(3);
  pthread_cancel(asleep_for_ever);
  pthread_join(asleep_for_ever, &result);
  if (result != PTHREAD_CANCELED) std::abort();

  pthread_t left;
  pthread_create(
      &left, nullptr, [](void*) -> void* { pthread_exit(nullptr); }, nullptr);
  pthread_join(left, nullptr);

  static std::mutex for_ever;
  for (int i = 0; i != 2; ++i)
    std::thread([] {
      for (;;) {
        const std::lock_guard<std::mutex> guard(for_ever);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }).detach();
}

// --- waits for something outside of the process

NOT_INLINED void asleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
NOT_INLINED void asleep_short() { usleep(20000); }
NOT_INLINED void yielding() {  // a loop that waits, as far as a program can tell
  for (const steady::time_point begin = steady::now(); seconds_between(begin, steady::now()) < 0.02;) std::this_thread::yield();
}
NOT_INLINED void polled() { poll(nullptr, 0, 20); }
NOT_INLINED void selected() {
  timeval limit = {0, 20000};
  select(0, nullptr, nullptr, nullptr, &limit);
}
int to_reader[2];
NOT_INLINED void read_pipe() {
  char byte = 0;
  if (read(to_reader[0], &byte, 1) != 1 || byte != 'x') std::abort();
}
int from_writer[2];
NOT_INLINED void write_pipe() {  // it is full
  if (write(from_writer[1], "x", 1) != 1) std::abort();
}
int locked_file, same_file;
NOT_INLINED void take_file_lock() {
  if (flock(same_file, LOCK_EX) != 0 || flock(same_file, LOCK_UN) != 0) std::abort();
}
struct flock whole_file(short kind) {
  struct flock all = {};
  all.l_type = kind;
  all.l_whence = SEEK_SET;
  return all;
}
NOT_INLINED void take_record_lock() {
  struct flock all = whole_file(F_WRLCK);
  if (fcntl(same_file, F_OFD_SETLKW, &all) != 0) std::abort();
}
int to_holder[2], from_holder[2], held_by_child;  // a child that holds a lock for 20 ms from the byte that it reads
NOT_INLINED void take_lock_of_child() {
  if (write(to_holder[1], "x", 1) != 1 || lockf(held_by_child, F_LOCK, 0) != 0) std::abort();
}
void begin_holder() {
  if (pipe(to_holder) != 0 || pipe(from_holder) != 0) std::abort();
  held_by_child = open("held_by_child", O_RDWR | O_CREAT, 0600);
  char byte = 'x';
  if (fork() != 0) {
    if (read(from_holder[0], &byte, 1) != 1) std::abort();
    return;
  }
  if (lockf(held_by_child, F_LOCK, 0) != 0 || write(from_holder[1], &byte, 1) != 1 || read(to_holder[0], &byte, 1) != 1)
    _exit(1);
  nap(20);
  _exit(0);
}
sigset_t signals;
NOT_INLINED void wait_for_signal() {
  int number = 0;
  if (sigwait(&signals, &number) != 0 || number != SIGUSR1) std::abort();
}
NOT_INLINED void wait_for_no_signal() {
  const timespec limit = {0, 20000000};
  if (sigtimedwait(&signals, nullptr, &limit) != -1 || errno != EAGAIN) std::abort();
}
int to_child[2];
pid_t child;
// The child sleeps once it has read a byte: making it takes time that is no wait.
void make_child() {
  if (pipe(to_child) != 0) std::abort();
  child = fork();
  if (child != 0) return;
  close(to_child[1]);
  char byte = 0;
  if (read(to_child[0], &byte, 1) == 1) nap(20);
  _exit(3);
}
NOT_INLINED void wait_for_child() {
  int status = 0;
  if (write(to_child[1], "x", 1) != 1 || waitpid(child, &status, 0) != child) std::abort();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) std::abort();
}
NOT_INLINED void read_file() {  // work
  const int file = open("/proc/self/exe", O_RDONLY);
  char* const into = new char[1 << 20];
  while (read(file, into, 1 << 20) > 0) {
  }
  delete[] into;
  close(file);
}

NOT_INLINED void wait_for_signals() { pause(); }
pthread_mutex_t never_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never_notified = PTHREAD_COND_INITIALIZER;
NOT_INLINED void wait_without_end() {
  pthread_mutex_lock(&never_mutex);
  for (;;) pthread_cond_wait(&never_notified, &never_mutex);
}

std::atomic<int> at_case{0};
// Prints the time that a thread spent in each of these functions while two threads wait for ever, and for how long main worked.
void outside() {
  const steady::time_point begin = steady::now();
  make_child();
  if (pipe(to_reader) != 0 || pipe(from_writer) != 0) std::abort();
  static char page[4096];
  fcntl(from_writer[1], F_SETFL, O_NONBLOCK);
  while (write(from_writer[1], page, sizeof page) > 0) {
  }
  fcntl(from_writer[1], F_SETFL, 0);
  begin_holder();
  locked_file = open("locked_file", O_RDWR | O_CREAT, 0600);
  same_file = open("locked_file", O_RDWR);
  if (flock(locked_file, LOCK_EX) != 0) std::abort();
  struct flock all = whole_file(F_WRLCK);
  if (fcntl(locked_file, F_OFD_SETLK, &all) != 0) std::abort();
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  for (const auto for_ever : {wait_for_signals, wait_without_end}) std::thread(for_ever).detach();
  static const struct {
    const char* name;
    void (*call)();
  } cases[] = {{"wait_for_signal", wait_for_signal},
               {"read_pipe", read_pipe},
               {"write_pipe", write_pipe},
               {"take_file_lock", take_file_lock},
               {"take_record_lock", take_record_lock},
               {"take_lock_of_child", take_lock_of_child},
               {"asleep", asleep},
               {"asleep_short", asleep_short},
               {"yielding", yielding},
               {"polled", polled},
               {"selected", selected},
               {"wait_for_no_signal", wait_for_no_signal},
               {"wait_for_child", wait_for_child},
               {"read_file", read_file}};
  std::thread sleeper([] {
    for (const auto& each : cases) {
      const steady::time_point start = steady::now();
      ++at_case;
      each.call();
      std::printf("outside %s %.6f\n", each.name, seconds_between(start, steady::now()));
    }
  });
  while (at_case != 1) nap(1);
  nap(20);
  pthread_kill(sleeper.native_handle(), SIGUSR1);
  while (at_case != 2) nap(1);
  nap(20);
  if (write(to_reader[1], "x", 1) != 1) std::abort();
  while (at_case != 3) nap(1);
  nap(20);
  if (read(from_writer[0], page, sizeof page) != sizeof page) std::abort();
  while (at_case != 4) nap(1);
  nap(20);
  flock(locked_file, LOCK_UN);
  while (at_case != 5) nap(1);
  nap(20);
  all = whole_file(F_UNLCK);
  fcntl(locked_file, F_OFD_SETLK, &all);
  std::printf("worked %.6f\n", seconds_between(begin, steady::now()));
  sleeper.join();
}

// --- threads that are woken for nothing

using unique = std::unique_lock<std::mutex>;
std::atomic<int> crowded_line{0};
NOT_INLINED void wait_crowded(unique& lock, std::condition_variable& changed, const int& items) {
  crowded_line = __LINE__ + 1;
  changed.wait(lock, [&] { return items != 0; });
}
NOT_INLINED void wait_alone(unique& lock, std::condition_variable& changed, const int& items) {
  changed.wait(lock, [&] { return items != 0; });
}
// Threads that wait for items of a queue, of which main adds one after the other. `all`: it wakes all of them.
template <class Wait>
void crowd(Wait wait, bool all) {
  constexpr int threads = 6, rounds = 500;
  std::mutex m;
  std::condition_variable changed, taken;
  int items = 0, left = rounds;
  std::thread takers[threads];
  for (std::thread& each : takers)
    each = std::thread([&] {
      for (;;) {
        unique lock(m);
        wait(lock, changed, items);
        if (left == 0) return;
        --items;
        --left;
        taken.notify_one();
      }
    });
  for (int i = 0; i != rounds; ++i) {
    unique lock(m);
    ++items;
    if (all) changed.notify_all();
    else changed.notify_one();
    taken.wait(lock, [&] { return items == 0; });
  }
  {
    const unique lock(m);
    items = threads + 1;
  }
  changed.notify_all();
  for (std::thread& each : takers) each.join();
}

// Two threads are notified of each step and do their part of it under the mutex, which they never give up but to wait.
NOT_INLINED void wait_for_step(unique& lock, std::condition_variable& stepped) { stepped.wait(lock); }
void steps() {
  std::mutex m;
  std::condition_variable stepped;
  int left = 0, waiting = 0;
  bool last = false;
  const auto follow = [&] {
    unique lock(m);
    for (++waiting; !last; --left) wait_for_step(lock, stepped);
  };
  std::thread first(follow), second(follow);
  while (unique(m), waiting != 2) nap(1);
  for (int i = 0; i != 300; ++i) {
    {
      const unique lock(m);
      left = 2;
      last = i == 299;
      stepped.notify_all();
    }
    while (unique(m), left != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  first.join();
  second.join();
}

struct at_exit {
  ~at_exit() {
    const std::lock_guard<std::mutex> guard(plain);
    std::thread([] {}).join();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] == 'n') return 0;
  if (argc > 1 && argv[1][0] == 'o') {
    outside();
    return 0;
  }
  if (argc > 1 && argv[1][0] == 'w') {
    crowd(wait_crowded, true);
    crowd(wait_alone, false);
    steps();
    std::printf("crowded %d\n", crowded_line.load());
    return 0;
  }
  if (argc > 2) {
    count(std::atoi(argv[2]));
    return 0;
  }
  static at_exit last;
  sem_init(&slots, 0, 0);
  pthread_barrier_init(&meeting, nullptr, 2);
  pthread_spin_init(&spun, PTHREAD_PROCESS_PRIVATE);
  one_case("wait_for_mutex", "mutex_contention", wait_for_mutex, "hold_mutex", hold_mutex);
  one_case("wait_with_limit", "mutex_contention", wait_with_limit, "hold_timed", hold_timed);
  one_case("wait_for_recursive", "mutex_contention", wait_for_recursive, "hold_twice", hold_twice);
  one_case("wait_of_writer", "mutex_contention", wait_of_writer, "hold_reader", hold_reader);
  one_case("wait_of_reader", "mutex_contention", wait_of_reader, "hold_writer", hold_writer);
  one_case("wait_for_spin_lock", "mutex_contention", wait_for_spin_lock, "hold_spin_lock", hold_spin_lock);
  one_case("wait_until_full", "condition_variable", wait_until_full, "fill", fill);
  if (mtx_init(&c11_mutex, mtx_plain) != thrd_success || cnd_init(&c11_filled) != thrd_success) std::abort();
  one_case("wait_for_mtx", "mutex_contention", wait_for_mtx, "hold_mtx", hold_mtx);
  one_case("wait_for_cnd", "condition_variable", wait_for_cnd, "fill_c11", fill_c11);
  one_case("wait_for_thrd", "join", wait_for_thrd, "run_c11", begin_c11);
  one_case("wait_for_slot", "semaphore", wait_for_slot, "refill", refill);
  one_case("wait_for_others", "thread_barrier", wait_for_others, "come_late", come_late);
  one_case("wait_for_answer", "future", wait_for_answer, "give_answer", give_answer);
  one_case("wait_for_initialised", "latch", wait_for_initialised, "initialise", initialise);
  one_case("use_static", "latch", use_next_static, "use_static", use_static);
  one_case("wait_for_end", "join", wait_for_end, "one_case", run_long);  // names a std::thread by its creation
  if (argc > 1) closed_library(argv[1]);
  lifecycle();
  std::fflush(stdout);
  return 0;
}
