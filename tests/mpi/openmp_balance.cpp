// ranks: 2
// timeout: 60
// beside: nothing
// with: observer openmp
// flags: -fopenmp
// not: address undefined thread
// environment: WHYWAIT_OUTPUT=openmp_balance OMP_WAIT_POLICY=passive
// file openmp_balance.txt ~ rank 1 thread 1 takes [0-9.]+ times as long as the others in relax
// file openmp_balance.txt ~ rank 0 thread 1 and rank 1 thread 1 take [0-9.]+ times as long as the others in
// stdout ~ ^as measured$
// tries 3
//
// Ranks with a team of two threads each. First one thread of all takes longer in marked code, then the same thread of each rank in
// code without marks. The verdicts name these threads, and what they say is saved is what the measured times of the threads say.
// Threads at a barrier sleep: on few processors, spinning ones delay those that wake, and not equally in each team.
#include <whywait/gomp.hpp>
#include <whywait/mpi.hpp>
#include <whywait/record.hpp>

#include <mpi.h>
#include <omp.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr int steps = 30;
int rank = 0;
double spent[2][2];  // by phase and thread, seconds

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void work(int phase, bool slow) {
  const double begin = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 12 : 4));
  spent[phase][omp_get_thread_num()] += now() - begin;
}

[[gnu::noinline]] void relax() {
#pragma omp parallel num_threads(2)
  {
    WHYWAIT_REGION("relax");
    work(0, rank == 1 && omp_get_thread_num() == 1);
  }
}

[[gnu::noinline]] void smooth() {
#pragma omp parallel num_threads(2)
  work(1, omp_get_thread_num() == 1);
}

// What balancing saves: the longest time of a thread less the mean. On all ranks.
double most_saved(int phase) {
  double most = std::max(spent[phase][0], spent[phase][1]), sum = spent[phase][0] + spent[phase][1], longest = 0, all = 0;
  MPI_Allreduce(&most, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return longest - all / 4;
}

bool is(const char* what, double said, double truth) {
  const bool right = std::abs(said - truth) <= 0.1 * truth;
  if (!right) std::printf("%s: %.1f ms, measured %.1f ms\n", what, 1e3 * said, 1e3 * truth);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double mine = 1, sum = 0;
  for (int i = 0; i != steps; ++i) {
    relax();
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int i = 0; i != steps; ++i) {
    smooth();
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  const double truth[] = {most_saved(0), most_saved(1)};
  MPI_Finalize();
  if (rank != 0) return 0;
  const nlohmann::json report = nlohmann::json::parse(std::ifstream("openmp_balance.json"));
  bool marked = false, unmarked = false;
  double relaxed = 0, by_visits = 0;
  for (const auto& v : report["verdict"]) {
    if (v.value("thread", 0) != 1) continue;
    const double said = v["saving_seconds"].get<double>();
    if (v["block"] == "relax" && v["rank"] == 1) marked = is("relax", said, truth[0]);
    if (v["block"].get<std::string>().find("smooth") != std::string::npos) unmarked = is("smooth", said, truth[1]);
  }
  // Both sides of a wait made as many visits: the late one is slower, it does not visit more often.
  for (const auto& w : report["waits"]) {
    if (w["pattern"] != "thread_barrier") continue;
    for (const auto& r : w["residual"]) {
      if (r["block"] != "relax") continue;
      relaxed += std::abs(r["seconds"].get<double>());
      by_visits += std::abs(r["visits_seconds"].get<double>());
    }
  }
  const bool right = relaxed > 0.5 * steps * 8e-3 && by_visits < 0.05 * relaxed;
  if (!right) std::printf("%.1f ms of the waits by relax, %.1f ms of it by visits\n", 1e3 * relaxed, 1e3 * by_visits);
  std::puts(marked && unmarked && right ? "as measured" : "not as measured");
  return 0;
}
