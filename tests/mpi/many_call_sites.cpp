// ranks: 2
// timeout: 120
// environment: WHYWAIT_OUTPUT=many
// with: observer
// json many.json
// page many.html
//
// 1,000 functions that call MPI, and no marks: nearly 2,000 blocks of code. Each call waits. The paths are longer than the packets that
// ranks of one machine exchange through shared memory, and an explanation could list all blocks.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace {

constexpr int sites = 1000;
int rank = 0;
double value[2];

template <int N>
[[gnu::noinline]] void site() {
  MPI_Sendrecv(value, 1, MPI_DOUBLE, 1 - rank, 0, value + 1, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  value[0] += N;
}
template <int... N>
constexpr std::array<void (*)(), sites> all_sites(std::integer_sequence<int, N...>) {
  return {&site<N>...};
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

bool check(bool right, const char* what, long found) {
  if (!right) std::fprintf(stderr, "%s: %ld\n", what, found);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr auto all = all_sites(std::make_integer_sequence<int, sites>());
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4;
  for (int round = 0; round != rounds; ++round) {
    for (void (*const call)() : all) {
      if (rank == 0)
        for (const double end = now() + 30e-6; now() < end;) {
        }
      call();
    }
  }
  const double left = now();
  MPI_Finalize();
  if (rank != 0) return 0;
  std::printf("MPI_Finalize took %.2f s\n", now() - left);
  std::ifstream in("many.json", std::ios::binary);
  const std::string report{std::istreambuf_iterator<char>(in), {}};
  long named = 0;
  for (int n = 0; n != sites; ++n) named += report.find("site<" + std::to_string(n) + ">") != std::string::npos ? 1 : 0;
  bool right = check(named == sites, "functions with a name", named);
  right = check(report.size() < 16u << 20, "bytes of the report", static_cast<long>(report.size())) && right;
  return right ? 0 : 1;
}
