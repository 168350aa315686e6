// ranks: 2 4
// ranks of mpich: 2
// timeout: 100
// not: thread (it replaces operator new, as the library of ThreadSanitizer does)
// with: observer_data
// arguments: often
// environment: WHYWAIT_REPORT=full WHYWAIT_PATH=order "WHYWAIT_WHATIF=block prepare x2; balance"
//
// The analysis runs out of memory. On one or two ranks operator new fails once, or from then on, at any allocation of
// the explanation. `often [seed [times]]` repeats this in one process. `at_end` and `in_epoch` fail once for real, in
// MPI_Finalize or in the middle of the run (out_of_memory.py). The program itself must be unaffected, and one line
// reports the failure.
#include <whywait/data.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/record.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace {

// Plain variables, because operator new reads them before main.
bool counting = false;          // only allocations of the analysis count
long allocations = 0, fails_at = 0;  // 0 for never
bool fails_ever_after = false;
bool failed = false;

}  // namespace

void* operator new(std::size_t size) {
  if (counting && ++allocations >= fails_at && fails_at != 0 && (fails_ever_after || allocations == fails_at)) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

int rank = 0, ranks = 1, bad = 0;

void nap(long us) {
  const timespec time = {0, us * 1000};
  nanosleep(&time, nullptr);
}

// A ring in which rank 0 is late, and a sum. Returns a number that depends on every message.
long work(int steps) {
  WHYWAIT_REGION("work");
  long sum = 0;
  for (int k = 0; k != steps; ++k) {
    int here = k + rank, there = 0;
    if (rank == 0) {
      WHYWAIT_REGION("prepare");
      nap(100);
    }
    WHYWAIT_BLOCK("step");
    MPI_Sendrecv(&here, 1, MPI_INT, (rank + 1) % ranks, 0, &there, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&there, &here, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += here;
  }
  return sum;
}
long expected(int steps) {
  long sum = 0;
  for (int k = 0; k != steps; ++k) sum += static_cast<long>(ranks) * k + ranks * (ranks - 1) / 2;
  return sum;
}

// Registered data, partly shared by the ranks, which makes the analysis longer.
void work_on_data() {
  constexpr int each = 16;
  double* shared = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(rank == 0 ? each * sizeof(double) : 0, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);
  {
    double own[each] = {};
    WHYWAIT_DATA("slots", shared, each);
    WHYWAIT_DATA("own", own, each);
    for (int i = 0; i != 4; ++i) {
      shared[rank] = i;
      WHYWAIT_WRITES("count", whywait::range(shared + rank));
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 1) WHYWAIT_READS("use", whywait::range(shared, each));
      MPI_Bcast(own, each, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      WHYWAIT_READS("sum", whywait::range(own, each));
    }
  }
  MPI_Win_free(&window);
}

// Returns what the hook of MPI_Finalize writes to standard error.
std::string heard(whywait::mpi::state& process) {
  char name[] = "/tmp/whywait_out_of_memory_XXXXXX";
  const int file = mkstemp(name), kept = dup(2);
  unlink(name);
  dup2(file, 2);
  counting = true;
  process.hook.on_finalize(process);
  counting = false;
  dup2(kept, 2);
  close(kept);
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), ' ');
  const bool read = pread(file, &text[0], text.size(), 0) == static_cast<ssize_t>(text.size());
  close(file);
  return read ? text : "unreadable";
}
int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

void not_so(const char* what, const std::string& text) {
  if (++bad < 10) std::fprintf(stderr, "rank %d, at allocation %ld: %s:\n%s\n", rank, fails_at, what, text.c_str());
}

void often(unsigned seed, int programs) {
  whywait::mpi::state& process = *whywait::mpi::the_state();
  const whywait::mpi::hooks hook = process.hook;
  work_on_data();
  const auto again = [&] {
    const std::string text = heard(process);
    process.failed = {};
    process.so_far = nullptr;  // its state is lost, and the next one starts from scratch
    process.hook = hook;
    return text;
  };
  fails_at = 0;
  allocations = 0;
  again();
  const std::string usual = again();
  allocations = 0;
  again();
  std::vector<long> most(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&allocations, 1, MPI_LONG, most.data(), 1, MPI_LONG, MPI_COMM_WORLD);
  if (rank == 0 && (count(usual, "MPI calls seen") == 0 || most[0] < 500)) not_so("this is no report", usual);
  std::mt19937 random(seed);
  int fired = 0, unsaid = 0, explained = 0, known = 0, alone = 0;
  for (int i = 0; i != programs; ++i) {
    const auto pick = [&](long n) { return static_cast<long>(random() % static_cast<unsigned long>(n)); };
    const int victims[] = {static_cast<int>(pick(ranks)), i % 3 == 0 ? static_cast<int>(pick(ranks)) : -1};
    // first all early allocations, then random ones of the victim, and some that it may not reach
    const auto any_of = [&](int victim) { return 1 + pick(most[static_cast<std::size_t>(std::max(victim, 0))] * 9 / 8); };
    const long at[] = {i < 10 ? i + 1 : any_of(victims[0]), any_of(victims[1])};
    fails_ever_after = pick(3) == 0;
    allocations = fails_at = 0;
    failed = false;
    for (int v : {1, 0})
      if (rank == victims[v]) fails_at = at[v];
    const std::string text = again();
    const int here = failed ? 1 : 0;
    std::vector<int> who(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&here, 1, MPI_INT, who.data(), 1, MPI_INT, MPI_COMM_WORLD);
    int under_way = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, process.tool_comm, &under_way, MPI_STATUS_IGNORE);
    if (under_way != 0) not_so("a message of the analysis is left", text);
    int failures = 0, named = 0;
    for (int r = 0; r != ranks; ++r) {
      failures += who[static_cast<std::size_t>(r)];
      named += who[static_cast<std::size_t>(r)] * count(text, "explained: rank " + std::to_string(r) + ": std::bad_alloc\n");
    }
    fired += failures != 0 ? 1 : 0;
    if (rank != 0) {
      if (!text.empty()) not_so("only rank 0 may speak", text);
      continue;
    }
    const bool report = count(text, "whywait · ") == 1, own = count(text, "ended by MPI_Finalize") == 1;
    if (!report && !own) not_so("neither a report nor last words", text);
    if (failures == 0 && (count(text, "MPI calls seen") != 1 || count(text, "bad_alloc") != 0))
      not_so("no rank failed, and yet", text);
    // some places work without the failed allocation and do not warn
    if (failures != 0 && count(text, "bad_alloc") == 0) ++unsaid;
    if (named > 1 || count(text, "whywait: why") > 1) not_so("one line is enough", text);
    explained += named == 0 ? 1 : 0;
    known += named != 0 && report ? 1 : 0;
    alone += own ? 1 : 0;
  }
  allocations = fails_at = 0;
  if (rank == 0 && count(again(), "MPI calls seen") != 1) not_so("afterwards there is no report any more", "");
  else if (rank != 0) again();
  if (rank == 0)
    std::printf(
        "out_of_memory: seed %u, %ld allocations; in %d of %d analyses one failed: %d explained, %d only facts, %d "
        "last words; "
        "%d needed no line\n",
        seed, most[0], fired, programs, explained, known, alone, unsaid);
  if (fired < programs / 2) not_so("too few failures to say anything", "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "often";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = how == "in_epoch" ? 500 : 20;
  if (how == "in_epoch") counting = true;  // the program itself allocates nothing
  for (int i = 2; how != "often" && i + 1 < argc; i += 3) {  // triples of rank, allocation, permanent
    if (std::atoi(argv[i]) != rank) continue;
    fails_at = std::atol(argv[i + 1]);
    fails_ever_after = i + 2 < argc && std::atoi(argv[i + 2]) != 0;
  }
  if (work(steps) != expected(steps)) ++bad;
  if (how == "often")
    often(argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : 20261122, argc > 3    ? std::atoi(argv[3])
                                                                           : ranks > 2 ? 30
                                                                                       : 100);
  if (bad == 0) std::printf("rank %d of %d: all is well\n", rank, ranks);
  std::fflush(stdout);
  counting = true;
  if (how == "often") fails_at = 0;
  MPI_Finalize();
  counting = false;
  if (how != "often") std::printf("rank %d: %ld allocations\n", rank, allocations);
  return bad == 0 ? 0 : 1;
}
