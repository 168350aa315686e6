// Even ranks sleep three times as long as odd ones. The load balance is 2/3 without other losses, and halving the long
// sleep shortens the run by almost as much. The program's own time stamps give the exact share, because the machine may
// have other load. Both notations of a question are equivalent.
//
// with: observer
// ranks: 2 4
// tries 3
// environment: WHYWAIT_OUTPUT=out "WHYWAIT_WHATIF=block slow part x2; slow part=0.5,network=0; no such=0; slow=; network=x"
// stdout ~ ^done$
// stderr ~ ^  efficiency [\d-]+ % = load balance [\d-]+ % × serialisation [\d-]+ % × transfer [\d-]+( |\n    )%$
// stderr ~ ^    critical path  .*above mean  x2 saves$
// stderr ~ ^      slow part \(efficiency\.cpp:\d+\)\s+[\d.]+ m?s\s
// stderr ~ ^      block slow part x2: (\d.*, saves \d[^\n]*\n        by the clocks of the critical path|no answer: the models disagree)
// stderr ~ ^      slow part=0\.5,network=0: (\d.*, saves \d|no answer: the models disagree)
// stderr ~ ^      no such=0: no answer: no time was recorded for a block 'no such'$
// stderr ~ ^whywait: WHYWAIT_WHATIF: something is missing at character 62, in 'slow=': expected the part of its time that stays, such as 0\.5 or 0 \(whywait-P023\); the question is skipped$
// stderr ~ ^whywait: WHYWAIT_WHATIF: cannot read 'x' at character 72, in 'network=x': expected the part of its time that stays, such as 0\.5 or 0 \(whywait-P023\); the question is skipped$
// json out.json
// file out.json ~ "balance_between_nodes": ?(1|0\.99\d*),?\s
// file out.json ~ "engine": "clocks"
#include <whywait/record.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int steps = 10;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the actual duration.
double sleep_ms(long ms) {
  const double begin = now();
  const timespec t{0, ms * 1000000};
  nanosleep(&t, nullptr);
  return now() - begin;
}

struct stamps {
  double useful = 0;  // all time outside MPI
  double at[steps], slow[steps];  // arrival at the barrier, and the slow part before it
};

// The expected values, computed from the stamps of all ranks.
struct truth {
  double balance = 0, slow_on_path = 0, saving = 0;
  explicit truth(const std::vector<stamps>& all) {
    double sum = 0, most = 0;
    for (const stamps& s : all) sum += s.useful, most = std::max(most, s.useful);
    balance = sum / static_cast<double>(all.size()) / most;
    for (int k = 0; k < steps; ++k) {
      const stamps* last = &all[0];
      double sooner = 0;
      for (const stamps& s : all) {
        if (s.at[k] > last->at[k]) last = &s;
        sooner = std::max(sooner, s.at[k] - s.slow[k] / 2);
      }
      slow_on_path += last->slow[k];
      saving += last->at[k] - sooner;
    }
  }
};

// Written after MPI_Finalize, so that it is not measured.
std::string file_of(int rank) { return "stamps." + std::to_string(rank); }

int leave_for_rank_0(const stamps& mine, int rank) {
  const std::string name = file_of(rank), unfinished = name + ".new";
  std::ofstream(unfinished, std::ios::binary).write(reinterpret_cast<const char*>(&mine), sizeof mine);
  return std::rename(unfinished.c_str(), name.c_str()) == 0 ? 0 : 1;
}

stamps left_by(int rank) {
  const timespec pause{0, 1000000};
  for (;;) {
    stamps theirs;
    if (std::ifstream(file_of(rank), std::ios::binary).read(reinterpret_cast<char*>(&theirs), sizeof theirs)) return theirs;
    nanosleep(&pause, nullptr);
  }
}

// 5 %, because a machine that deschedules the process between a stamp and its call delays it by milliseconds, a few
// percent of the run.
bool agree(const char* what, double said, double truth) {
  std::fprintf(stderr, "%s: %.6f, by the program's stamps %.6f\n", what, said, truth);
  if (std::abs(said - truth) <= 0.05 * truth) return true;
  std::fprintf(stderr, "FAILED: %s\n", what);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stamps mine;
  double left = now();
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto meet = [&] {
    const double at = now();
    mine.useful += at - left;
    MPI_Barrier(MPI_COMM_WORLD);
    left = now();
    return at;
  };
  meet();
  for (int step = 0; step < steps; ++step) {
    mine.slow[step] = 0;
    if (rank % 2 == 0) {
      WHYWAIT_REGION("slow part");
      mine.slow[step] = sleep_ms(30);
    } else {
      WHYWAIT_REGION("quick part");
      sleep_ms(10);
    }
    mine.at[step] = meet();
  }
  if (rank == 0) std::puts("done");
  mine.useful += now() - left;
  MPI_Finalize();
  if (rank != 0) return leave_for_rank_0(mine, rank);
  std::vector<stamps> all{mine};
  for (int r = 1; r < ranks; ++r) all.push_back(left_by(r));

  std::ifstream file("out.json");
  if (!file) return std::fprintf(stderr, "FAILED: out.json was not written\n"), 1;
  const nlohmann::json report = nlohmann::json::parse(file);
  const truth known(all);
  double seconds = 0, saving = 0;
  for (const auto& entry : report["critical_path"])
    if (entry["block"] == "slow part") seconds = entry["seconds"].get<double>(), saving = entry["saving_seconds"].get<double>();
  bool good = agree("load balance", report["efficiency"]["load_balance"].get<double>(), known.balance);
  good = agree("slow part on the critical path", seconds, known.slow_on_path) && good;
  good = agree("saved if it takes half the time", saving, known.saving) && good;
  double cost = 0;  // on a busy machine other ranks may cost more
  for (const auto& entry : report["delay_costs"])
    if (entry["block"] == "slow part") cost += entry["short_seconds"].get<double>() + entry["long_seconds"].get<double>();
  if (cost <= 0) good = false, std::fprintf(stderr, "FAILED: delays of the slow part cost nothing\n");
  return good ? 0 : 1;
}
