// Measures what the explanation of a real job costs: the time of MPI_Finalize and of the pauses of epochs, and the memory that
// they need beside the records.
//
//   mpirun -n 2 bench_finalize [--kind=pingpong] [--calls=1000000] [--json=FILE]
//
// Each rank makes about that many calls. The kinds are
//
//   pingpong     MPI_Send and MPI_Recv of 8 bytes in turn, so that each call waits for the other rank
//   collectives  MPI_Allreduce and MPI_Barrier in turn
//   oneway       MPI_Send from even to odd ranks, which receive; MPI_Barrier after every 1,000
//   halo         MPI_Irecv from and MPI_Isend to both neighbours in a ring, MPI_Waitall; MPI_Allreduce after every 10
//   window       50 MPI_Irecv, 50 MPI_Isend and MPI_Waitall between neighbours; MPI_Barrier after every 20,000 messages
//
// Prints seconds of the loop and of MPI_Finalize, and the growth of the largest process in MPI_Finalize.
#include <whywait/record.hpp>

#include <mpi.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double resident_mib() {
  long pages = 0, resident = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}
double most_mib() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

int rank = 0, ranks = 1;

/// Memory that all ranks, which must be of one machine, share also after MPI_Finalize: a number of each, at first 0. Null: there
/// is none.
volatile double* shared_numbers() {
  int id = static_cast<int>(getpid());
  PMPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string name = "/whywait-bench-" + std::to_string(id);
  const auto bytes = static_cast<std::size_t>(ranks) * sizeof(double);
  int file = -1;
  if (rank == 0) file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) std::perror("ftruncate");
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) file = shm_open(name.c_str(), O_RDWR, 0);
  void* const all = file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) shm_unlink(name.c_str());
  return all == MAP_FAILED ? nullptr : static_cast<volatile double*>(all);
}
/// The largest of all ranks, on rank 0; negative if one of them is not known after 10 s.
double largest(volatile double* all, double own) {
  if (all == nullptr) return -1;
  all[rank] = own + 1;  // 0: not there yet
  for (int r = 0; rank == 0 && r != ranks; ++r) {
    for (int tries = 0; all[r] == 0 && tries != 10000; ++tries) usleep(1000);
    if (all[r] == 0) return -1;
    own = std::max(own, all[r] - 1);
  }
  return own;
}

double in[100], out[100];

void pingpong(long calls) {
  const int peer = rank ^ 1;
  for (long i = 0; i < calls && peer < ranks; i += 2) {
    if (rank % 2 == 0) MPI_Send(out, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(in, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 != 0) MPI_Send(out, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
  }
}
void collectives(long calls) {
  for (long i = 0; i < calls; i += 2) {
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
void oneway(long calls) {
  const int peer = rank ^ 1;
  for (long i = 0; i < calls; ++i) {
    if (i % 1000 == 999) MPI_Barrier(MPI_COMM_WORLD);
    else if (peer >= ranks) continue;
    else if (rank % 2 == 0) MPI_Send(out, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    else MPI_Recv(in, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
void halo(long calls) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (long i = 0; i * 5 < calls; ++i) {
    MPI_Request r[4];
    {
      WHYWAIT_REGION("exchange");
      MPI_Irecv(in, 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &r[0]);
      MPI_Irecv(in + 1, 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &r[1]);
      MPI_Isend(out, 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &r[2]);
      MPI_Isend(out + 1, 1, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, &r[3]);
      MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
    if (i % 10 == 0) MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
void window(long calls) {
  constexpr int each = 50;
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (long step = 0; step * (2 * each + 1) < calls; ++step) {
    MPI_Request r[2 * each];
    for (int i = 0; i != each; ++i) MPI_Irecv(&in[i], 1, MPI_INT, before, i % 3, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i != each; ++i) MPI_Isend(&out[i], 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &r[each + i]);
    MPI_Waitall(2 * each, r, MPI_STATUSES_IGNORE);
    if (step % 400 == 399) MPI_Barrier(MPI_COMM_WORLD);
  }
}

constexpr struct {
  const char* name;
  void (*run)(long);
} kinds[] = {{"pingpong", pingpong}, {"collectives", collectives}, {"oneway", oneway}, {"halo", halo}, {"window", window}};

}  // namespace

int main(int argc, char** argv) {
  const char *kind = "pingpong", *json = nullptr;
  long calls = 1000000;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--kind=", 7) == 0) kind = argv[i] + 7;
    else if (std::strncmp(argv[i], "--calls=", 8) == 0) calls = std::atol(argv[i] + 8);
    else if (std::strncmp(argv[i], "--json=", 7) == 0) json = argv[i] + 7;
    else if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0) json = argv[i] + 16;
    else if (std::strncmp(argv[i], "--benchmark_min_time=", 21) == 0) calls = 1000;
    else if (std::strncmp(argv[i], "--benchmark_", 12) != 0) return std::fprintf(stderr, "what is %s?\n", argv[i]), 1;
  }
  void (*run)(long) = nullptr;
  for (const auto& k : kinds)
    if (std::strcmp(k.name, kind) == 0) run = k.run;
  if (run == nullptr) return std::fprintf(stderr, "no kind %s\n", kind), 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  volatile double* const all = shared_numbers();
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begun = now();
  run(calls);
  PMPI_Barrier(MPI_COMM_WORLD);
  const double ended = now(), before = resident_mib();
  MPI_Finalize();
  const double left = now(), grown = largest(all, most_mib() > before ? most_mib() - before : 0);
  if (rank != 0) return 0;
  if (grown < 0) return std::fprintf(stderr, "the memory of some rank is not known: are all of them on this machine?\n"), 1;
  std::printf("%s, %d ranks x %ld calls: %.3f s, MPI_Finalize %.3f s, %.0f MiB and %.0f MiB more\n", kind, ranks, calls,
              ended - begun, left - ended, before, grown);
  if (json == nullptr) return 0;
  FILE* const file = std::fopen(json, "w");
  if (file == nullptr) return std::perror(json), 1;
  std::fprintf(file, "{\"loop_s\": %.6f, \"finalize_s\": %.6f, \"before_mib\": %.3f, \"grown_mib\": %.3f}\n", ended - begun,
               left - ended, before, grown);
  return std::fclose(file) == 0 ? 0 : 1;
}
