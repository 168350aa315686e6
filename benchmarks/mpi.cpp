// Measures interception: the same calls plain (PMPI_), with a trivial recorder and with the wrappers of whywait. All rows
// of one run alternate in batches, on all ranks in the same order.
//
//   mpirun -n 2 bench_mpi [--rounds=1001] [--json=FILE]
//   mpirun -n 1 bench_mpi --reused ...       into memory that was used before
//   mpirun -n 1 bench_mpi --threads ...      MPI_THREAD_MULTIPLE and short threads
//
// The suffix tells what records. `plain`: nothing. `recorder`: two clock readings and 48 bytes a call, in fresh memory;
// `clocks`: only the clock readings. `whywait`: the wrappers, in fresh memory, as programs have it.
//
//   null         MPI_Isend + MPI_Wait to MPI_PROC_NULL, two calls without effect
//   regions      the same with MPI_Isend in a region and both calls in another
//   send         one MPI_Send to MPI_PROC_NULL
//   halo         4 MPI_Irecv, 4 MPI_Isend and MPI_Waitall with oneself
//   pingpong     a round trip of 8 bytes between two ranks
//   allreduce    MPI_Allreduce of 8 bytes
//   step         4 MPI_Irecv, 4 MPI_Isend and MPI_Waitall between two ranks
//   jacobi       an iteration on 64 x 64 cells of each rank: halo of a row, relaxation, MPI_Allreduce; `jacobi_marked`
//                has two regions besides
//   communicator MPI_Comm_dup and MPI_Comm_free
//
// With --reused: `null`, and `send` directly, in a function of the program that is called from one place (`wrapped`), and in
// turn from eight (`callers`).
//
// With --threads:
//
//   messages     MPI_Irecv, MPI_Isend and MPI_Wait with oneself, on two threads at once
//   blocking     MPI_Send and MPI_Recv with oneself, on two threads at once
//   mprobe       MPI_Isend, MPI_Mprobe and MPI_Mrecv with oneself, on two threads at once
//   thread       a thread with one region, from start to join
//   alltoall     a thread with one MPI_Alltoall, from start to join
//   thread_kib, thread_mappings, alltoall_kib   what such a thread that has ended keeps: resident memory less that of
//                records, mappings
#include "harness.hpp"

#include <whywait/mpi/wrappers.hpp>
#include <whywait/record.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;

constexpr std::uint64_t most_bytes = std::uint64_t(48) << 20;  // of fresh memory, then it begins anew

/// What the trivial recorder stores for each call.
struct trivial_record {
  std::uint64_t begin, end, bytes;
  const void* site;
  std::int32_t peer, tag;
  std::uint32_t comm, call;
};
static_assert(sizeof(trivial_record) == 48, "the trivial recorder stores 48 bytes");
__attribute__((tls_model("initial-exec"))) thread_local trivial_record *next_record = nullptr, *first_record = nullptr;

struct plain {
  template <class Call>
  __attribute__((always_inline)) static int record(int, int, std::uint64_t, Call&& call) {
    return call();
  }
};
struct clocks {
  template <class Call>
  __attribute__((always_inline)) static int record(int, int, std::uint64_t, Call&& call) {
    std::uint64_t times[2] = {harness::counter(), 0};
    const int code = call();
    times[1] = harness::counter();
    harness::keep(times);
    return code;
  }
};
struct recorder {
  template <class Call>
  __attribute__((always_inline)) static int record(int peer, int tag, std::uint64_t bytes, Call&& call) {
    const std::uint64_t begin = harness::counter();
    const int code = call();
    const std::uint64_t end = harness::counter();
    *next_record++ = {begin, end, bytes, __builtin_return_address(0), peer, tag, 1, 2};
    return code;
  }
};

/// The calls of a program through one of them. noinline: so are the wrappers.
template <class Recorder>
struct calls {
#define WHYWAIT_BENCH_CALL(name, parameters, arguments, peer, tag, bytes)                                         \
  __attribute__((noinline)) static int name parameters {                                                          \
    return Recorder::record(peer, tag, static_cast<std::uint64_t>(bytes), [&] { return PMPI_##name arguments; }); \
  }
  WHYWAIT_BENCH_CALL(Send, (const void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c), (b, n, t, p, g, c), p, g, n)
  WHYWAIT_BENCH_CALL(Recv, (void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Status* s), (b, n, t, p, g, c, s), p,
                     g, n)
  WHYWAIT_BENCH_CALL(Isend, (const void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r),
                     (b, n, t, p, g, c, r), p, g, n)
  WHYWAIT_BENCH_CALL(Irecv, (void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r), (b, n, t, p, g, c, r),
                     p, g, n)
  WHYWAIT_BENCH_CALL(Wait, (MPI_Request * r, MPI_Status* s), (r, s), -1, -1, 0)
  WHYWAIT_BENCH_CALL(Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s), -1, -1, n)
  WHYWAIT_BENCH_CALL(Mprobe, (int p, int g, MPI_Comm c, MPI_Message* m, MPI_Status* s), (p, g, c, m, s), p, g, 0)
  WHYWAIT_BENCH_CALL(Mrecv, (void* b, int n, MPI_Datatype t, MPI_Message* m, MPI_Status* s), (b, n, t, m, s), -1, -1, n)
  WHYWAIT_BENCH_CALL(Allreduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (a, b, n, t, o, c), -1,
                     -1, n)
  WHYWAIT_BENCH_CALL(Alltoall, (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c),
                     (a, n, t, b, m, u, c), -1, -1, n)
  WHYWAIT_BENCH_CALL(Comm_dup, (MPI_Comm c, MPI_Comm* d), (c, d), -1, -1, 0)
  WHYWAIT_BENCH_CALL(Comm_free, (MPI_Comm * c), (c), -1, -1, 0)
#undef WHYWAIT_BENCH_CALL
};
struct whywait_calls {
#define WHYWAIT_BENCH_CALL(name)                                   \
  template <class... Arguments>                                    \
  __attribute__((always_inline)) static int name(Arguments... a) { \
    return MPI_##name(a...);                                       \
  }
  WHYWAIT_BENCH_CALL(Send)
  WHYWAIT_BENCH_CALL(Recv)
  WHYWAIT_BENCH_CALL(Isend)
  WHYWAIT_BENCH_CALL(Irecv)
  WHYWAIT_BENCH_CALL(Wait)
  WHYWAIT_BENCH_CALL(Waitall)
  WHYWAIT_BENCH_CALL(Mprobe)
  WHYWAIT_BENCH_CALL(Mrecv)
  WHYWAIT_BENCH_CALL(Allreduce)
  WHYWAIT_BENCH_CALL(Alltoall)
  WHYWAIT_BENCH_CALL(Comm_dup)
  WHYWAIT_BENCH_CALL(Comm_free)
#undef WHYWAIT_BENCH_CALL
};

int rank = 0, ranks = 1;
double value[8] = {1}, other[8] = {0};

// --- Rows of one rank

template <class C>
void null(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Request r;
    C::Isend(value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
    C::Wait(&r, MPI_STATUS_IGNORE);
  }
}
void null_in_regions(std::uint64_t times) {
  WHYWAIT_REGION("outer");
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Request r;
    {
      WHYWAIT_REGION("inner");
      MPI_Isend(value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
}
template <class C>
void send(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) C::Send(value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
}
__attribute__((noinline)) void wrapped_send() {
  MPI_Send(value, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  __asm__ volatile("");  // so that it is no tail call
}
void send_wrapped(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) wrapped_send();
}
void send_from_eight_places(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; i += 8) {
    wrapped_send(), wrapped_send(), wrapped_send(), wrapped_send();
    wrapped_send(), wrapped_send(), wrapped_send(), wrapped_send();
  }
}

template <class C>
void eight_requests(MPI_Comm comm, int peer, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Request r[8];
    for (int k = 0; k < 4; ++k) C::Irecv(&other[k], 1, MPI_DOUBLE, peer, k, comm, &r[k]);
    for (int k = 0; k < 4; ++k) C::Isend(&value[k], 1, MPI_DOUBLE, peer, k, comm, &r[4 + k]);
    C::Waitall(8, r, MPI_STATUSES_IGNORE);
  }
}
template <class C>
void halo(std::uint64_t times) {
  eight_requests<C>(MPI_COMM_SELF, 0, times);
}

// --- Rows of two ranks

template <class C>
void step(std::uint64_t times) {
  eight_requests<C>(MPI_COMM_WORLD, 1 - rank, times);
}
template <class C>
void pingpong(std::uint64_t times) {
  const int peer = 1 - rank;
  for (std::uint64_t i = 0; i < times; ++i) {
    if (rank == 0) C::Send(value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    C::Recv(other, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) C::Send(value, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
  }
}
template <class C>
void allreduce(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) C::Allreduce(value, other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
template <class C>
void communicator(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Comm made;
    C::Comm_dup(MPI_COMM_WORLD, &made);
    C::Comm_free(&made);
  }
}

constexpr int side = 64;
double cells[2][side + 2][side + 2];

// A function of its own, one for all rows: inlined, the same loop takes up to a quarter longer in one row than in another,
// because g++ has other registers for it.
__attribute__((noinline)) double relax(const double (&from)[side + 2][side + 2], double (&to)[side + 2][side + 2]) {
  double change = 0;
  for (int y = 1; y <= side; ++y)
    for (int x = 1; x <= side; ++x) {
      to[y][x] = 0.25 * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]);
      const double by = to[y][x] - from[y][x];
      change += by * by;
    }
  return change;
}

template <class C, bool Marked>
void jacobi(std::uint64_t times) {
  const int peer = 1 - rank;
  for (std::uint64_t i = 0; i < times; ++i) {
    auto& from = cells[i & 1];
    auto& to = cells[1 - (i & 1)];
    const auto exchange = [&] {
      MPI_Request r[2];
      C::Irecv(from[rank == 0 ? side + 1 : 0], side, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &r[0]);
      C::Isend(from[rank == 0 ? side : 1], side, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &r[1]);
      C::Waitall(2, r, MPI_STATUSES_IGNORE);
    };
    double change = 0, all = 0;
    if (Marked) {
      {
        WHYWAIT_REGION("exchange");
        exchange();
      }
      WHYWAIT_REGION("relax");
      change = relax(from, to);
    } else {
      exchange();
      change = relax(from, to);
    }
    C::Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    harness::keep(all);
  }
}

// --- Rows of two threads

MPI_Comm own_comm[2];

template <class C>
void messages(int thread, std::uint64_t times) {
  double in = 0, out = 1;
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Request r[2];
    C::Irecv(&in, 1, MPI_DOUBLE, 0, thread, own_comm[thread], &r[0]);
    C::Isend(&out, 1, MPI_DOUBLE, 0, thread, own_comm[thread], &r[1]);
    C::Wait(&r[0], MPI_STATUS_IGNORE);
    C::Wait(&r[1], MPI_STATUS_IGNORE);
  }
}
template <class C>
void blocking(int thread, std::uint64_t times) {
  double in = 0, out = 1;
  for (std::uint64_t i = 0; i < times; ++i) {
    C::Send(&out, 1, MPI_DOUBLE, 0, thread, own_comm[thread]);
    C::Recv(&in, 1, MPI_DOUBLE, 0, thread, own_comm[thread], MPI_STATUS_IGNORE);
  }
}
template <class C>
void mprobe(int thread, std::uint64_t times) {
  double in = 0, out = 1;
  for (std::uint64_t i = 0; i < times; ++i) {
    MPI_Request r;
    MPI_Message m;
    C::Isend(&out, 1, MPI_DOUBLE, 0, thread, own_comm[thread], &r);
    C::Mprobe(0, thread, own_comm[thread], &m, MPI_STATUS_IGNORE);
    C::Mrecv(&in, 1, MPI_DOUBLE, &m, MPI_STATUS_IGNORE);
    C::Wait(&r, MPI_STATUS_IGNORE);
  }
}

void start_afresh();

/// A second thread that runs the same batch at the same time.
class companion {
 public:
  companion() : thread_([this] { work(); }) {}
  ~companion() {
    give(nullptr, 0);
    thread_.join();
  }
  void operator()(void (*run)(int, std::uint64_t), std::uint64_t times) {
    give(run, times);
    run(0, times);
    while (__atomic_load_n(&done_, __ATOMIC_ACQUIRE) != order_) sched_yield();
  }

 private:
  void give(void (*run)(int, std::uint64_t), std::uint64_t times) {
    run_ = run;
    times_ = times;
    __atomic_store_n(&order_, order_ + 1, __ATOMIC_RELEASE);
  }
  void work() {
    harness::pin(1 % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    for (std::uint64_t order = 1;; ++order) {
      while (__atomic_load_n(&order_, __ATOMIC_ACQUIRE) != order) sched_yield();
      if (run_ == nullptr) return;
      start_afresh();
      run_(1, times_);
      __atomic_store_n(&done_, order, __ATOMIC_RELEASE);
    }
  }

  void (*run_)(int, std::uint64_t) = nullptr;
  std::uint64_t times_ = 0, order_ = 0, done_ = 0;
  std::thread thread_;
};

// --- Memory

/// Drops what the calling thread has recorded and returns its pages to the kernel, if it is much.
void start_afresh() {
  if (first_record == nullptr || static_cast<std::uint64_t>(next_record - first_record) * sizeof(trivial_record) > most_bytes) {
    if (first_record != nullptr) munmap(first_record, 2 * most_bytes);
    void* const pages =
        mmap(nullptr, 2 * most_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    first_record = next_record = static_cast<trivial_record*>(pages);
  }
  record::location& mine = *record::this_location();
  if (mine.syncs.dropped() + mine.steps.dropped() != 0) {
    std::fprintf(stderr, "records were lost: increase WHYWAIT_MEMORY\n");
    std::abort();
  }
  if (mine.syncs.size() * sizeof(core::sync_record) + mine.steps.size() * sizeof(core::path_step) > most_bytes) {
    mine.syncs.release();
    mine.steps.release();
    mine.syncs.open(core::the_registry()->memory);
    mine.steps.open(core::the_registry()->memory);
  }
}
void drain() {
  record::this_location()->syncs.drain([](const core::sync_record*, std::uint64_t) {});
}

// --- Rows

using batch = void (*)(std::uint64_t);

/// A row that all ranks run together.
void add_together(harness::table& rows, const char* name, batch run, std::uint64_t times) {
  rows.add(name, [run, times] {
    start_afresh();
    PMPI_Barrier(MPI_COMM_WORLD);
    const std::uint64_t begin = harness::now_ns();
    run(times);
    return static_cast<double>(harness::now_ns() - begin) / static_cast<double>(times);
  });
}
/// A row of rank 0.
void add_alone(harness::table& rows, const char* name, batch run, std::uint64_t times, void (*after)() = nullptr) {
  rows.add(name, [run, times, after] {
    if (rank != 0) return 0.0;
    start_afresh();
    const std::uint64_t begin = harness::now_ns();
    run(times);
    const std::uint64_t end = harness::now_ns();
    if (after != nullptr) after();
    return static_cast<double>(end - begin) / static_cast<double>(times);
  });
}

#define WHYWAIT_BENCH_ALL(add, rows, name, times)             \
  add(rows, #name "_plain", name<calls<plain>>, times);       \
  add(rows, #name "_clocks", name<calls<clocks>>, times);     \
  add(rows, #name "_recorder", name<calls<recorder>>, times); \
  add(rows, #name "_whywait", name<whywait_calls>, times)

void rows_of_calls(harness::table& rows) {
  WHYWAIT_BENCH_ALL(add_alone, rows, null, 500);
  WHYWAIT_BENCH_ALL(add_alone, rows, send, 1000);
  WHYWAIT_BENCH_ALL(add_alone, rows, halo, 50);
  add_alone(rows, "regions_whywait", null_in_regions, 500);
  if (ranks < 2) return;
  WHYWAIT_BENCH_ALL(add_together, rows, pingpong, 100);
  WHYWAIT_BENCH_ALL(add_together, rows, allreduce, 100);
  WHYWAIT_BENCH_ALL(add_together, rows, step, 50);
  WHYWAIT_BENCH_ALL(add_together, rows, communicator, 10);
  add_together(rows, "jacobi_plain", jacobi<calls<plain>, false>, 40);
  add_together(rows, "jacobi_recorder", jacobi<calls<recorder>, false>, 40);
  add_together(rows, "jacobi_whywait", jacobi<whywait_calls, false>, 40);
  add_together(rows, "jacobi_marked", jacobi<whywait_calls, true>, 40);
}
void rows_of_used_memory(harness::table& rows) {
  add_alone(rows, "null_reused", null<whywait_calls>, 500, drain);
  add_alone(rows, "send_direct", send<whywait_calls>, 1000, drain);
  add_alone(rows, "send_wrapped", send_wrapped, 1000, drain);
  add_alone(rows, "send_callers", send_from_eight_places, 1000, drain);
}

template <class Body>
void add_threads(harness::table& rows, const char* name, const Body& body) {
  rows.add(name, [body] {
    constexpr int count = 20;
    const std::uint64_t begin = harness::now_ns();
    for (int i = 0; i < count; ++i) std::thread(body).join();
    return static_cast<double>(harness::now_ns() - begin) / count;
  });
}

double resident_kib() {
  long pages = 0, resident = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}
double mappings() {
  double lines = 0;
  if (FILE* const file = std::fopen("/proc/self/maps", "r")) {
    for (int c; (c = std::fgetc(file)) != EOF;) lines += c == '\n' ? 1 : 0;
    std::fclose(file);
  }
  return lines;
}
/// What each of some threads leaves behind, measured once.
template <class Body>
void add_growth(harness::table& rows, const char* name, double (*of)(), const Body& body) {
  rows.add(name, [body, of, found = -1.0]() mutable {
    if (found >= 0) return found;
    constexpr int count = 500;
    std::thread(body).join();
    const double before = of();
    for (int i = 0; i < count; ++i) std::thread(body).join();
    return found = (of() - before) / count;
  });
}

template <class C>
void one_alltoall() {
  int to = 1, from = 0;
  C::Alltoall(&to, 1, MPI_INT, &from, 1, MPI_INT, MPI_COMM_SELF);
}

void add_both(harness::table& rows, const char* name, void (*run)(int, std::uint64_t), std::uint64_t times, companion& second) {
  rows.add(name, [run, times, &second] {
    start_afresh();
    const std::uint64_t begin = harness::now_ns();
    second(run, times);
    return static_cast<double>(harness::now_ns() - begin) / static_cast<double>(times);
  });
}
void rows_of_threads(harness::table& rows, companion& second) {
  for (int i = 0; i < 2; ++i) PMPI_Comm_dup(MPI_COMM_SELF, &own_comm[i]);
  add_both(rows, "messages_plain", messages<calls<plain>>, 100, second);
  add_both(rows, "messages_recorder", messages<calls<recorder>>, 100, second);
  add_both(rows, "messages_whywait", messages<whywait_calls>, 100, second);
  add_both(rows, "blocking_plain", blocking<calls<plain>>, 100, second);
  add_both(rows, "blocking_recorder", blocking<calls<recorder>>, 100, second);
  add_both(rows, "blocking_whywait", blocking<whywait_calls>, 100, second);
  add_both(rows, "mprobe_plain", mprobe<calls<plain>>, 100, second);
  add_both(rows, "mprobe_recorder", mprobe<calls<recorder>>, 100, second);
  add_both(rows, "mprobe_whywait", mprobe<whywait_calls>, 100, second);
  const auto marked = [] { WHYWAIT_REGION("short"); };
  add_threads(rows, "thread_plain", [] { harness::barrier(); });
  add_threads(rows, "thread_whywait", marked);
  add_threads(rows, "alltoall_plain", one_alltoall<calls<plain>>);
  add_threads(rows, "alltoall_whywait", one_alltoall<whywait_calls>);
  add_growth(rows, "thread_kib", resident_kib, marked);
  add_growth(rows, "thread_mappings", mappings, marked);
  add_growth(rows, "alltoall_kib", resident_kib, one_alltoall<whywait_calls>);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WHYWAIT_MEMORY", "8G", 0);
  std::vector<char*> flags;
  bool threads = false, reused = false;
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0) threads = true;
    else if (std::strcmp(argv[i], "--reused") == 0) reused = true;
    else flags.push_back(argv[i]);
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (threads && level != MPI_THREAD_MULTIPLE) return std::fprintf(stderr, "no MPI_THREAD_MULTIPLE\n"), 1;
  int code = 0;
  {
    harness::table rows;
    rows.together(20260101, rank % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), rank == 0);
    if (threads) {
      companion second;
      rows_of_threads(rows, second);
      code = rows.main(static_cast<int>(flags.size()), flags.data());
    } else {
      reused ? rows_of_used_memory(rows) : rows_of_calls(rows);
      code = rows.main(static_cast<int>(flags.size()), flags.data());
    }
  }
  MPI_Finalize();
  return code;
}
