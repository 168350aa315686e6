// ranks: 1 2
// not: openmpi
// with: observer
// environment: WHYWAIT_OUTPUT=sessions
// stderr ~ this program uses sessions of MPI without MPI_Init and made no communicator of all processes
// stderr !~ rank time
// no file sessions.json
//
// A program without MPI_Init whose processes never make a communicator together runs as it would without whywait, which says in
// one line that it recorded nothing. Open MPI 4 has no sessions.
#include <whywait/mpi.hpp>

#include <mpi.h>

int main() {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm self;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  if (MPI_Comm_create_from_group(group, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self) != MPI_SUCCESS) return 2;
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, self);
  MPI_Comm_free(&self);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return all == 1 ? 0 : 1;
}
