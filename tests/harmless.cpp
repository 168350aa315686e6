// Runs under tests/harmless.py: threads that wait for a lock, and with MPI a barrier. "opens FILE": the first file that it opens, with
// the data of a program; "leaves": ends without MPI_Finalize; "limited": no file may grow at its end; "replaced": a thread works, then the
// program runs itself again; "small", "signal": it ends in a thread with the smallest stack, in a signal handler with one of 16 KiB.
#ifdef WHYWAIT_TEST_WITH_MPI
#include <mpi.h>
#endif

#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

char signal_stack[16384];

void end_program(int) {
  std::puts("done");
  exit(3);
}
void* end_in_thread(void*) {
  end_program(0);
  return nullptr;
}
void end_on_small_stack() {
  pthread_attr_t about;
  pthread_attr_init(&about);
  pthread_attr_setstacksize(&about, PTHREAD_STACK_MIN);
  pthread_t thread;
  if (pthread_create(&thread, &about, &end_in_thread, nullptr) == 0) pthread_join(thread, nullptr);
}
void end_in_handler() {
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  struct sigaction how {};
  how.sa_handler = &end_program;
  how.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, nullptr) == 0 && sigaction(SIGUSR1, &how, nullptr) == 0) raise(SIGUSR1);
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* what) {
    for (int i = 1; i < argc; ++i)
      if (std::strcmp(argv[i], what) == 0) return true;
    return false;
  };
  if (is("opens") && write(open(argv[2], O_CREAT | O_TRUNC | O_WRONLY, 0644), "data\n", 5) != 5) return 1;
  if (is("replaced")) {
    std::thread([] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) {
      }
    }).join();
    execl(argv[0], argv[0], static_cast<char*>(nullptr));
    return 1;
  }
#ifdef WHYWAIT_TEST_WITH_MPI
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  std::mutex lock;
  const auto work = [&lock] {
    for (int i = 0; i != 20; ++i) {
      const std::lock_guard<std::mutex> guard(lock);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  rlimit none{0, RLIM_INFINITY};
  if (is("small")) end_on_small_stack();
  if (is("signal")) end_in_handler();
  if (is("limited")) setrlimit(RLIMIT_FSIZE, &none);
#ifdef WHYWAIT_TEST_WITH_MPI
  if (is("leaves")) return 3;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  std::puts("done");
  return 3;
}
