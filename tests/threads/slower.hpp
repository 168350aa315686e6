#ifndef WHYWAIT_TESTS_THREADS_SLOWER_HPP
#define WHYWAIT_TESTS_THREADS_SLOWER_HPP

// Programs that one side makes slow in one known way each. Two sides run each case step by step; after each step they meet.
#include "fake_counters.hpp"

#include <whywait/record.hpp>
#include <whywait/result.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

namespace slower {

constexpr std::size_t page = 4096, touched = std::size_t(24) << 20;

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// What the kernel itself accounts to the calling thread, in seconds.
struct accounts {
  double preempted = 0, kernel = 0;

  static accounts now() {
    accounts out;
    if (std::FILE* const f = std::fopen("/proc/thread-self/schedstat", "r")) {
      unsigned long long ran = 0, ready = 0;
      if (std::fscanf(f, "%llu %llu", &ran, &ready) == 2) out.preempted = 1e-9 * static_cast<double>(ready);
      std::fclose(f);
    }
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) == 0)
      out.kernel = static_cast<double>(used.ru_stime.tv_sec) + 1e-6 * static_cast<double>(used.ru_stime.tv_usec);
    return out;
  }
  accounts operator-(const accounts& o) const { return {preempted - o.preempted, kernel - o.kernel}; }
  void operator+=(const accounts& o) { preempted += o.preempted, kernel += o.kernel; }
};

/// Puts the calling thread on one of the processors that it may use, or on all (-1). False: there are fewer than two.
inline bool pin(int which) {
  static const cpu_set_t all = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  if (which < 0) sched_setaffinity(0, sizeof all, &all);
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all) || seen++ != which) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return CPU_COUNT(&all) >= 2 && sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

/// A process that disturbs one side while it is told to. Made before there are threads.
class disturber {
 public:
  enum what : int { nothing, compute, share_line, end };

  disturber() {
    shared_ = new (mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) memory;
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int was = nothing, now; (now = shared_->doing) != end && getppid() == parent; was = now) {
      if (now != was && now != nothing) {
        pin(now == compute ? 1 : 0);
        const sched_param priority = {};
        if (now == share_line)
          sched_setscheduler(0, SCHED_IDLE, &priority);  // the fast side uses this processor until it waits
      }
      if (now == nothing) usleep(2000);
      if (now == share_line)
        for (int i = 0; i < 1000; ++i) shared_->line[1].fetch_add(1, std::memory_order_relaxed);
    }
    _exit(0);
  }
  ~disturber() {
    shared_->doing = end;
    waitpid(child_, nullptr, 0);
  }
  disturber(const disturber&) = delete;
  disturber& operator=(const disturber&) = delete;
  /// `compute` takes the second processor, `share_line` adds to a number beside `mine` on the first one.
  void run(what now) { shared_->doing = now; }
  what doing() const { return static_cast<what>(shared_->doing.load()); }
  std::atomic<std::uint64_t>& mine() { return shared_->line[0]; }

 private:
  struct memory {
    std::atomic<int> doing{nothing};
    alignas(64) std::atomic<std::uint64_t> line[2] = {};  // in one cache line
  };
  memory* shared_;
  pid_t child_;
};

__attribute__((noinline)) inline std::uint64_t compute(std::uint64_t rounds) {
  const fake_counters::work counted(4 * rounds);
  std::uint64_t x = rounds;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

/// Rounds of `compute` for some time on a processor that nothing else uses.
inline std::uint64_t rounds_of(double seconds) {
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    compute(1000000);
    best = std::min(best, now() - begin);
  }
  return static_cast<std::uint64_t>(seconds / best * 1e6);
}

inline unsigned char* map_memory() {
  void* const at = mmap(nullptr, touched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, touched, MADV_NOHUGEPAGE);
  return static_cast<unsigned char*>(at);
}

/// One side: 0 is fast, 1 is slow.
class side {
 public:
  /// `rounds`: of `compute`, the same for both.
  side(int number, disturber& other, std::uint64_t rounds)
      : slow_(number == 1), other_(other), rounds_(rounds), memory_(map_memory()), walk_(1 << 22) {
    for (std::size_t i = 0; i < touched; i += page) memory_[i] = 1;
    for (std::size_t i = 0; i < walk_.size(); ++i) walk_[i] = static_cast<std::uint32_t>(i);
  }
  ~side() { munmap(memory_, touched); }
  side(const side&) = delete;
  side& operator=(const side&) = delete;

  void with_competitor() {
    whywait::region inside("competitor");
    compute(rounds_);
  }
  void let_compete(bool on) {
    if (slow_) other_.run(on ? disturber::compute : disturber::nothing);
  }

  void touch() {
    whywait::region inside("first touch");
    unsigned char* const fresh = slow_ ? map_memory() : memory_;
    for (std::size_t i = 0; i < touched; i += page) fresh[i] = 1;
    if (slow_) munmap(fresh, touched);
    fake_counters::add(3 * touched / page, 3 * touched / page);  // the kernel's cycles do not count
  }
  void instructions() {
    whywait::region inside("instructions");
    compute(slow_ ? 2 * rounds_ : rounds_);
  }
  /// Both sides add to a number: the fast one in a line of its own, then the slow one in a line that another process uses.
  /// `observed`: a call at which the counters are read, so that they are read before the slow side begins.
  template <class Call>
  void ping_pong(Call&& observed) {
    while (slow_ && other_.doing() != disturber::share_line) __asm__ volatile("" ::: "memory");
    observed();
    {
      whywait::region inside("ping-pong");
      constexpr int additions = 1000000;
      const fake_counters::work counted(3 * additions);
      std::atomic<std::uint64_t>& mine = slow_ ? other_.mine() : own_;
      for (int i = 0; i < additions; ++i) mine.fetch_add(1, std::memory_order_relaxed);
    }
    other_.run(slow_ ? disturber::nothing : disturber::share_line);
  }
  /// The same additions in the order of memory, or 4099 lines apart.
  void stride() {
    whywait::region inside("stride");
    constexpr std::size_t additions = std::size_t(1) << 23;  // readings are 1 to 4 ms apart
    const fake_counters::work counted(5 * additions);
    const std::size_t by = slow_ ? 4099 * 16 : 1;
    std::uint32_t sum = 0;
    for (std::size_t i = 0, at = 0; i < additions; ++i, at = (at + by) & (walk_.size() - 1)) sum += walk_[at];
    sink_ = sum;
  }

 private:
  const bool slow_;
  disturber& other_;
  const std::uint64_t rounds_;
  unsigned char* const memory_;
  std::vector<std::uint32_t> walk_;
  alignas(64) std::atomic<std::uint64_t> own_{0};
  alignas(64) volatile std::uint32_t sink_ = 0;
};

/// Runs a case step by step; `meet` returns when the other side is there, too. Returns what the kernel accounts to the steps.
template <class Meet, class Step>
accounts repeat(int steps, Meet&& meet, Step&& step) {
  accounts all;
  for (int i = 0; i != steps; ++i) {
    const accounts before = accounts::now();
    step();
    all += accounts::now() - before;
    meet();
  }
  return all;
}

inline int failures = 0;
inline bool has_counters = false;  ///< of the processor, real or not

/// What made the slow side slow in a region.
enum class reason { preempted, blocked, kernel, instructions, cycles, frequency };
constexpr int reasons = 6, from_processor = 3;  // the others are counted by the processor

/// Checks that the waits for a region have that reason, with at least 80 % of the difference, and none of the others. `kernel`:
/// what the kernel accounts to the slow side more than to the fast one. A machine that accounts for less than 80 % itself (virtual
/// machines, whose host gives them memory) has to be followed to 90 %, and so has another program that really took a processor.
inline void check(const whywait::result& found, const char* region, reason why, const accounts& kernel) {
  double speed = 0, visits = 0, known[reasons] = {}, not_counted = 0;
  bool counted = false;
  for (const whywait::result::wait& w : found.waits)
    for (const whywait::result::cause& c : w.causes) {
      if (c.block != region) continue;
      speed += c.speed_seconds;
      visits += c.visits_seconds;
      known[0] += c.slower.preempted_seconds;
      known[1] += c.slower.blocked_seconds;
      known[2] += c.slower.kernel_seconds;
      known[3] += c.slower.instructions_seconds;
      known[4] += c.slower.cycles_seconds;
      known[5] += c.slower.frequency_seconds;
      not_counted += c.slower.not_counted_seconds;
      counted = counted || c.slower.counted;
    }
  std::fprintf(
      stderr,
      "%s: slower %.4f s: without a processor %.4f, blocked %.4f, kernel %.4f, instructions %.4f, cycles %.4f, frequency "
      "%.4f, not counted %.4f%s\n",
      region, speed, known[0], known[1], known[2], known[3], known[4], known[5], not_counted,
      counted ? "" : " (no counters of the processor)");
  has_counters = has_counters || counted;
  const auto fail = [region](const char* what) {
    ++failures;
    std::fprintf(stderr, "NOT SO in %s: %s\n", region, what);
  };
  if (speed < 0.02 && why == reason::cycles) {  // a shared cache makes it as fast, or memory is quick
    std::fprintf(stderr, "%s: not slower on this machine; skipped\n", region);
    return;
  }
  if (speed < 0.02) return fail("the slow side is not slower");
  if (std::fabs(visits) > 0.05 * speed) fail("visits differ");
  double sum = not_counted;
  for (const double each : known) sum += each;
  if (std::fabs(sum - speed) > 1e-5) fail("the parts do not add up");
  const double accounted[reasons] = {std::max(0.0, kernel.preempted), 0, std::max(0.0, kernel.kernel)};
  const int wanted = static_cast<int>(why);
  double least = 0.8 * speed;
  const auto no_others = [&](int of) {
    for (int i = 0; i != of; ++i)
      if (i != wanted && std::fabs(known[i]) > 0.2 * speed + accounted[i]) fail("a reason that it does not have");
  };
  if (wanted >= from_processor && !counted) {
    if (not_counted < least - accounted[0] - accounted[2]) fail("it should be not counted");
    return no_others(from_processor);
  }
  int others = reasons;
  if (wanted < from_processor && accounted[wanted] < least) {
    others = static_cast<int>(reason::frequency);  // what the host takes may show as fewer cycles per second
    std::fprintf(stderr, "%s: the kernel itself accounts for %.0f %%\n", region, 100 * accounted[wanted] / speed);
    if (accounted[wanted] < 0.2 * speed) fail("it is slow for other reasons");
    least = 0.9 * accounted[wanted];
  }
  if (known[wanted] < least) fail("its reason has too little");
  no_others(others);
}

}  // namespace slower

#endif
