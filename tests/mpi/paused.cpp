// ranks: 2 4
// ranks of mpich: 2
// timeout: 60
// beside: nothing
// with: observer
// environment: WHYWAIT_OUTPUT=paused
// json paused.json
// file paused.json ~ "paused_seconds": [0-9.]+,
// stderr ~ of rank time paused by MPI_Pcontrol
// tries 3
//
// MPI_Pcontrol(0) and MPI_Pcontrol(1): waits between them are not counted. Whichever ranks are paused and when, messages,
// collectives and communicators match, and ranks that are not paused wait for what paused ones run.
#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 3, late = 30;
constexpr double explained = 0.95;
double paused_since, paused_seconds;

void suspend() {
  MPI_Pcontrol(0);
  paused_since = now();
}
void resume() {
  paused_seconds += now() - paused_since;
  MPI_Pcontrol(1);
}

std::function<void(std::vector<stamp>&)> late_rank_1(std::function<void()> call, std::function<bool(int)> is_paused) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      PMPI_Barrier(MPI_COMM_WORLD);
      if (is_paused(rank)) suspend();
      innocent(3);
      if (rank == 1) guilty(late);
      stamp s;
      s.enter = now();
      call();
      s.leave = now();
      if (is_paused(rank)) resume();
      at.push_back(s);
    }
  };
}
std::function<double(const stamps&)> without(std::function<bool(int)> is_paused) {
  return [=](const stamps& all) { return until_last(all, [=](int p, int) { return !is_paused(p); }); };
}
bool nobody(int) { return false; }
bool everybody(int) { return true; }
bool is_0(int p) { return p == 0; }
bool is_1(int p) { return p == 1; }

int value;
MPI_Comm copy = MPI_COMM_NULL;
void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
/// A communicator that is made while a part of its members is paused.
void barrier_of_copy() { MPI_Barrier(copy); }
void message() {
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
double for_rank_0(const stamps& all) {
  return until_last(all, [](int p, int q) { return p == 0 && q == 1; });
}

/// Posted while rank 0 is paused, completed afterwards.
void posted_before(std::vector<stamp>& at) {
  for (int k = 0; k < rounds; ++k) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
      suspend();
      MPI_Irecv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
      resume();
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) guilty(late);
    stamp s;
    s.enter = now();
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    s.leave = now();
    at.push_back(s);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (MPI_Pcontrol(7, "for another tool") != MPI_SUCCESS) ++failures;
  if (rank == 0) suspend();
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  if (rank == 0) resume();

  std::vector<slept_case> cases;
  const char* const barriers = "wait_at_barrier";
  cases.push_back({"nobody", "MPI_Barrier", barriers, late_rank_1(barrier, nobody), for_everybody, "none"});
  cases.push_back({"everybody", "MPI_Barrier", barriers, late_rank_1(barrier, everybody), without(everybody), "none"});
  cases.push_back({"the_waiter", "MPI_Barrier", barriers, late_rank_1(barrier, is_0), without(is_0), "none"});
  cases.push_back({"the_late", "MPI_Barrier", barriers, late_rank_1(barrier, is_1), for_everybody, "none"});
  cases.push_back({"copy", "MPI_Barrier", barriers, late_rank_1(barrier_of_copy, is_1), for_everybody, "none"});
  cases.push_back({"late_sender", "MPI_Recv", "late_sender", late_rank_1(message, is_1), for_rank_0});
  cases.push_back(
      {"paused_receiver", "MPI_Recv", "late_sender", late_rank_1(message, is_0), [](const stamps&) { return 0.0; }});
  cases.push_back({"posted_before", "MPI_Wait", "late_sender", posted_before, for_rank_0});
  const whywait::result result = run(cases, explained, 0.97, 2);

  double paused = 0;
  PMPI_Reduce(&paused_seconds, &paused, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && std::fabs(result.paused_seconds - paused) > 0.03 * paused + 0.001) {
    std::printf("FAILED: paused for %.4f s, truth %.4f s\n", result.paused_seconds, paused);
    ++failures;
  }
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return failures;
}
