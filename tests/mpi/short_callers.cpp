// ranks: 2
// with: observer
// timeout: 200
//
// Short threads with an MPI call each, one after the other: each continues the records of the one before, so that neither
// memory nor the number of locations grows with them, and nothing is lost.
#include "../sanitizers.hpp"

#include <whywait/mpi.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace {

int rank, failures;

void check(bool holds, const char* text, double found, double expected) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s: found %g, expected %g\n", text, found, expected);
  ++failures;
}

double resident_mib() {
  long pages = 0, resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

MPI_Comm own;

void run_threads(int count) {
  for (int i = 0; i < count; ++i)
    std::thread([i] {
      WHYWAIT_REGION("call");
      int to[2] = {i, i}, from[2] = {-1, -1};
      MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, own);
      check(from[0] == i && from[1] == i, "what a thread received", from[1 - rank], i);
    }).join();
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level == MPI_THREAD_MULTIPLE) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    constexpr int first = 200, more = 3000;
    run_threads(first);
    const double before = resident_mib();
    run_threads(more);
    // 64 bytes for each call and 32 for its region; a location of its own would take 128 KiB
#if !WHYWAIT_TEST_ADDRESS_SANITIZER && !WHYWAIT_TEST_THREAD_SANITIZER  // which keep memory of their own for each thread
    check(resident_mib() - before < 8, "MiB for the threads", resident_mib() - before, 8);
#else
    static_cast<void>(before);
#endif
    const std::uint32_t locations = whywait::core::the_registry()->location_count;
    check(locations <= 3, "locations of a process", locations, 3);
    std::uint64_t calls = 0;
    for (auto* l = whywait::core::the_registry()->locations; l != nullptr; l = l->next) {
      const auto& at = *static_cast<whywait::record::location*>(l);
      std::uint64_t here = 0, regions = 0;
      for (std::uint64_t i = 0; i < at.syncs.size(); ++i)
        here += at.syncs.view()[i].call == whywait::core::mpi_call::Alltoall ? 1 : 0;
      for (std::uint64_t i = 0; i < at.steps.size(); ++i) regions += at.steps.view()[i].visits;
      check(regions == here, "regions beside the calls of a location", static_cast<double>(regions), static_cast<double>(here));
      calls += here;
      check(at.syncs.dropped() + at.steps.dropped() == 0, "lost events", static_cast<double>(at.syncs.dropped()), 0);
    }
    check(calls == first + more, "recorded calls", static_cast<double>(calls), first + more);
  }
  MPI_Finalize();
  return failures;
}
