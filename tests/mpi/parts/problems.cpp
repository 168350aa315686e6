// A program for problems.py, with four ranks. Each argument plays one or more of the problems that the rules know. Work is
// sleeping.
#include <whywait/record.hpp>

#include <mpi.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

int rank, ranks;

void nap(int ms) {
  const timespec t{ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&t, nullptr);
}
// Uses the processor for so long, however long that takes.
void spin(int ms) {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double end = static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec) + 1e-3 * ms;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  while (static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec) < end);
}
void work(int ms) {
  WHYWAIT_REGION("work");
  nap(ms);
}
void send(int to, int tag) { MPI_Send(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }
void receive(int from, int tag) {
  int in;
  MPI_Recv(&in, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int other() { return rank ^ 1; }
bool first() { return rank % 2 == 0; }

// Both sides work as much, but one after the other.
void order() {
  for (int i = 0; i < 5; ++i) {
    if (!first()) receive(other(), 1);
    work(10);
    send(other(), 1);
    if (first()) receive(other(), 1);
  }
}
void synchronous() {
  for (int i = 0; i < 10; ++i) {
    if ((i % 2 == 0) == first()) {
      MPI_Ssend(&rank, 1, MPI_INT, other(), 2, MPI_COMM_WORLD);
    } else {
      work(10);
      receive(other(), 2);
    }
  }
}
// Both sides have posted; the send completes when its receiver calls MPI again.
void progress() {
  std::vector<char> data(1 << 18);
  for (int i = 0; i < 10; ++i) {
    MPI_Request request;
    const bool sends = (i % 2 == 0) == first();
    if (sends) {
      MPI_Isend(data.data(), 1 << 18, MPI_CHAR, other(), 6, MPI_COMM_WORLD, &request);
    } else {
      MPI_Irecv(data.data(), 1 << 18, MPI_CHAR, other(), 6, MPI_COMM_WORLD, &request);
      work(10);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (sends) work(8);  // could be done meanwhile
    if (sends) receive(other(), 7);
    else send(other(), 7);
  }
}
void wrong_order() {
  for (int i = 0; i < 10; ++i) {
    if (first()) {
      send(other(), 3);
      work(10);
      send(other(), 4);
      receive(other(), 5);
    } else {
      receive(other(), 4);
      work(5);
      receive(other(), 3);
      work(5);  // could be done during the wait
      send(other(), 5);
    }
  }
}
void relay() {
  for (int i = 0; i < 5; ++i) {
    if (rank > 0) receive(rank - 1, 5);
    work(10);
    send((rank + 1) % ranks, 5);
    if (rank == 0) receive(ranks - 1, 5);
  }
}

// Rank 0 is late in one operation, all others in the next one, so that all work as much.
void collectives() {
  int in = 1, out = 0;
  const int late = rank == 0 ? 30 : 0, early = 30 - late;
  work(late);
  MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
  work(early);
  MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  work(late);
  MPI_Scan(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  work(early);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
  work(late);
  MPI_Request request;
  MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  work(early);
}
// Rank 0 and others are late in turn, and all work as much. Even ranks are origins, odd ranks their targets.
void windows() {
  static int memory[8], value[8];
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Group all, partner;
  const int with = other();
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &with, &partner);
  work(rank == 0 ? 30 : 0);
  MPI_Win_fence(0, window);
  work(rank == 0 ? 0 : 30);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  if (rank % 2 == 0) {
    MPI_Win_start(partner, 0, window);
    work(30);
    MPI_Put(value, 8, MPI_INT, with, 0, 8, MPI_INT, window);
    work(30);
    MPI_Win_complete(window);
  } else {
    work(30);
    MPI_Win_post(partner, 0, window);
    MPI_Win_wait(window);
    work(30);
  }
  const int target = rank | 1;
  if (rank % 2 == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) work(30);
  else MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
  MPI_Win_unlock(target, window);
  if (rank % 2 != 0) work(30);
  MPI_Win_free(&window);
  MPI_Group_free(&partner);
  MPI_Group_free(&all);
}
// Nothing but operations of all ranks: every second one is needless.
void barriers() {
  int in = 1, out = 0;
  for (int i = 0; i < 500; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}
// Each rank is late once, so that without the barrier none would wait.
void dividing() {
  int in = 1, out = 0;
  for (int i = 0; i < 10; ++i) {
    work(rank == 0 ? 10 : 2);
    MPI_Barrier(MPI_COMM_WORLD);
    work(rank == 0 ? 2 : 10);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}
void everybody() {
  int in = 1, out = 0;
  const int late = rank == 0 ? 30 : 0, early = 30 - late;
  work(late);
  MPI_Barrier(MPI_COMM_WORLD);
  send(other(), 1);
  receive(other(), 1);
  work(early);
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  send(other(), 1);
  receive(other(), 1);
  work(late);
  MPI_Barrier(MPI_COMM_WORLD);  // needless, but without it the ranks wait in the next call
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  work(early);
}

void step(int ms, int units) {
  {
    WHYWAIT_REGION("solve");
    if (units != 0) WHYWAIT_WORK(units);
    nap(ms);
  }
  int in = 1, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
void uneven() {
  for (int i = 0; i < 10; ++i) step(rank == 1 ? 15 : 5, rank == 1 ? 300 : 100);
}
void slower() {
  for (int i = 0; i < 10; ++i) step(rank == 1 ? 15 : 5, 100);
}
void turns() {
  for (int i = 0; i < 12; ++i) step(i % ranks == rank ? 15 : 5, 0);
}
void serial() {
  for (int i = 0; i < 10; ++i) {
    int value = 0;
    if (rank == 0) work(10);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}
void use_first_processor() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && found++ != 0) CPU_CLR(cpu, &allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
}
// Ranks 0 and 1 compute on the same processor, the others sleep: as much work, in twice the time.
void shared() {
  if (rank < 2) use_first_processor();
  for (int i = 0; i < 5; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    WHYWAIT_REGION("compute");
    if (rank < 2) spin(40);
    else nap(40);
  }
}
double in_kernel_ms() {
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return 1e3 * static_cast<double>(used.ru_stime.tv_sec) + 1e-3 * static_cast<double>(used.ru_stime.tv_usec);
}
// All ranks compute on one processor.
void crowded() {
  use_first_processor();
  for (int i = 0; i < 5; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    WHYWAIT_REGION("compute");
    spin(40);
  }
}
// All ranks sleep for 20 ms. Rank 1, or `all`, then calls `more` until it has spent 20 ms in the kernel, by the kernel's own account.
template <class More>
void in_kernel(const More& more, bool all = false) {
  for (int i = 0; i < 8; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    WHYWAIT_REGION("prepare");
    WHYWAIT_WORK(1);
    nap(20);
    for (const double begin = in_kernel_ms(); (rank == 1 || all) && in_kernel_ms() < begin + 20;) more();
  }
}
void use_fresh_memory() {
  constexpr std::size_t bytes = 4 << 20;
  auto* const memory = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (std::size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  munmap(memory, bytes);
}
void faults() { in_kernel(use_fresh_memory); }
void kernel() { in_kernel(use_fresh_memory, true); }
void system_calls() {
  static char buffer[1 << 16];
  const int zeros = open("/dev/zero", O_RDONLY);
  in_kernel([zeros] {
    if (read(zeros, buffer, sizeof buffer) != sizeof buffer) MPI_Abort(MPI_COMM_WORLD, 1);
  });
  close(zeros);
}
void place() {
  int in = 1, out = 0;
  const int ms = rank == 2 ? 32 : 20;
  for (int i = 0; i < 10; ++i) {
    {
      WHYWAIT_REGION("read");
      WHYWAIT_WORK(100);
      nap(ms);
    }
    {
      WHYWAIT_REGION("solve");
      WHYWAIT_WORK(100);
      nap(ms);
    }
    {
      WHYWAIT_REGION("write");
      WHYWAIT_WORK(100);
      nap(ms);
    }
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Rank 1 has three times the work of the others; they wait for messages. The truth: balanced, the run takes 300 ms less.
constexpr int steps = 40;
void solve(int step_of_rank) {
  WHYWAIT_REGION("solve");
  nap(step_of_rank);
}
void chain() {
  for (int i = 0; i < steps; ++i) {
    if (rank > 0) receive(rank - 1, 8);
    solve(rank == 1 ? 15 : 5);
    if (rank + 1 < ranks) send(rank + 1, 8);
  }
}
void halo() {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  double in[2], out[2] = {1, 2};
  for (int i = 0; i < steps; ++i) {
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 10, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&out[0], 1, MPI_DOUBLE, right, 9, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&out[1], 1, MPI_DOUBLE, left, 10, MPI_COMM_WORLD, &requests[3]);
    solve(rank == 1 ? 15 : 5);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
}

void small_messages() {
  for (int i = 0; i < 1000; ++i) {
    if (!first()) receive(other(), 6);
    MPI_Ssend(&rank, 1, MPI_INT, other(), 6, MPI_COMM_WORLD);
    if (first()) receive(other(), 6);
  }
}
void bursts() {
  for (int i = 0; i < 100; ++i)
    for (int k = 0; k < 8; ++k) {
      if (first()) MPI_Ssend(&rank, 1, MPI_INT, other(), 7, MPI_COMM_WORLD);
      else receive(other(), 7);
    }
}
void large() {
  std::vector<double> in(1 << 19), out(1 << 19);
  for (int i = 0; i < 10; ++i)
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

struct play {
  const char* name;
  void (*run)();
};
constexpr play plays[] = {{"order", order},       {"synchronous", synchronous},
                          {"progress", progress}, {"wrong_order", wrong_order},
                          {"relay", relay},       {"collectives", collectives},
                          {"windows", windows},   {"everybody", everybody},
                          {"barriers", barriers}, {"uneven", uneven},
                          {"slower", slower},     {"turns", turns},
                          {"serial", serial},     {"shared", shared},
                          {"place", place},       {"small_messages", small_messages},
                          {"bursts", bursts},     {"large", large},
                          {"chain", chain},       {"halo", halo},
                          {"faults", faults},     {"system_calls", system_calls},
                          {"crowded", crowded},   {"kernel", kernel},
                          {"dividing", dividing}};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const play& p : plays)
    if (argc > 1 && std::strcmp(argv[1], p.name) == 0) p.run();
  return MPI_Finalize();
}
