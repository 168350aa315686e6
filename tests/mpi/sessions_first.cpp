// ranks: 2
// not: openmpi
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=sessions
// json sessions.json
// stderr ~ MPI_Finalize
// stderr ~ wait at finalize
// stderr !~ switched off
// tries 3
//
// MPI_Init while a session already records: one recording up to MPI_Finalize, in which communicators of both kinds are known, and
// the end of the session is a call like others. Open MPI 4 has no sessions.
#include <whywait/mpi.hpp>

#include <mpi.h>

#include <cstdio>
#include <ctime>

namespace {

constexpr int rounds = 4, late = 40;

void guilty(int ms) {
  WHYWAIT_REGION("guilty");
  timespec t{0, ms * 1000000L};
  nanosleep(&t, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm of_session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &of_session) != MPI_SUCCESS) return 2;
  int rank = 0, failures = 0;
  MPI_Comm_rank(of_session, &rank);
  MPI_Init(&argc, &argv);
  for (int k = 0; k < rounds; ++k) {
    int one = 1, all = 0;
    if (rank == 1) guilty(late);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, of_session);
    failures += all == 2 ? 0 : 1;
    if (rank == 1) guilty(late);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const whywait::result r = whywait::mpi::explain(MPI_COMM_WORLD);
  for (const char* call : {"MPI_Allreduce", "MPI_Barrier"}) {
    const double truth = rounds * late * 1e-3, found = r.waiting_at(call);
    const bool right = found >= 0.9 * truth && found <= 1.3 * truth && r.cause_of(call) == "guilty";
    if (rank != 0 || right) continue;
    std::printf("%s: %s %.3f s of %.3f s because of %s\n", call, r.reason.c_str(), found, truth, r.cause_of(call).c_str());
    ++failures;
  }
  MPI_Comm_free(&of_session);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  if (rank == 1) guilty(late);
  MPI_Finalize();
  return failures;
}
