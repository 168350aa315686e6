// ranks: 1 2 4
// ranks of mpich: 1 2
// timeout: 100
// with: observer comes_last.cpp
// environment: WHYWAIT_OUTPUT=often
// json often.json
// file often.json ~ "epochs": 26\b
// stderr ~ 0 events dropped, 0\s+messages\s+unmatched
//
// A random program that requests an explanation after each of 25 rounds while operations are pending. Messages are sent
// or posted in one round and met, or only waited for, in a later one, in every way that MPI has. Nothing may be lost,
// the results must grow, and the time that a rank slept must be found.
#include "parts/comes_last.hpp"

#include <whywait/mpi.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 25;
constexpr unsigned seed = 20261121;
constexpr double nap_seconds = 0.010;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct message {
  int source, destination, tag, sent, posted, waited;  // the round of each step
  int how;  // of the sender: 0 Send, 1 Isend, 2 Issend, 3 Send_init
  bool wildcard, probed;
};

// The same on all ranks. A call that may block waits only for operations posted in an earlier round.
std::vector<message> plan(int ranks) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
  std::vector<message> all;
  for (int k = 0; k < 500; ++k) {
    message m{};
    m.source = pick(0, ranks - 1);
    m.destination = pick(0, ranks - 1);
    m.tag = 10 + k;
    m.sent = pick(0, rounds - 1);
    m.posted = std::min(rounds - 1, std::max(0, m.sent + pick(-3, 3)));
    m.waited = std::min(rounds, std::max(m.sent, m.posted) + pick(1, 3));
    m.how = pick(0, 3);
    if (m.how == 0 && m.source == m.destination) m.how = 1;  // a message to the own rank need not be buffered
    m.wildcard = pick(0, 2) == 0;
    m.probed = m.posted > m.sent && pick(0, 2) == 0;
    all.push_back(m);
  }
  for (int k = 0; k < 300; ++k) {  // one channel for each pair, in order
    message m{};
    m.source = pick(0, ranks - 1);
    m.destination = pick(0, ranks - 1);
    m.tag = 1;
    m.sent = k * rounds / 300;
    m.posted = std::min(rounds - 1, m.sent + (k / 30 % 3));
    for (const message& before : all)  // the first posted receive gets the first message
      if (before.tag == 1 && before.source == m.source && before.destination == m.destination)
        m.posted = std::max(m.posted, before.posted);
    m.waited = std::min(rounds, std::max(m.sent, m.posted) + pick(1, 3));
    m.how = m.source == m.destination ? 1 : pick(0, 1);
    all.push_back(m);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  double begin = now();  // of the first rank
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) std::printf("seed %u\n", seed);
  const std::vector<message> all = plan(ranks);
  std::vector<MPI_Request> sends(all.size(), MPI_REQUEST_NULL), receives(all.size(), MPI_REQUEST_NULL);
  std::vector<int> out(all.size()), in(all.size(), -1);
  std::vector<MPI_Message> probed(all.size(), MPI_MESSAGE_NULL);
  MPI_Comm turned;  // all ranks, in reverse order
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &turned);
  double before = 0, seconds = 0, naps = 0;
  PMPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  comes_last order;
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const message& m = all[k];
      if (m.posted == round && m.destination == rank) {
        if (m.probed) MPI_Mprobe(m.source, m.tag, MPI_COMM_WORLD, &probed[k], MPI_STATUS_IGNORE);
        else MPI_Irecv(&in[k], 1, MPI_INT, m.wildcard ? MPI_ANY_SOURCE : m.source, m.tag, MPI_COMM_WORLD, &receives[k]);
      }
      if (m.sent == round && m.source == rank) {
        out[k] = static_cast<int>(k);
        if (m.how == 0) MPI_Send(&out[k], 1, MPI_INT, m.destination, m.tag, MPI_COMM_WORLD);
        if (m.how == 1) MPI_Isend(&out[k], 1, MPI_INT, m.destination, m.tag, MPI_COMM_WORLD, &sends[k]);
        if (m.how == 2) MPI_Issend(&out[k], 1, MPI_INT, m.destination, m.tag, MPI_COMM_WORLD, &sends[k]);
        if (m.how == 3) {
          MPI_Send_init(&out[k], 1, MPI_INT, m.destination, m.tag, MPI_COMM_WORLD, &sends[k]);
          MPI_Start(&sends[k]);
        }
      }
    }
    std::vector<MPI_Request> due;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const message& m = all[k];
      if (m.waited != round) continue;
      if (m.destination == rank && m.probed) MPI_Imrecv(&in[k], 1, MPI_INT, &probed[k], &receives[k]);
      if (m.destination == rank) due.push_back(receives[k]);
      if (m.source == rank && m.how == 3) MPI_Wait(&sends[k], MPI_STATUS_IGNORE), MPI_Request_free(&sends[k]);
      else if (m.source == rank && sends[k] != MPI_REQUEST_NULL) due.push_back(sends[k]);
    }
    const int count = static_cast<int>(due.size());
    if (round % 3 == 0) {
      MPI_Waitall(count, due.data(), MPI_STATUSES_IGNORE);
    } else if (round % 3 == 1) {
      for (int i = 0, which = 0; i < count; ++i) MPI_Waitany(count, due.data(), &which, MPI_STATUS_IGNORE);
    } else {
      for (MPI_Request& r : due) MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].waited == round && all[k].destination == rank && in[k] != static_cast<int>(k)) ++wrong;
    if (round == rounds) break;

    if (rank == round % ranks) {
      order.after_all();
      WHYWAIT_REGION("nap");
      const timespec t{0, static_cast<long>(nap_seconds * 1e9)};
      nanosleep(&t, nullptr);
    } else {
      order.waits_for(round % ranks);
    }
    const whywait::result so_far = whywait::mpi::explain(round % 2 == 0 ? MPI_COMM_WORLD : turned);
    // every rank has the same result
    const double own[3] = {so_far.waiting_seconds, so_far.rank_seconds, static_cast<double>(so_far.waits.size())};
    double least[3], most[3];
    PMPI_Allreduce(own, least, 3, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    PMPI_Allreduce(own, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (!so_far || !std::equal(least, least + 3, most)) {
      std::printf("round %d: the results of the ranks differ\n", round);
      ++wrong;
    }
    if (rank != 0) continue;
    const double wall = now() - begin;
    naps = 0;
    for (const auto& wait : so_far.waits)
      for (const auto& cause : wait.causes)
        if (cause.block == "nap" && cause.seconds > 0) naps += cause.seconds;
    const bool grows = so_far.waiting_seconds >= before && so_far.seconds > seconds && so_far.seconds <= wall;
    // except for three, because a rank may be descheduled between its announcement and the wait, and be last
    const bool found = naps >= nap_seconds * (round + 1 - 3) * (ranks - 1);
    if (!grows || !found || so_far.clock_violations != 0 || !so_far.warnings.empty()) {
      std::printf("round %d: waited %g s after %g s, run %g s after %g s, naps %g s, %d violations, %s\n", round,
                  so_far.waiting_seconds, before, so_far.seconds, seconds, naps, static_cast<int>(so_far.clock_violations),
                  so_far.warnings.empty() ? "" : so_far.warnings[0].c_str());
      ++wrong;
    }
    before = so_far.waiting_seconds;
    seconds = so_far.seconds;
  }
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (ranks > 1 && (whywait::mpi::explain(half) || whywait::mpi::explain(MPI_COMM_SELF))) {
    std::printf("a communicator of some ranks was not refused\n");
    ++wrong;
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
  if (wrong != 0) std::printf("%d things are wrong on rank %d\n", wrong, rank);
  MPI_Finalize();
  return wrong != 0;
}
