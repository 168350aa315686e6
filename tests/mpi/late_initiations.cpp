// ranks: 2 8
// timeout: 120
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=initiations
// json initiations.json
// tries 3
//
// Nonblocking, persistent and neighbourhood collectives that rank 1 initiates late, or that make no progress until it enters MPI
// again. The others wait in the call that completes the operation, if they need rank 1.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 4, late = 30, many = 8192;
constexpr double explained = 0.95;
constexpr int plays = 2;

MPI_Comm ring;
MPI_Request requests[3];
double in[many], out[8 * many];

void wait() { MPI_Wait(requests, MPI_STATUS_IGNORE); }
void wait_all() { MPI_Waitall(3, requests, MPI_STATUSES_IGNORE); }
void test() {
  for (int found = 0; found == 0; nap(found == 0 ? 1 : 0)) MPI_Test(requests, &found, MPI_STATUS_IGNORE);
}
int root_1() { return 1; }

/// `initiate` and `complete` in each round, to both of which rank 1 comes late.
std::function<void(std::vector<stamp>&)> late_start(std::function<void()> initiate, std::function<void()> complete = wait) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      MPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      initiate();
      complete();
      s.leave = now();
      at.push_back(s);
    }
  };
}
/// All initiate at once, and rank 1 completes late.
std::function<void(std::vector<stamp>&)> late_entry(std::function<void()> initiate, std::function<void()> complete = wait) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      MPI_Barrier(MPI_COMM_WORLD);
      initiate();
      innocent(15);  // until all have initiated, however late they left the barrier
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      complete();
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

void ibarrier() { MPI_Ibarrier(MPI_COMM_WORLD, requests); }
void ibcast() { MPI_Ibcast(in, many, MPI_DOUBLE, root_1(), MPI_COMM_WORLD, requests); }
void iallreduce() { MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, requests); }
void iallreduce_large() { MPI_Iallreduce(in, out, many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, requests); }
void ialltoall() { MPI_Ialltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, MPI_COMM_WORLD, requests); }
void ireduce() { MPI_Ireduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, requests); }
void igather() { MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, requests); }
/// Rank 1 sends to rank 0 only.
void ialltoallv() {
  std::vector<int> sends(8, 0), receives(8, 0), places(8, 0);
  if (rank == 1) sends[0] = 1;
  if (rank == 0) receives[1] = 1;
  static std::vector<int> kept[3];  // until the operation is complete
  kept[0] = sends, kept[1] = receives, kept[2] = places;
  MPI_Ialltoallv(in, kept[0].data(), kept[2].data(), MPI_DOUBLE, out, kept[1].data(), kept[2].data(), MPI_DOUBLE,
                 MPI_COMM_WORLD, requests);
}
void several() {
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibarrier(ring, &requests[2]);
}
void neighbours() { MPI_Neighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring); }
void ineighbours() { MPI_Ineighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, requests); }
void nothing() {}

#if MPI_VERSION >= 4
MPI_Request prepared[3];
void start() { MPI_Start(&prepared[0]); }
void wait_prepared() { MPI_Wait(&prepared[0], MPI_STATUS_IGNORE); }
void start_neighbours() { MPI_Start(&prepared[1]); }
void wait_neighbours() { MPI_Wait(&prepared[1], MPI_STATUS_IGNORE); }
#endif

/// Those that receive from rank 1 wait for it.
std::function<double(const stamps&)> for_readers(std::function<bool(int)> reads) {
  return [=](const stamps& all) { return until_last(all, [=](int p, int q) { return q == 1 && reads(p); }); };
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  const char *const started = "nonblocking_collective", *const progress = "wait_for_progress";

  std::vector<slept_case> cases;
  cases.push_back({"ibarrier", "MPI_Wait", started, late_start(ibarrier), for_rank_1});
  cases.push_back({"ibcast", "MPI_Wait", started, late_start(ibcast), for_everybody});
  cases.push_back({"iallreduce", "MPI_Wait", started, late_start(iallreduce), for_everybody});
  cases.push_back({"ialltoall", "MPI_Wait", started, late_start(ialltoall), for_everybody});
  cases.push_back({"ireduce", "MPI_Wait", started, late_start(ireduce), for_readers([](int p) { return p == 0; })});
  cases.push_back({"igather", "MPI_Wait", started, late_start(igather), for_readers([](int p) { return p == 0; })});
  cases.push_back({"ialltoallv", "MPI_Wait", started, late_start(ialltoallv), for_readers([](int p) { return p == 0; })});
  cases.push_back({"several", "MPI_Waitall", started, late_start(several, wait_all), for_everybody});
  cases.push_back({"tested", "MPI_Test", started, late_start(iallreduce, test), for_everybody});
  cases.push_back({"progress_of_barrier", "MPI_Wait", progress, late_entry(ibarrier), for_rank_1});
  cases.push_back({"progress_of_reduction", "MPI_Wait", progress, late_entry(iallreduce_large), for_rank_1});
  cases.push_back({"progress_of_tests", "MPI_Test", progress, late_entry(iallreduce_large, test), for_rank_1});
  const auto beside = [](int p) { return p == 0 || p == 2; };
  cases.push_back({"neighbours", "MPI_Neighbor_alltoall", "wait_at_nxn", late_start(neighbours, nothing), for_readers(beside)});
  cases.push_back({"ineighbours", "MPI_Wait", started, late_start(ineighbours), for_readers(beside)});
#if MPI_VERSION >= 4
  MPI_Allreduce_init(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &prepared[0]);
  MPI_Neighbor_alltoall_init(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, MPI_INFO_NULL, &prepared[1]);
  cases.push_back({"started", "MPI_Wait", started, late_start(start, wait_prepared), for_everybody});
  cases.push_back(
      {"started_neighbours", "MPI_Wait", started, late_start(start_neighbours, wait_neighbours), for_readers(beside)});
#endif

  run(cases, explained, 0.97, plays);
#if MPI_VERSION >= 4
  for (int i = 0; i < 2; ++i) MPI_Request_free(&prepared[i]);
#endif
  MPI_Finalize();
  return failures;
}
