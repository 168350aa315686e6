// Programs with known truth. Their work takes time but no processor, so that they can actually run with faster code,
// balanced load or more ranks. whatif.py compares the answers with such runs. This test only requires an answer, or a
// refusal because the models disagree, as on a very busy machine.
//
//   whatif sweep|bulk|ring|agree|tasks [--steps N] [--speed F] [--imbalance X] [--noise X] [--even] [--strong R]
//          [--operation SECONDS]
//
// with: observer
// ranks: 3 4
// arguments: ring --steps 12
// environment: WHYWAIT_OUTPUT=out "WHYWAIT_WHATIF=block compute x2; balance"
// stdout ~ ^done$
// stderr ~ ^    what if  \(the run took \d
// stderr ~ ^      block compute x2: \d.* \(\d.* to \d.*\), saves \d[^\n]*\n        by the clocks of the critical path(; replay is [+-]\d+\.\d % from that; rests|, not checked by replay: what)|^      block compute x2: no answer: (the models disagree by \d{2,} %$|only \d|the ranks worked on shared)
// stderr ~ ^        by replay; rests on the \d+\.\d % of the run that is understood$|^      balance: no answer: (what is understood of the|only \d|the ranks worked on shared|the models disagree by \d{2,} %)
// file out.json ~ "WHYWAIT_WHATIF"
// file out.json ~ "question": ?"block compute x2"
// json out.json
#include <whywait/record.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

struct program {
  int rank = 0, ranks = 1;
  int steps = 25;
  double speed = 1, imbalance = 0, noise = 0;
  int strong = 0;  // the total work is that of this number of ranks; 0 for separate work per rank
  bool even = false;
  double debt = 0;  // excess of the sleeping time so far, in seconds

  /// Takes `seconds` of time without using a processor, exactly on average.
  void work(double seconds) {
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    if (seconds > debt) std::this_thread::sleep_for(std::chrono::duration<double>(seconds - debt));
    debt += std::chrono::duration<double>(clock::now() - begin).count() - seconds;
  }

  /// From 1 + imbalance on rank 0 down to 1 - imbalance on the last.
  double load(int r) const { return 1 + imbalance * (ranks > 1 ? 1 - 2.0 * r / (ranks - 1) : 0); }

  /// Between 1 - noise and 1 + noise, the same in every run.
  double chance(int r, int step) const {
    unsigned mix = static_cast<unsigned>(r * 7919 + step * 104729 + 12345);
    mix = (mix ^ (mix >> 13)) * 0x5bd1e995u;
    mix = (mix ^ (mix >> 15)) * 0x27d4eb2du;
    return 1 + noise * (static_cast<double>((mix >> 8) & 0xffff) / 32767.5 - 1);
  }

  void compute(double seconds, int step) {
    WHYWAIT_REGION("compute");
    double factor = load(rank) * chance(rank, step);
    if (even) {
      factor = 0;
      for (int r = 0; r < ranks; ++r) factor += load(r) * chance(r, step) / ranks;
    }
    work(seconds * factor / speed * (strong > 0 ? static_cast<double>(strong) / ranks : 1));
  }
  void prepare(double seconds) {
    WHYWAIT_REGION("prepare");
    if (rank == 0) work(seconds);
  }
};

/// A pipeline in which every rank needs the result of the previous one for each of six tiles.
void sweep(program& p) {
  for (int i = 0; i < p.steps; ++i) {
    for (int tile = 0; tile < 6; ++tile) {
      double edge[8] = {};
      if (p.rank > 0) MPI_Recv(edge, 8, MPI_DOUBLE, p.rank - 1, tile, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      p.compute(0.015, i * 6 + tile);
      if (p.rank + 1 < p.ranks) MPI_Send(edge, 8, MPI_DOUBLE, p.rank + 1, tile, MPI_COMM_WORLD);
    }
    double change = 1, most = 0;
    MPI_Allreduce(&change, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
}

/// Steps in bulk. Rank 0 prepares alone and broadcasts, all compute, and then they reduce.
void bulk(program& p) {
  for (int i = 0; i < p.steps; ++i) {
    double settings[4] = {}, sum = 0;
    p.prepare(0.008);
    MPI_Bcast(settings, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    p.compute(0.04, i);
    MPI_Allreduce(settings, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

/// Nonblocking exchange with both neighbours in a ring; rank 0 periodically collects from all.
void ring(program& p) {
  const int left = (p.rank + p.ranks - 1) % p.ranks, right = (p.rank + 1) % p.ranks;
  for (int i = 0; i < p.steps; ++i) {
    double in[2] = {}, out[2] = {};
    MPI_Request r[4];
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&out[0], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(&out[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[3]);
    p.compute(0.04, i);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    if (i % 10 != 9) continue;
    std::vector<double> picture(20000);
    if (p.rank != 0) MPI_Send(picture.data(), 20000, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    for (int from = 1; p.rank == 0 && from < p.ranks; ++from)
      MPI_Recv(picture.data(), 20000, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

double operation_seconds = 0.004;

void slow_sum(void* in, void* out, int* count, MPI_Datatype*) {
  if (operation_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(operation_seconds));
  for (int i = 0; i < *count; ++i) static_cast<double*>(out)[i] += static_cast<double*>(in)[i];
}

/// All compute and then call a reduction that takes time inside MPI, like a slow network.
void agree(program& p) {
  MPI_Op sum = MPI_OP_NULL;
  MPI_Op_create(slow_sum, 1, &sum);
  for (int i = 0; i < p.steps; ++i) {
    double mine = 1, all = 0;
    p.compute(0.03, i);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, sum, MPI_COMM_WORLD);
  }
  MPI_Op_free(&sum);
}

/// Rank 0 gives the next task to the rank that requests one first, which what-if questions do not support.
void tasks(program& p) {
  int task = p.steps * (p.ranks - 1), none = -1;
  if (p.rank == 0) {
    for (int ends = 0; ends < p.ranks - 1;) {
      MPI_Status s;
      int done = 0;
      MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s);
      ends += task == 0;
      MPI_Send(task == 0 ? &none : &task, 1, MPI_INT, s.MPI_SOURCE, 2, MPI_COMM_WORLD);
      task -= task > 0;
    }
    return;
  }
  for (int mine = 0;;) {
    MPI_Send(&mine, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&mine, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (mine < 0) return;
    p.compute(0.01, mine);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program p;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
  const std::string shape = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    const double value = i + 1 < argc ? std::atof(argv[i + 1]) : 0;
    if (option == "--even") p.even = true;
    else if (option == "--steps") p.steps = static_cast<int>(value), ++i;
    else if (option == "--speed") p.speed = value, ++i;
    else if (option == "--imbalance") p.imbalance = value, ++i;
    else if (option == "--noise") p.noise = value, ++i;
    else if (option == "--operation") operation_seconds = value, ++i;
    else if (option == "--strong") p.strong = static_cast<int>(value), ++i;
    else MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (shape == "sweep") sweep(p);
  else if (shape == "bulk") bulk(p);
  else if (shape == "ring") ring(p);
  else if (shape == "agree") agree(p);
  else if (shape == "tasks") tasks(p);
  else MPI_Abort(MPI_COMM_WORLD, 2);
  if (p.rank == 0) std::puts("done");
  MPI_Finalize();
  return 0;
}
