// ranks: 2 4
// ranks of mpich: 2
// timeout: 120
// beside: nothing
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=collectives
// json collectives.json
//
// Collective operations that a tool easily overlooks: on intercommunicators, and those that make and free communicators.
// Rank 1 comes late to all of them.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 5, late = 30;
constexpr double explained = 0.95;

/// `call` in each round, to which rank 1 comes late; `before` and `after` are not part of it. Ranks that `takes_part` leaves out
/// do nothing.
std::function<void(std::vector<stamp>&)> late_call(
    std::function<void()> call, std::function<void()> before = [] {}, std::function<bool()> takes_part = [] { return true; }) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      before();
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      if (takes_part()) call();
      s.leave = now();
      at.push_back(s);
    }
  };
}
/// Every rank that left after rank 1 had come waited for it.
double for_rank_1(const stamps& all) {
  double sum = 0;
  for (std::size_t p = 0; p != all.size(); ++p)
    for (std::size_t k = 0; k != all[p].size(); ++k)
      if (all[p][k].leave > all[1][k].enter) sum += std::max(0.0, all[1][k].enter - all[p][k].enter);
  return sum;
}

MPI_Comm groups, made = MPI_COMM_NULL;  // `groups`: even and odd ranks
bool odd() { return rank % 2 == 1; }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<slept_case> cases;

  // Communicators that no wrapper saw do not disturb the numbers of others with the same members.
  MPI_Comm hidden[2];
  for (MPI_Comm& c : hidden) PMPI_Comm_dup(MPI_COMM_WORLD, &c);
  for (int i = 0; i < 2; ++i) {
    int size = 0;
    MPI_Request request;
    int unused = 0;
    MPI_Irecv(&unused, 1, MPI_INT, 0, 5, hidden[odd() ? i : 1 - i], &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    PMPI_Comm_size(hidden[i], &size);
  }

  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd() ? 0 : 1, 7, &groups);

  MPI_Group everybody, most;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  const int left_out = ranks - 1;
  if (ranks > 2) MPI_Group_excl(everybody, 1, &left_out, &most);
  else MPI_Group_incl(everybody, 2, std::vector<int>{0, 1}.data(), &most);

  cases.push_back({"create_group", "MPI_Comm_create_group", "wait_at_create",
                   late_call([&] { MPI_Comm_create_group(MPI_COMM_WORLD, most, 0, &made); },
                             [] {
                               if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
                             },
                             [] { return ranks == 2 || rank != ranks - 1; }),
                   for_rank_1});
  cases.push_back({"disconnect", "MPI_Comm_disconnect", "wait_at_barrier",
                   late_call([] { MPI_Comm_disconnect(&made); }, [] { MPI_Comm_dup(MPI_COMM_WORLD, &made); }), for_rank_1,
                   "MPI_Comm_dup"});
  static MPI_Request request;
  cases.push_back({"idup", "MPI_Wait", "wait_at_create", late_call([] {
                     MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
                     MPI_Wait(&request, MPI_STATUS_IGNORE);
                     MPI_Comm_free(&made);
                   }),
                   for_rank_1});
  cases.push_back({"idup_progress", "MPI_Wait", "wait_for_progress",
                   late_call(
                       [] {
                         MPI_Wait(&request, MPI_STATUS_IGNORE);
                         MPI_Comm_free(&made);
                       },
                       [] { MPI_Comm_idup(MPI_COMM_WORLD, &made, &request); }),
                   for_rank_1});
#if MPI_VERSION >= 4
  cases.push_back({"idup_with_info", "MPI_Wait", "wait_at_create", late_call([] {
                     MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request);
                     MPI_Wait(&request, MPI_STATUS_IGNORE);
                     MPI_Comm_free(&made);
                   }),
                   for_rank_1});
  cases.push_back({"create_from_group", "MPI_Comm_create_from_group", "wait_at_create",
                   late_call([&] { MPI_Comm_create_from_group(most, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made); },
                             [] {
                               if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
                             },
                             [] { return ranks == 2 || rank != ranks - 1; }),
                   for_rank_1});
#endif
  cases.push_back({"inter_barrier", "MPI_Barrier", "wait_at_barrier", late_call([] { MPI_Barrier(groups); }), for_rank_1, ""});
  static int in[4], out[4];
  cases.push_back({"inter_bcast", "MPI_Bcast", "late_broadcast", late_call([] {
                     MPI_Bcast(in, 1, MPI_INT, rank == 1 ? MPI_ROOT : odd() ? MPI_PROC_NULL : 0, groups);
                   }),
                   for_rank_1});
  cases.push_back({"inter_reduce", "MPI_Reduce", "early_reduce", late_call([] {
                     MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : odd() ? 0 : MPI_PROC_NULL, groups);
                   }),
                   for_rank_1});
  cases.push_back({"inter_allreduce", "MPI_Allreduce", "wait_at_nxn",
                   late_call([] { MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, groups); }), for_rank_1});
  cases.push_back({"inter_allgather", "MPI_Allgather", "wait_at_nxn",
                   late_call([] { MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, groups); }), for_rank_1});
  static MPI_Comm dup;
  cases.push_back({"inter_dup", "MPI_Comm_dup", "wait_at_create", late_call([] { MPI_Comm_dup(groups, &dup); }), for_rank_1});

  run(cases, explained, 0.97, 2);
  MPI_Finalize();
  return failures;
}
