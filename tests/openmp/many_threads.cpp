// timeout: 60
// stderr ~ whywait: OpenMP teams of more than 256 threads are not observed
// stderr !~ (?s)not observed.*not observed
// tries 3
//
// More threads than processors, each case in a process of its own. What is too large to be observed is named, once. Threads with the
// same work, or the same sleep, get no verdict about who takes longer, however unevenly they get processors; one with more gets it,
// unless the kernel counts that it was without a processor for as long. Compiled with g++ (gomp.hpp) and clang++ (ompt.hpp).
#ifdef __clang__
#include <whywait/ompt.hpp>
#else
#include <whywait/gomp.hpp>
#endif
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <omp.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

bool large_team() {
  int threads = 0;
  for (int i = 0; i != 2; ++i) {
#pragma omp parallel num_threads(300) reduction(+ : threads)
    ++threads;
  }
  int few = 0;
#pragma omp parallel num_threads(2) reduction(+ : few)
  ++few;
  return threads >= 2 * 257 && few == 2;
}

// Uses this much of a processor.
void work(double ms) {
  const whywait::region inside("work");
  timespec now;
  const auto used = [&now] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
  };
  const double end = used() + ms;
  while (used() < end) {
  }
}
void alone(double ms) {
  const whywait::region inside("serial");
  const clock_t end = clock() + static_cast<clock_t>(ms * 1e-3 * CLOCKS_PER_SEC);
  while (clock() < end) {
  }
}

void nap(double ms) {
  const whywait::region inside("nap");
  usleep(static_cast<useconds_t>(1e3 * ms));
}

// Of the thread with more work: ready to run without a processor, in milliseconds.
double delay_of_last = 0;
void note_delay() {
  std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
  double ran = 0, delay = 0;
  if (file != nullptr && std::fscanf(file, "%lf %lf", &ran, &delay) == 2) delay_of_last = 1e-6 * delay;
  if (file != nullptr) std::fclose(file);
}

// `longer`: what the last one works more.
void team(int threads, int rounds, double ms, double longer) {
  for (int i = 0; i != rounds; ++i) {
    alone(20);
#pragma omp parallel num_threads(threads)
    {
      const bool last = omp_get_thread_num() == threads - 1;
      work(last ? ms + longer : ms);
      if (last) note_delay();
    }
  }
}
void at_once(int threads, void (*does)(double), double ms, double longer) {
  alone(20);
  std::vector<whywait::thread> all;
  for (int i = 0; i != threads; ++i)
    all.emplace_back([does, ms, longer, last = i == threads - 1] {
      does(last ? ms + longer : ms);
      if (last) note_delay();
    });
  for (whywait::thread& each : all) each.join();
}
// Two at a time: the places of threads that ended are used again, those of some more often.
void one_after_another(int threads, double ms) {
  whywait::thread before;
  for (int i = 0; i != threads; ++i) {
    whywait::thread next(work, ms);
    if (before.joinable()) before.join();
    before = std::move(next);
  }
  before.join();
}

// Whether a verdict is that one thread does more than others.
bool is_uneven() {
  bool found = false;
  for (const auto& v : whywait::report().verdict) {
    std::printf("%s\n", v.text.c_str());
    for (const char* const words :
         {"times as long", "nearly all", "runs work", "runs nap", "late in turn", "evening", "arriving"})
      found = found || v.text.find(words) != std::string::npos;
  }
  return found;
}

// The thread with 100 ms more is named, or had no processor for so long that this is the larger cause, or the processors were so busy
// that nothing is said about it.
bool names_last() {
  const bool uneven = is_uneven();
  if (!uneven) std::printf("without a processor for %.1f ms\n", delay_of_last);
  return uneven || delay_of_last >= 50;
}

const struct {
  const char* name;
  bool (*holds)();
} cases[] = {
    {"team", [] { return team(64, 3, 2, 0), !is_uneven(); }},
    {"larger_team", [] { return team(200, 1, 1, 0), !is_uneven(); }},
    {"uneven_team", [] { return team(64, 2, 1, 100), names_last(); }},
    {"at_once", [] { return at_once(64, work, 5, 0), !is_uneven(); }},
    {"uneven_at_once", [] { return at_once(64, work, 3, 100), names_last(); }},
    {"naps", [] { return at_once(64, nap, 5, 0), !is_uneven(); }},
    {"uneven_naps", [] { return at_once(64, nap, 5, 100), names_last(); }},
    {"one_after_another", [] { return one_after_another(100, 1), !is_uneven(); }},
};

}  // namespace

int main(int argc, char** argv) {
  int failed = argc == 1 && !large_team() ? 1 : 0;
  for (const auto& each : cases) {
    if (argc > 1) {
      if (std::strcmp(argv[1], each.name) == 0) return each.holds() ? 0 : 1;
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      unsetenv("WHYWAIT_OUTPUT");
      setenv("WHYWAIT_REPORT", "none", 1);
      execl("/proc/self/exe", argv[0], each.name, nullptr);
      _exit(2);
    }
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    std::fprintf(stderr, "not so: %s\n", each.name);
    ++failed;
  }
  return failed;
}
