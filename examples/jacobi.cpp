// Jacobi iteration for the Laplace equation in horizontal strips, the experiment of the Performance Expert paper.
// Each rank relaxes its strip, sends its edge rows to its neighbours and receives theirs:
//
//     mpirun -n 4 ./jacobi                  compute, send, receive, in the order of the paper
//     mpirun -n 4 ./jacobi --corrected      follows the advice of the report: send the edges first, compute the
//                                           interior, then receive, then compute the edges
//
//     mpirun -n 4 ./jacobi --speed 2        with an accelerator twice as fast
//     mpirun -n 4 ./jacobi --even           with equal work for all ranks in every iteration
//
// WHYWAIT_WHATIF="block interior x2; balance steps" predicts the last two without running them. All variants
// compute the same numbers. The strip is relaxed on the host. A simulated accelerator adds the time of a
// production grid, more on some rank in some iterations. It sleeps instead of using a core, so that the example
// behaves the same on a laptop with two cores as on a cluster.
#include <whywait/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int columns = 32;
constexpr int rows = 512;  // of each strip
constexpr int snapshot_every = 10;
constexpr int up_tag = 1, down_tag = 2, snapshot_tag = 3;

struct strip {
  std::vector<double> now = std::vector<double>((rows + 2) * columns);
  std::vector<double> next = now;
  double* row(int r) { return &now[static_cast<std::size_t>(r) * columns]; }

  void relax(int first, int last) {
    for (int r = first; r < last; ++r)
      for (int c = 1; c < columns - 1; ++c) {
        const std::size_t at = static_cast<std::size_t>(r) * columns + static_cast<std::size_t>(c);
        next[at] = (now[at - columns] + now[at + columns] + now[at - 1] + now[at + 1]) / 4;
      }
  }
  void flip() {
    for (int r = 1; r <= rows; ++r) {
      std::size_t edge = static_cast<std::size_t>(r) * columns;
      next[edge] = now[edge];
      next[edge + columns - 1] = now[edge + columns - 1];
    }
    std::swap(now, next);
  }
};

struct neighbours {
  int rank = 0, ranks = 1;
  int above() const { return rank > 0 ? rank - 1 : MPI_PROC_NULL; }
  int below() const { return rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL; }
};

// Options of the simulated accelerator, to run faster or to share every iteration evenly.
double speed = 1;
bool even = false;

// Duration of the interior on the accelerator, 10 ms, and 20 ms more for every fourth (rank, iteration).
int microseconds_for(int rank, int iteration) {
  unsigned mix = static_cast<unsigned>(rank * 7919 + iteration * 104729 + 12345);
  mix = (mix ^ (mix >> 13)) * 0x5bd1e995u;
  return (mix >> 16) % 4 == 0 ? 30000 : 10000;
}

void accelerate(const neighbours& n, int iteration) {
  int all = 0;
  for (int r = 0; r < n.ranks; ++r) all += microseconds_for(r, iteration);
  const int mine = even ? all / n.ranks : microseconds_for(n.rank, iteration);
  std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(mine / speed)));
}

void interior(strip& s, const neighbours& n, int iteration) {
  WHYWAIT_REGION("interior");
  WHYWAIT_WORK((rows - 2) * columns);
  s.relax(2, rows);
  accelerate(n, iteration);
}

void edges(strip& s) {
  WHYWAIT_REGION("edges");
  s.relax(1, 2);
  s.relax(rows, rows + 1);
}

// Rank 0 periodically collects the strips, like a program that draws a picture.
void snapshot(strip& s, const neighbours& n) {
  constexpr int cells = rows * columns;
  if (n.rank != 0) {
    MPI_Send(s.row(1), cells, MPI_DOUBLE, 0, snapshot_tag, MPI_COMM_WORLD);
    return;
  }
  std::vector<double> picture(cells);
  for (int from = 1; from < n.ranks; ++from)
    MPI_Recv(picture.data(), cells, MPI_DOUBLE, from, snapshot_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void calculate_as_in_the_paper(strip& s, const neighbours& n, int iterations) {
  WHYWAIT_REGION("calculate");
  for (int i = 0; i < iterations; ++i) {
    interior(s, n, i);
    edges(s);
    s.flip();
    MPI_Send(s.row(1), columns, MPI_DOUBLE, n.above(), up_tag, MPI_COMM_WORLD);
    MPI_Send(s.row(rows), columns, MPI_DOUBLE, n.below(), down_tag, MPI_COMM_WORLD);
    MPI_Recv(s.row(0), columns, MPI_DOUBLE, n.above(), down_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(s.row(rows + 1), columns, MPI_DOUBLE, n.below(), up_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % snapshot_every == snapshot_every - 1) snapshot(s, n);
  }
}

void calculate_corrected(strip& s, const neighbours& n, int iterations) {
  WHYWAIT_REGION("calculate");
  for (int i = 0; i < iterations; ++i) {
    MPI_Send(s.row(1), columns, MPI_DOUBLE, n.above(), up_tag, MPI_COMM_WORLD);
    MPI_Send(s.row(rows), columns, MPI_DOUBLE, n.below(), down_tag, MPI_COMM_WORLD);
    interior(s, n, i);
    MPI_Recv(s.row(0), columns, MPI_DOUBLE, n.above(), down_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(s.row(rows + 1), columns, MPI_DOUBLE, n.below(), up_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    edges(s);
    s.flip();
    if (i % snapshot_every == snapshot_every - 1) snapshot(s, n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool corrected = false;
  int iterations = 100;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--corrected") == 0) corrected = true;
    else if (std::strcmp(argv[i], "--even") == 0) even = true;
    else if (std::strcmp(argv[i], "--speed") == 0 && i + 1 < argc) speed = std::max(0.1, std::atof(argv[++i]));
    else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) iterations = std::max(1, std::atoi(argv[++i]));
    else {
      std::fprintf(stderr, "usage: jacobi [--corrected] [--iterations N] [--speed F] [--even]\n");
      return 2;
    }
  }
  MPI_Init(&argc, &argv);
  neighbours n;
  MPI_Comm_rank(MPI_COMM_WORLD, &n.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n.ranks);

  strip s;
  if (n.rank == 0) std::fill(s.row(0), s.row(1), 1.0);  // the hot edge of the plate
  s.next = s.now;

  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (corrected) calculate_corrected(s, n, iterations);
  else calculate_as_in_the_paper(s, n, iterations);
  const double seconds = MPI_Wtime() - begin;

  double sum = 0, total = 0, longest = 0;
  for (int r = 1; r <= rows; ++r)
    for (int c = 0; c < columns; ++c) sum += s.row(r)[c];
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (n.rank == 0)
    std::printf("jacobi: %s %.3f s, mean temperature %.9f\n", corrected ? "corrected" : "original", longest,
                total / (n.ranks * rows * columns));
  MPI_Finalize();
  return 0;
}
