// ranks: 1 2
// not: openmpi
// with: observer
// environment: WHYWAIT_OUTPUT=sessions
// stderr ~ this program uses sessions of MPI without MPI_Init and made no communicator of all processes
// stderr !~ rank time
// no file sessions.json
//
// A program without MPI_Init whose processes never make a communicator together, or that is a single process, runs as it would
// without whywait, which says in one line that it recorded nothing. Open MPI 4 has no sessions.
#include <whywait/mpi.hpp>

#include <mpi.h>

namespace {

// What MPICH 4.0.2 bears without a transport: MPI_Wait, not MPI_Test.
int send_to_self(MPI_Comm self) {
  int one = 1, received = 0;
  MPI_Request requests[2];
  MPI_Irecv(&received, 1, MPI_INT, 0, 0, self, &requests[0]);
  MPI_Isend(&one, 1, MPI_INT, 0, 0, self, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE);
  return received;
}

}  // namespace

int main() {
  MPI_Session session;
  MPI_Group group, world;
  MPI_Comm self, all_processes;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  if (MPI_Comm_create_from_group(group, "one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self) != MPI_SUCCESS) return 2;
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, self);
  int received = send_to_self(self), size = 0;
  MPI_Comm_free(&self);
  MPI_Group_free(&group);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_size(world, &size);
  if (size == 1) {
    if (MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all_processes) != MPI_SUCCESS) return 2;
    received *= send_to_self(all_processes);
    MPI_Comm_free(&all_processes);
  }
  MPI_Group_free(&world);
  MPI_Session_finalize(&session);
  return all == 1 && received == 1 ? 0 : 1;
}
