// ranks: 2
// not: openmpi
// with: observer
// beside: nothing
// environment: WHYWAIT_OUTPUT=sessions
// json sessions.json
// tries 3
//
// Sessions beside MPI_Init, before and after it: waits in their communicators are explained like others. Open MPI 4 has no
// sessions.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 4, late = 30;
MPI_Session session;
MPI_Group group;
MPI_Comm of_session = MPI_COMM_NULL;

void late_barrier(std::vector<stamp>& at) {
  for (int k = 0; k < rounds; ++k) {
    PMPI_Barrier(MPI_COMM_WORLD);
    innocent(3);
    if (rank == 1) guilty(late);
    stamp s;
    s.enter = now();
    MPI_Barrier(of_session);
    s.leave = now();
    at.push_back(s);
  }
}
void late_making(std::vector<stamp>& at) {
  for (int k = 0; k < rounds; ++k) {
    PMPI_Barrier(MPI_COMM_WORLD);
    innocent(3);
    if (rank == 1) guilty(late);
    stamp s;
    s.enter = now();
    MPI_Comm made;
    MPI_Comm_create_from_group(group, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    s.leave = now();
    at.push_back(s);
    MPI_Comm_free(&made);
  }
}
double for_rank_1(const stamps& all) {
  return until_last(all, [](int p, int q) { return p != 1 && q == 1; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Session before;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &before);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &of_session);

  std::vector<slept_case> cases;
  cases.push_back({"barrier", "MPI_Barrier", "wait_at_barrier", late_barrier, for_rank_1, "none"});
  cases.push_back({"making", "MPI_Comm_create_from_group", "wait_at_create", late_making, for_rank_1, "MPI_Comm_free"});
  run(cases, 0.95, 0.97, 2);

  MPI_Comm_free(&of_session);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  MPI_Finalize();
  MPI_Session_finalize(&before);
  return failures;
}
