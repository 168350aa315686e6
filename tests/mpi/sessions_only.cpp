// ranks: 2 4
// not: openmpi
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=sessions
// json sessions.json
// stderr ~ MPI_Session_finalize
// stderr ~ wait at finalize
// tries 3
//
// A program without MPI_Init: two sessions, each with a communicator of all processes. What rank 1 does before it comes late to
// both of them, and to the end of the last session, is the cause of the others' waits. Open MPI 4 has no sessions.
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

int main() {
  MPI_Session sessions[2];
  int failures = 0;
  for (MPI_Session& each : sessions) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &each);
  for (MPI_Session& each : sessions) {
    MPI_Group group;
    MPI_Comm world;
    int rank = 0, size = 0;
    MPI_Group_from_session_pset(each, "mpi://WORLD", &group);
    if (MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world) != MPI_SUCCESS) return 2;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    const bool second = &each == &sessions[1];
    {
      WHYWAIT_REGION("part");
      for (int k = 0; k < rounds; ++k) {
        int one = 1, all = 0;
        if (rank == 1) guilty(late);
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world);
        failures += all == size ? 0 : 1;
      }
    }
    if (second) {
      const whywait::result r = whywait::mpi::explain(world);
      const double truth = 2 * rounds * late * 1e-3 * (size - 1), found = r.waiting_at("MPI_Allreduce");
      const bool right = found >= 0.9 * truth && found <= 1.3 * truth && r.cause_of("MPI_Allreduce") == "guilty";
      if (rank == 0 && !right) {
        std::printf("%s %.3f s of %.3f s because of %s\n", r.reason.c_str(), found, truth, r.cause_of("MPI_Allreduce").c_str());
        ++failures;
      }
      if (rank == 1) guilty(late);
    }
    MPI_Comm_free(&world);
    MPI_Group_free(&group);
  }
  for (MPI_Session& each : sessions) MPI_Session_finalize(&each);
  return failures;
}
