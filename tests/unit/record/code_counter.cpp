#include <whywait/core/clock.hpp>
#include <whywait/record/code_counter.hpp>

#include <doctest/doctest.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

using namespace whywait;
using core::code_count;
using core::code_counts;
using record::code_counter;
using record::processor_counters;

namespace {

std::set<int> open_files() {
  std::set<int> out;
  DIR* const all = opendir("/proc/self/fd");
  while (const dirent* const each = readdir(all)) {
    const int file = std::atoi(each->d_name);
    if (each->d_name[0] != '.' && file != dirfd(all)) out.insert(file);
  }
  closedir(all);
  return out;
}

void touch_pages(std::size_t pages) {
  char* const at = static_cast<char*>(mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(at, pages * 4096, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i != pages; ++i) at[i * 4096] = 1;
  munmap(at, pages * 4096);
}

code_counts since(const processor_counters::values& before, const processor_counters::values& after) {
  code_counts out{};
  after.since(before, out);
  return out;
}

bool read_counts(code_counter& counter, code_counts& out) {
  return counter.end_code(core::cycle_clock::now(), 0, out) == code_counter::outcome::counts;
}

}  // namespace

TEST_CASE("counters of the processor count nothing if they were set back or did not run") {
  const processor_counters::values before = {1000, {50, 60, 0}};
  const code_counts all = since(before, {3000, {150, 360, 20}});
  CHECK(all[code_count::counted_ns] == 2000);
  CHECK(all[code_count::instructions] == 100);
  CHECK(all[code_count::cycles] == 300);
  CHECK(all[code_count::stalled] == 20);
  CHECK(since(before, {3000, {49, 360, 20}}).nothing());
  CHECK(since(before, {1000, {50, 60, 0}}).nothing());
  CHECK(since(before, before).nothing());
}

TEST_CASE("page faults of code are counted, those in a long call are not") {
  code_counter counter{};
  errno = 123;
  counter.start();
  CHECK((counter.offered() & 1u << static_cast<unsigned>(code_count::faults)) != 0);
  code_counts counted{};
  touch_pages(1000);
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::faults] >= 1000);
  CHECK(counted[code_count::faults] < 1400);  // shadow memory of AddressSanitizer included
  touch_pages(1000);
  const std::uint64_t left = core::cycle_clock::now();
  counter.end_call(left);
  CHECK(counter.is_due(left + 1));  // code that waits for others in each step may be short
  counted = {};
  counter.end_code(core::cycle_clock::now(), 0, counted);
  CHECK(counted[code_count::faults] < 100);
  CHECK(errno == 123);
  counter.stop();
  CHECK(errno == 123);
}

TEST_CASE("what the kernel does for whywait is no part of the code") {
  code_counter counter{};
  counter.start();
  code_counts all{}, counted{}, little{};
  touch_pages(5000);
  REQUIRE(read_counts(counter, all));
  REQUIRE(all[code_count::faults] >= 5000);
  std::int64_t before = code_counter::instant();
  touch_pages(5000);
  errno = 123;
  counter.leave_out(before, 5000);
  CHECK(errno == 123);
  touch_pages(1000);
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::faults] >= 1000);
  CHECK(counted[code_count::faults] < 1400);
  CHECK(counted[code_count::ran_ns] < all[code_count::ran_ns]);
  before = code_counter::instant();
  counter.leave_out(before, 5000);  // too fast for fresh pages
  touch_pages(1000);
  REQUIRE(read_counts(counter, little));
  CHECK(little[code_count::faults] >= 1000);
  // More than was counted so far: the next reading counts nothing, and the one after it only what goes beyond.
  before = code_counter::instant();
  while (code_counter::instant() - before < 1000000) {
  }
  counter.leave_out(before, 100000);
  code_counts nothing{};
  touch_pages(100);
  REQUIRE(read_counts(counter, nothing));
  CHECK(nothing[code_count::faults] == 0);
  touch_pages(100);
  REQUIRE(read_counts(counter, nothing));
  CHECK(nothing[code_count::faults] == 0);
  counter.stop();
}

TEST_CASE("a reading is due about every millisecond, and a young thread has no files") {
  std::thread([] {
    const std::set<int> before = open_files();
    code_counter counter{};
    counter.begin_thread();
    code_counts counted{};
    const std::uint64_t begin = core::cycle_clock::now();
    CHECK(counter.is_due(begin));
    CHECK(counter.end_code(begin, 0, counted) == code_counter::outcome::nothing);
    CHECK_FALSE(counter.is_due(begin + 1));
    CHECK(open_files() == before);
    touch_pages(500);
    const std::uint64_t later = begin + (std::uint64_t(1) << 40);
    REQUIRE(counter.is_due(later));
    REQUIRE(counter.end_code(later, 0, counted) == code_counter::outcome::counts);
    CHECK(counted[code_count::faults] >= 500);  // since the thread began
    CHECK(open_files().size() > before.size());
    CHECK_FALSE(counter.is_due(later));
    counter.stop();
    CHECK(open_files() == before);
  }).join();
}

TEST_CASE("a thread whose begin was not seen is first read a millisecond after its first call") {
  code_counter first{};
  first.start();  // measures how long a reading takes
  first.stop();
  std::thread([] {
    code_counter counter{};
    code_counts counted{};
    touch_pages(500);
    std::uint64_t due = core::cycle_clock::now();
    REQUIRE(counter.is_due(due));
    CHECK(counter.end_code(due, 0, counted) == code_counter::outcome::nothing);
    CHECK_FALSE(counter.is_due(due + 1));
    CHECK_FALSE(counter.is_long(std::uint64_t(1) << 40));
    CHECK_FALSE(counter.reads_calls());
    touch_pages(500);
    due += std::uint64_t(1) << 40;
    REQUIRE(counter.is_due(due));
    CHECK(counter.end_code(due, 0, counted) == code_counter::outcome::begins);
    touch_pages(300);
    due += std::uint64_t(1) << 40;
    REQUIRE(counter.end_code(due, 0, counted) == code_counter::outcome::counts);
    CHECK(counted[code_count::faults] >= 300);
    CHECK(counted[code_count::faults] < 500);  // only since the first reading
    counter.stop();
  }).join();
}

TEST_CASE("a young thread that gave its processor up is read at the first reading that is due") {
  std::thread([] {
    code_counter counter{};
    counter.begin_thread();
    code_counts counted{};
    const std::uint64_t begin = core::cycle_clock::now();
    REQUIRE(counter.end_code(begin, 0, counted) == code_counter::outcome::nothing);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::uint64_t due = begin;
    while (!counter.is_due(due)) ++due;
    CHECK(counter.end_code(due, 0, counted) == code_counter::outcome::counts);
    CHECK(counted[code_count::sleeps] >= 1);
    counter.stop();
  }).join();
}

TEST_CASE("a file that the program opened in place of one of the counter's is left alone") {
  const std::set<int> before = open_files();
  code_counter counter{};
  counter.start();
  std::set<int> own = open_files();
  for (const int file : before) own.erase(file);
  REQUIRE(!own.empty());
  const int other = open("/dev/null", O_RDONLY);
  for (const int file : own) dup2(other, file);
  code_counts counted{};
  counter.end_code(core::cycle_clock::now(), 0, counted);
  counter.stop();
  const std::set<int> after = open_files();
  for (const int file : own) {
    CHECK(after.count(file) == 1);
    close(file);
  }
  close(other);
}

TEST_CASE("a child closes what it got from its parent, and the parent goes on") {
  code_counter counter{};
  const std::set<int> before = open_files();
  counter.start();
  const pid_t child = fork();
  if (child == 0) {
    counter.close_files();
    _exit(open_files() == before ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  touch_pages(300);
  code_counts counted{};
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::faults] >= 300);
  counter.stop();
  CHECK(open_files() == before);
}

TEST_CASE("a thread that a counter is not about, as in a child that was made without handlers, reads nothing") {
  code_counter counter{};
  counter.start();
  touch_pages(300);
  code_counts counted{};
  bool read = true;
  std::thread([&] { read = read_counts(counter, counted); }).join();
  CHECK_FALSE(read);
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child == 0) {
    touch_pages(300);
    counter.end_call(core::cycle_clock::now());
    _exit(read_counts(counter, counted) ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(static_cast<pid_t>(child), &status, 0) == child);
  CHECK(status == 0);
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::faults] >= 300);
  counter.stop();
}

TEST_CASE("counters leave the program its lowest file numbers, and three quarters of them") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const std::set<int> other = open_files();
  const rlim_t all = 256;
  rlimit few = before;
  few.rlim_cur = all;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(lowest);
  static code_counter counters[256];
  std::size_t with_delay = 0;
  for (code_counter& each : counters) {
    each.start();
    with_delay += each.offered() & 1u;
    touch_pages(10);
    code_counts counted{};
    CHECK(read_counts(each, counted));  // page faults need no file
  }
  std::size_t own = 0;
  for (const int file : open_files()) {
    if (other.count(file) != 0) continue;
    ++own;
    CHECK(file >= int{all / 2});
  }
  CHECK(own == all / 4);
  CHECK(with_delay <= own);
  CHECK(with_delay >= own / 4);
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK(next == lowest);
  close(next);
  for (code_counter& each : counters) each.stop();
  CHECK(open_files() == other);
  setrlimit(RLIMIT_NOFILE, &before);
}

namespace {

/// A child in which one system call ends the process, or, `refused`, fails. Returns what `run` did.
template <class Run>
int in_filtered_child(std::uint32_t number, bool refused, Run&& run) {
  const pid_t child = fork();
  if (child == 0) {
    sock_filter lines[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, refused ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {4, lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/// What the counter of a child counted: 2: page faults, 4: time without a processor, 8: nothing of the processor. 1: not as offered.
int read_some() {
  code_counter counter{};
  counter.start();
  touch_pages(300);
  code_counts counted{};
  counter.end_code(core::cycle_clock::now(), 0, counted);
  const bool faults = (counter.offered() & 1u << static_cast<unsigned>(code_count::faults)) != 0;
  if (faults != (counted[code_count::faults] >= 300)) return 1;
  const int out = (faults ? 2 : 0) | ((counter.offered() & 1u << static_cast<unsigned>(code_count::delay_ns)) != 0 ? 4 : 0) |
                  (counter.refused() == processor_counters::filtered ? 8 : 0);
  counter.stop();
  return out;
}

}  // namespace

TEST_CASE("a filter for system calls: what it refuses is not counted, and what may end the process is not called") {
  const int allowed = in_filtered_child(~0u, true, read_some);
  if (allowed == 77) return;  // filters are not permitted here
  CHECK(allowed == 14);
  CHECK(in_filtered_child(SYS_perf_event_open, false, read_some) == 14);
  CHECK(in_filtered_child(SYS_openat, true, read_some) == 10);
  CHECK(in_filtered_child(SYS_pread64, true, read_some) == 10);
  CHECK(in_filtered_child(SYS_getrusage, true, read_some) == 12);
}

TEST_CASE("time on a processor, asleep, and on another processor") {
  code_counter counter{};
  code_counts counted{};
  code_counter::outcome first = counter.end_code(core::cycle_clock::now(), 0, counted);
  if (first == code_counter::outcome::nothing)  // put off, because it is known how long a reading takes
    first = counter.end_code(core::cycle_clock::now() + (std::uint64_t(1) << 40), 0, counted);
  CHECK(first == code_counter::outcome::begins);
  counter.start();
  usleep(20000);
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::sleeps] >= 1);
  CHECK(counted[code_count::ran_ns] < 10000000);
  timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 10000000);
  REQUIRE(read_counts(counter, counted));
  CHECK(counted[code_count::ran_ns] >= 10000000);
  CHECK(counted[code_count::ran_ns] < 20000000);
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(counted[code_count::moves] <= 1);
  CHECK(counter.node() != 0);
  counter.begin_thread();
  CHECK(counter.node() != 0);
  counter.start();
  for (int cpu = 0; cpu != CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before) || cpu == sched_getcpu()) continue;
    REQUIRE(read_counts(counter, counted));
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    REQUIRE(read_counts(counter, counted));
    CHECK(counted[code_count::moves] == 1);
    REQUIRE(read_counts(counter, counted));
    CHECK(counted[code_count::moves] == 0);
    sched_setaffinity(0, sizeof before, &before);
    break;
  }
  counter.stop();
}
