#include "solver.hpp"

#include <whywait/record.hpp>
#include <whywait/rules.hpp>

#include <chrono>
#include <thread>

namespace solver {
namespace {

// The preconditioner takes longer on rank 0. Users of the library could not see this defect from outside.
void precondition(std::vector<double>& unknowns, int rank) {
  WHYWAIT_REGION("solver/precondition");
  for (double& x : unknowns) {
    WHYWAIT_BLOCK("solver/row");
    x *= 0.5;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(rank == 0 ? 5000 : 1000));
}

void apply(std::vector<double>& unknowns) {
  WHYWAIT_REGION("solver/apply");
  for (double& x : unknowns) x += 1e-9;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// An event of the library, in addition to its regions.
whywait::event<double, double, whywait::seconds> restarted("solver_restart", {"residual", "tolerance", "lost"});

// Rules of the library. A composite event, built in C++, sums all restarts of one tolerance; the problem is text.
void add_rules() {
  using namespace whywait;
  rules::add(
      rules::own_event("solver_restart").with("residual", "number").with("tolerance", "number").with("lost", "seconds").text() +
          rules::composite("solver_restarts")
              .all("solver_restart", "r")
              .when("r.residual > r.tolerance")
              .by("r.tolerance")
              .with("tolerance", "r.tolerance")
              .with("restarts", "count() / distinct(r.rank)")
              .with("reached", "least(r.residual)")
              .with("lost", "sum(r.lost)")
              .with("ranks", "distinct(r.rank)")
              .text(),
      "solver library");
  rules::add(R"rules(
declare problem for solver_restarts
  when restarts >= 10
  parameters (
    name = "solver_restarts",
    description = "solver restarted {restarts} times because tolerance was unreachable: {tolerance} was asked for,
                   {reached} reached.",
    advice = "ask solver::solve for a tolerance of {2 * reached} or more",
    duration = lost,
    saving = lost / ranks );  # wall time: all ranks restart together
)rules",
             "solver library");
}

void restart(double residual, double tolerance) {
  WHYWAIT_REGION("solver/restart");
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  restarted(residual, tolerance, {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
}

}  // namespace

int solve(std::vector<double>& unknowns, MPI_Comm comm, double tolerance) {
  WHYWAIT_REGION("solver/solve");
  static const bool rules_added = (add_rules(), true);
  (void)rules_added;
  int rank;
  MPI_Comm_rank(comm, &rank);
  constexpr int most_restarts = 40;
  int iterations = 0, restarts = 0;
  double before = 2;
  for (double error = 1; error > tolerance && restarts < most_restarts; ++iterations) {
    precondition(unknowns, rank);
    apply(unknowns);
    double mine = unknowns.front();
    MPI_Allreduce(&mine, &error, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (error > tolerance && error > 0.9 * before) {  // no convergence
      restart(error, tolerance);
      ++restarts;
    }
    before = error;
  }
  return iterations;
}

}  // namespace solver
