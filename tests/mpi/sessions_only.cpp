// ranks: 1 2
// not: openmpi
// with: observer
// environment: WHYWAIT_OUTPUT=sessions
// stderr ~ this program uses sessions of MPI without MPI_Init, which is not supported: no MPI call was recorded
// stderr !~ rank time
// no file sessions.json
//
// A program that never calls MPI_Init runs as it would without whywait, which says in one line that it recorded nothing. Open
// MPI 4 has no sessions.
#include <whywait/mpi.hpp>

#include <mpi.h>

int main() {
  MPI_Session sessions[2];
  int sum = 0;
  for (MPI_Session& each : sessions) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &each);
  for (MPI_Session& each : sessions) {
    MPI_Group group;
    MPI_Comm world;
    MPI_Group_from_session_pset(each, "mpi://WORLD", &group);
    if (MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world) != MPI_SUCCESS) return 2;
    WHYWAIT_REGION("part");
    int one = 1, all = 0, size = 0;
    MPI_Request request;
    MPI_Comm_size(world, &size);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world);
    MPI_Ibarrier(world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += all == size ? 1 : 0;
    MPI_Comm_free(&world);
    MPI_Group_free(&group);
  }
  for (MPI_Session& each : sessions) MPI_Session_finalize(&each);
  return sum == 2 ? 0 : 1;
}
