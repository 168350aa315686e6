// ranks: 2
// timeout: 60
// beside: nothing
// with: observer openmp
// flags: -fopenmp
// not: address undefined thread
// environment: WHYWAIT_OUTPUT=openmp_ranks
// file openmp_ranks.txt ~ late sender
// file openmp_ranks.txt ~ relax_row
// stdout ~ ^as measured$
// tries 3
//
// A rank sends late because a thread of its team worked longer than the others before the end of the parallel region. The wait of
// the other rank is explained by what that thread ran.
#include <whywait/gomp.hpp>
#include <whywait/mpi.hpp>
#include <whywait/record.hpp>

#include <mpi.h>
#include <omp.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr int steps = 6;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Returns how long the late thread took.
double relax() {
  double seconds = 0;
#pragma omp parallel num_threads(2)
  {
    const double begin = now();
    WHYWAIT_REGION("relax_row");
    std::this_thread::sleep_for(std::chrono::milliseconds(omp_get_thread_num() == 1 ? 40 : 1));
    if (omp_get_thread_num() == 1) seconds = now() - begin;
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double waited = 0, ran = 0;
  for (int i = 0; i != steps; ++i) {
    double value = 0;
    if (rank == 1) {
      value = relax();
      MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    } else {
      const double begin = now();
      MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      waited += now() - begin;
      ran += value;
    }
  }
  MPI_Finalize();
  if (rank != 0) return 0;
  double found = 0, guilty = 0;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream("openmp_ranks.json"));
  for (const auto& w : report["waits"]) {
    if (w["pattern"] != "late_sender") continue;
    found += w["seconds"].get<double>();
    for (const auto& r : w["residual"])
      if (r["block"] == "relax_row") guilty += r["seconds"].get<double>();
  }
  const double allowed = 0.03 * waited + 0.001 * steps;
  const bool right = found >= ran - allowed && found <= waited + allowed && std::abs(guilty - ran) <= allowed;
  std::printf("%s\nwaited %.4f s, reported %.4f s, of it %.4f s for relax_row, which ran %.4f s\n",
              right ? "as measured" : "NOT SO", waited, found, guilty, ran);
  return right ? 0 : 1;
}
