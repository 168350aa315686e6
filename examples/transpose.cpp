// Every rank owns some rows of a matrix but normalises columns. With `--columns` each rank sums some of the columns. It
// needs the rows of all other ranks for that, so that the whole matrix is transposed over the network in every step.
// The report states that the loop `column_norms` runs (*, block) over `a`, which is distributed (block, *). With
// `--rows`, which follows the advice, every rank sums its own rows, and only the sums are sent. Without an argument
// both run, and the ratio of their times is printed.
//
//     mpirun -n 4 ./transpose [--columns | --rows] [--size 768] [--steps 12]

#include <whywait/data.hpp>
#include <whywait/record.hpp>

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct share {
  int first, last;
};

share share_of(int rank, int ranks, int n) {
  const int each = (n + ranks - 1) / ranks;
  return {std::min(rank * each, n), std::min((rank + 1) * each, n)};
}

class matrix {
 public:
  matrix(int size, int rank, int ranks)
      : n_(size),
        rank_(rank),
        ranks_(ranks),
        mine_(share_of(rank, ranks, size)),
        a_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
        norms_(static_cast<std::size_t>(size)),
        registered_("a", a_.data(), whywait::shape(size, size)) {
    for (int i = mine_.first; i < mine_.last; ++i)
      for (int j = 0; j < n_; ++j) at(i, j) = 1.0 + (i * 37 + j * 11) % 100;
  }

  // Works on own rows only and needs no neighbour.
  void smooth() {
    WHYWAIT_REGION("smooth");
    for (int i = mine_.first; i < mine_.last; ++i)
      for (int j = 1; j + 1 < n_; ++j) at(i, j) = 0.25 * at(i, j - 1) + 0.5 * at(i, j) + 0.25 * at(i, j + 1);
    const whywait::data_range rows = whywait::range(a_.data(), whywait::box({mine_.first, mine_.last}, {0, n_}));
    WHYWAIT_READS("smooth", rows);
    WHYWAIT_WRITES("smooth", rows);
  }

  void norms_by_columns() {
    const share columns = mine_;
    {
      WHYWAIT_REGION("transpose");
      std::vector<MPI_Request> requests;
      std::vector<MPI_Datatype> types;
      const auto part = [&](share rows, share of) {
        MPI_Datatype type;
        MPI_Type_vector(rows.last - rows.first, of.last - of.first, n_, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        types.push_back(type);
        return type;
      };
      for (int other = 0; other < ranks_; ++other) {
        if (other == rank_) continue;
        const share theirs = share_of(other, ranks_, n_);
        requests.emplace_back();
        MPI_Irecv(&at(theirs.first, columns.first), 1, part(theirs, columns), other, 0, MPI_COMM_WORLD, &requests.back());
        requests.emplace_back();
        MPI_Isend(&at(mine_.first, theirs.first), 1, part(mine_, theirs), other, 0, MPI_COMM_WORLD, &requests.back());
      }
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      for (MPI_Datatype& type : types) MPI_Type_free(&type);
    }
    {
      WHYWAIT_REGION("column_norms");
      for (int j = columns.first; j < columns.last; ++j) {
        double sum = 0;
        for (int i = 0; i < n_; ++i) sum += at(i, j) * at(i, j);
        norms_[static_cast<std::size_t>(j)] = sum;
      }
      const whywait::data_range all = whywait::range(a_.data(), whywait::box({0, n_}, {columns.first, columns.last}));
      WHYWAIT_ITERATIONS("column_norms", all);
      WHYWAIT_READS("column_norms", all);
    }
    std::vector<int> counts, begins;
    for (int other = 0; other < ranks_; ++other) {
      const share theirs = share_of(other, ranks_, n_);
      counts.push_back(theirs.last - theirs.first);
      begins.push_back(theirs.first);
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, norms_.data(), counts.data(), begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }

  void norms_by_rows() {
    {
      WHYWAIT_REGION("row_sums");
      std::fill(norms_.begin(), norms_.end(), 0.0);
      for (int i = mine_.first; i < mine_.last; ++i)
        for (int j = 0; j < n_; ++j) norms_[static_cast<std::size_t>(j)] += at(i, j) * at(i, j);
      const whywait::data_range rows = whywait::range(a_.data(), whywait::box({mine_.first, mine_.last}, {0, n_}));
      WHYWAIT_ITERATIONS("row_sums", rows);
      WHYWAIT_READS("row_sums", rows);
    }
    MPI_Allreduce(MPI_IN_PLACE, norms_.data(), n_, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }

  void scale() {
    WHYWAIT_REGION("scale");
    for (int i = mine_.first; i < mine_.last; ++i)
      for (int j = 0; j < n_; ++j) at(i, j) *= 10 / std::sqrt(norms_[static_cast<std::size_t>(j)]);
    const whywait::data_range rows = whywait::range(a_.data(), whywait::box({mine_.first, mine_.last}, {0, n_}));
    WHYWAIT_READS("scale", rows);
    WHYWAIT_WRITES("scale", rows);
  }

  double sum() const {
    double own = 0, all = 0;
    for (int i = mine_.first; i < mine_.last; ++i)
      for (int j = 0; j < n_; ++j)
        own += a_[static_cast<std::size_t>(i) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(j)];
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

 private:
  double& at(int i, int j) {
    return a_[static_cast<std::size_t>(i) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(j)];
  }

  int n_, rank_, ranks_;
  share mine_;
  std::vector<double> a_;  // the whole matrix on each rank; own rows and received elements are valid
  std::vector<double> norms_;
  whywait::registered_array registered_;
};

// Returns the seconds of the slowest rank.
double run(bool columns, int size, int steps, int rank, int ranks) {
  matrix a(size, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    a.smooth();
    columns ? a.norms_by_columns() : a.norms_by_rows();
    a.scale();
  }
  double took = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double sum = a.sum();
  if (rank == 0) std::printf("transpose: by %s %.3f s, sum %.6f\n", columns ? "columns" : "rows", took, sum);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, size = 768, steps = 12;
  bool columns = true, rows = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--columns") == 0) rows = false;
    if (std::strcmp(argv[i], "--rows") == 0) columns = false;
    if (std::strcmp(argv[i], "--size") == 0 && i + 1 < argc) size = std::atoi(argv[++i]);
    if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) steps = std::atoi(argv[++i]);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double slow = columns ? run(true, size, steps, rank, ranks) : 0;
  const double fast = rows ? run(false, size, steps, rank, ranks) : 0;
  if (rank == 0 && columns && rows) std::printf("transpose: following the advice makes it %.1f times faster\n", slow / fast);
  MPI_Finalize();
}
