// ranks: 2 4
// ranks of mpich: 2
// timeout: 120
// beside: nothing
// with: observer
// not: openmpi
// environment: WHYWAIT_OUTPUT=large
// json large.json
// tries 3
//
// Calls with large counts (MPI_Send_c, not in Open MPI 4) are recorded like the plain ones, and match them where a program
// mixes both on one channel. Odd ranks send late; rank 1 comes late to collective calls.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 4, late = 30;

bool odd() { return rank % 2 == 1; }
int partner() { return rank ^ 1; }

// Odd ranks send late with `send`, even ones `take` what they send. Both then meet, so that rounds do not overlap.
std::function<void(std::vector<stamp>&)> late_send(std::function<void(int*)> send, std::function<void(int*)> take) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      int values[2] = {k, k + 1}, got[2] = {-1, -1};
      innocent(3);
      stamp s;
      if (odd()) guilty(late);
      s.enter = now();
      if (odd()) send(values);
      else take(got);
      s.leave = now();
      if (!odd() && (got[0] != k || got[1] != k + 1)) {
        std::printf("FAILED: received %d and %d\n", got[0], got[1]);
        ++failures;
      }
      at.push_back(s);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  };
}
double for_odd(const stamps& all) {
  return until_last(all, [](int p, int q) { return p % 2 == 0 && q == p + 1; });
}

std::function<void(std::vector<stamp>&)> late_call(std::function<void()> call) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      call();
      s.leave = now();
      at.push_back(s);
    }
  };
}
double for_rank_1(const stamps& all) {
  return until_last(all, [](int p, int q) { return p != 1 && q == 1; });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Status* const ignored = MPI_STATUS_IGNORE;
  std::vector<slept_case> cases;

  cases.push_back({"recv_c", "MPI_Recv_c", "late_sender",
                   late_send(
                       [&](int* v) {
                         MPI_Send(v, 1, MPI_INT, partner(), 1, world);
                         MPI_Send_c(v + 1, 1, MPI_INT, partner(), 1, world);
                       },
                       [&](int* v) {
                         MPI_Recv_c(v, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, ignored);
                         MPI_Recv(v + 1, 1, MPI_INT, partner(), MPI_ANY_TAG, world, ignored);
                       }),
                   for_odd});
  cases.push_back({"irecv_c", "MPI_Waitall", "late_sender",
                   late_send(
                       [&](int* v) {
                         MPI_Request request;
                         MPI_Isend_c(v, 1, MPI_INT, partner(), 1, world, &request);
                         MPI_Wait(&request, ignored);
                         MPI_Ssend_c(v + 1, 1, MPI_INT, partner(), 1, world);
                       },
                       [&](int* v) {
                         MPI_Request requests[2];
                         MPI_Irecv(v, 1, MPI_INT, partner(), 1, world, &requests[0]);
                         MPI_Irecv_c(v + 1, 1, MPI_INT, partner(), 1, world, &requests[1]);
                         MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
                       }),
                   for_odd});
  cases.push_back({"sendrecv_c", "MPI_Sendrecv_c", "late_sender",
                   late_send(
                       [&](int* v) {
                         int unused = 0;
                         MPI_Sendrecv(v, 2, MPI_INT, partner(), 1, &unused, 1, MPI_INT, partner(), 1, world, ignored);
                       },
                       [&](int* v) {
                         int unused = 0;
                         MPI_Sendrecv_c(&unused, 1, MPI_INT, partner(), 1, v, 2, MPI_INT, partner(), 1, world, ignored);
                       }),
                   for_odd});
  cases.push_back({"recv_init_c", "MPI_Wait", "late_sender",
                   late_send([&](int* v) { MPI_Send_c(v, 2, MPI_INT, partner(), 1, world); },
                             [&](int* v) {
                               MPI_Request request;
                               MPI_Recv_init_c(v, 2, MPI_INT, partner(), 1, world, &request);
                               MPI_Start(&request);
                               MPI_Wait(&request, ignored);
                               MPI_Request_free(&request);
                             }),
                   for_odd});
  static int in[8], out[8];
  cases.push_back({"bcast_c", "MPI_Bcast_c", "late_broadcast", late_call([] {
                     if (rank == 1) MPI_Bcast(in, 1, MPI_INT, 1, MPI_COMM_WORLD);
                     else MPI_Bcast_c(in, 1, MPI_INT, 1, MPI_COMM_WORLD);
                   }),
                   for_rank_1});
  cases.push_back({"allreduce_c", "MPI_Allreduce_c", "wait_at_nxn", late_call([] {
                     if (rank == 1) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                     else MPI_Allreduce_c(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                   }),
                   for_rank_1});
  // Rank 1 sends to rank 0 only. No rank sends to rank 1.
  static MPI_Count to[8], from[8];
  static MPI_Aint places[8];
  for (int i = 0; i < ranks; ++i) {
    to[i] = (rank == 1 && i == 0) || (rank == 0 && i != 0 && i != 1) ? 1 : 0;
    from[i] = (rank == 0 && i == 1) || (rank > 1 && i == 0) ? 1 : 0;
    places[i] = i;
  }
  cases.push_back({"alltoallv_c", "MPI_Alltoallv_c", "wait_at_nxn",
                   late_call([] { MPI_Alltoallv_c(in, to, places, MPI_INT, out, from, places, MPI_INT, MPI_COMM_WORLD); }),
                   [](const stamps& all) { return until_last(all, [](int p, int q) { return p == 0 && q == 1; }); }});

  run(cases, 0.95, 0.97, 2);
#endif
  MPI_Finalize();
  return failures;
}
