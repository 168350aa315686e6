// ranks: 2
// timeout: 120
// beside: nothing
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=visits WHYWAIT_REPORT=none
//
// Halo exchanges with known numbers of visits, because their work is sleeping. A rank that has gone on to its next step
// has no more visits than its neighbours, a rank that really runs a block twice as often has, and code between
// different lines on different ranks is the same code. All numbers are those of the JSON file. At the end visits of a rank are
// slower for a known reason (tests/threads/slower.hpp).
#include "../threads/slower.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

namespace {

int rank, ranks, failures;

void sleep_us(int us) {
  timespec t{us / 1000000, (us % 1000000) * 1000L};
  nanosleep(&t, nullptr);
}

void expect(bool good, const char* what, double value, double bound) {
  std::fprintf(stderr, "%s%-52s %10.4f (%.4f)\n", good ? "  " : "FAILED: ", what, value, bound);
  if (!good) ++failures;
}

/// One step: small messages to both neighbours in a line, the interior, MPI_Waitall.
template <class Interior>
void step(Interior&& interior) {
  MPI_Request requests[4];
  int in[2], count = 0;
  for (int side = -1; side <= 1; side += 2) {
    const int peer = rank + side;
    if (peer < 0 || peer >= ranks) continue;
    MPI_Irecv(&in[side > 0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[count++]);
  }
  interior();
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

bool slow() { return rank == ranks - 1; }

/// Equally many visits on all ranks; the last rank takes twice as long. Every eighth step ends with all ranks if `all`.
void same_visits(whywait::site& block, bool all) {
  for (int k = 0; k < 40; ++k) {
    step([&] {
      whywait::region scope(block);
      sleep_us(slow() ? 6000 : 3000);
    });
    if (all && k % 8 == 7) MPI_Allreduce(MPI_IN_PLACE, &k, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
}

/// The last rank has twice as many visits of the same length.
void twice_the_visits(whywait::site& block) {
  for (int k = 0; k < 40; ++k) {
    step([&] {
      for (int v = 0; v < (slow() ? 4 : 2); ++v) {
        whywait::region scope(block);
        sleep_us(2000);
      }
    });
  }
}

/// Without marks.
void unmarked() {
  for (int k = 0; k < 40; ++k) step([] { sleep_us(slow() ? 6000 : 3000); });
}

/// Without marks, and the code begins at other lines.
void other_lines() {
  for (int k = 0; k < 30; ++k) {
    int value = k;
    if (slow()) {
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    sleep_us(slow() ? 6000 : 3000);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
}

struct sums {
  double seconds = 0, visits = 0, all = 0, more = 0, made = 0;
};

/// Sums over the waits of one phase: a region, or "/" and an MPI call outside of regions. `block`: a part of its name.
sums of(const nlohmann::json& report, const std::string& phase, const std::string& block) {
  sums s;
  for (const auto& wait : report["waits"]) {
    const auto& at = wait["operation"];
    if ((phase[0] == '/' ? at["region"].get<std::string>() + "/" + at["call"].get<std::string>()
                         : at["region"].get<std::string>()) != phase)
      continue;
    s.all += wait["seconds"].get<double>();
    for (const auto& term : wait["residual"]) {
      const double seconds = term["seconds"].get<double>(), visits = term["visits_seconds"].get<double>();
      if (std::fabs(seconds - visits - term["speed_seconds"].get<double>()) > 1e-8) expect(false, "visits + speed", visits, 0);
      if (term["block"].get<std::string>().find(block) == std::string::npos) continue;
      s.seconds += seconds;
      s.visits += std::fabs(visits);
      s.more += std::fabs(term["causer_visits"].get<double>() - term["waiter_visits"].get<double>());
      s.made += term["causer_visits"].get<double>();
    }
  }
  return s;
}

void no_more_visits(const nlohmann::json& report, const char* phase, const char* block) {
  const sums s = of(report, phase, block);
  std::fprintf(stderr, "%s: %.3f s of waiting, %s %.3f s, %.0f visits\n", phase, s.all, block, s.seconds, s.made);
  expect(s.all > 0.03, "waiting", s.all, 0.03);
  expect(s.seconds > 0.8 * s.all, "explained by the interior", s.seconds, 0.8 * s.all);
  expect(s.visits <= 0.01 * s.all, "because of more visits", s.visits, 0.01 * s.all);
  expect(s.more == 0, "more visits", s.more, 0);
}

/// The second rank is slow because of a competitor on its processor, because it touches memory for the first time, and because
/// it executes twice the instructions.
void slower_for_a_reason(slower::disturber& other) {
  if (!slower::pin(rank)) {
    if (rank == 0) std::fprintf(stderr, "slower: this rank may use one processor only; skipped\n");
    return;
  }
  std::uint64_t rounds = slower::rounds_of(0.010);
  MPI_Bcast(&rounds, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  slower::side mine(rank, other, rounds);
  slower::accounts kernel[3], *at = kernel;
  const auto each = [&at](auto step) {
    *at++ = slower::repeat(
        10, [] { MPI_Barrier(MPI_COMM_WORLD); }, step);
  };
  MPI_Barrier(MPI_COMM_WORLD);
  mine.let_compete(true);
  each([&] { mine.with_competitor(); });
  mine.let_compete(false);
  each([&] { mine.touch(); });
  each([&] { mine.instructions(); });
  slower::pin(-1);
  const whywait::result found = whywait::report();
  if (rank == 1) MPI_Send(kernel, sizeof kernel, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  slower::accounts theirs[3];
  MPI_Recv(theirs, sizeof theirs, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  slower::check(found, "competitor", slower::reason::preempted, theirs[0] - kernel[0]);
  slower::check(found, "first touch", slower::reason::kernel, theirs[1] - kernel[1]);
  slower::check(found, "instructions", slower::reason::instructions, theirs[2] - kernel[2]);
  failures += slower::failures;
}

}  // namespace

int main(int argc, char** argv) {
  slower::disturber other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static whywait::site interior(whywait::core::site_kind::region, "interior");
  const auto phase = [](const char* name, auto&& play) {
    MPI_Barrier(MPI_COMM_WORLD);
    whywait::region scope(name);
    play();
  };
  phase("marked", [] { same_visits(interior, false); });
  phase("with_all", [] { same_visits(interior, true); });
  phase("twice", [] { twice_the_visits(interior); });
  MPI_Barrier(MPI_COMM_WORLD);
  unmarked();
  MPI_Barrier(MPI_COMM_WORLD);
  other_lines();
  MPI_Barrier(MPI_COMM_WORLD);
  slower_for_a_reason(other);
  MPI_Finalize();
  if (rank != 0) return 0;

  std::ifstream file("visits.json");
  if (!file) return std::fprintf(stderr, "FAILED: visits.json was not written\n"), 1;
  const nlohmann::json report = nlohmann::json::parse(file);
  no_more_visits(report, "marked", "interior");
  no_more_visits(report, "with_all", "interior");
  no_more_visits(report, "/MPI_Waitall", "and MPI_Waitall");  // ranks with two neighbours have more other code
  no_more_visits(report, "/MPI_Allreduce", "between");
  const sums s = of(report, "twice", "interior");
  expect(s.seconds > 0.8 * s.all, "twice: explained by the interior", s.seconds, 0.8 * s.all);
  expect(s.visits >= 0.75 * s.seconds, "twice: because of more visits", s.visits, 0.75 * s.seconds);  // sleeps differ
  expect(std::fabs(2 * s.more - s.made) <= 0.02 * s.made, "twice: half of the visits are more", 2 * s.more, s.made);
  return failures == 0 ? 0 : 1;
}
