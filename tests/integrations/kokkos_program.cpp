// A program that loads Kokkos Tools as Kokkos does (KOKKOS_TOOLS_LIBS, dlopen, dlsym) and runs kernels; one is slow on the last rank.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const path = std::getenv("KOKKOS_TOOLS_LIBS");
  void* const tool = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (tool == nullptr) {
    std::fprintf(stderr, "no tool: %s\n", path != nullptr ? dlerror() : "KOKKOS_TOOLS_LIBS is not set");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  const auto begin =
      reinterpret_cast<void (*)(const char*, std::uint32_t, std::uint64_t*)>(dlsym(tool, "kokkosp_begin_parallel_for"));
  const auto end = reinterpret_cast<void (*)(std::uint64_t)>(dlsym(tool, "kokkosp_end_parallel_for"));
  const auto push = reinterpret_cast<void (*)(const char*)>(dlsym(tool, "kokkosp_push_profile_region"));
  const auto pop = reinterpret_cast<void (*)()>(dlsym(tool, "kokkosp_pop_profile_region"));
  if (begin == nullptr || end == nullptr || push == nullptr || pop == nullptr) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int step = 0; step != 10; ++step) {
    std::uint64_t id = 0;
    push("timestep");
    begin("assemble", 0, &id);
    usleep(1000);
    end(id);
    begin("solve", 0, &id);
    usleep(rank == ranks - 1 ? 12000 : 2000);
    end(id);
    pop();
    double one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
