// ranks: 2
// timeout: 120
// flags: -O0
// beside: nothing
// with: observer
// not: openmpi
// environment: WHYWAIT_OUTPUT=combined
// json combined.json
// tries 3
//
// MPI_Isendrecv, whose request stands for a send and a receive, and partitioned messages, which are sent when their last
// partition is ready (neither is in Open MPI 4). Odd ranks are late, once with the call and once with their last partition.
#include <whywait/mpi/process_state.hpp>

#include "slept_cases.hpp"

namespace {

using namespace slept;

constexpr int rounds = 4, late = 30, parts = 4;
double in[parts], out[parts];
MPI_Request request, others[2];

int partner() { return rank ^ 1; }
bool odd() { return rank % 2 == 1; }
void check(double got, double expected) {
  if (got == expected) return;
  std::printf("FAILED: received %g, expected %g\n", got, expected);
  ++failures;
}

void wait() { MPI_Wait(&request, MPI_STATUS_IGNORE); }
void wait_all() { MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); }
void test() {
  for (int found = 0; found == 0; nap(found == 0 ? 1 : 0)) MPI_Test(&request, &found, MPI_STATUS_IGNORE);
}

/// Odd ranks come late to `begin`, and all complete what they began with `complete`.
std::function<void(std::vector<stamp>&)> late_exchange(std::function<void()> begin, std::function<void()> complete,
                                                       const double* got = in) {
  return [=](std::vector<stamp>& at) {
    for (int k = 0; k < rounds; ++k) {
      PMPI_Barrier(MPI_COMM_WORLD);
      in[0] = -1;
      out[0] = 10 * k + rank;
      innocent(3);
      if (odd()) guilty(late);
      stamp s;
      s.enter = now();
      begin();
      complete();
      s.leave = now();
      check(*got, 10 * k + partner());
      at.push_back(s);
    }
  };
}
double for_odd(const stamps& all) {
  return until_last(all, [](int p, int q) { return p % 2 == 0 && q == p + 1; });
}

void isendrecv() { MPI_Isendrecv(out, 1, MPI_DOUBLE, partner(), 3, in, 1, MPI_DOUBLE, partner(), 3, MPI_COMM_WORLD, &request); }
void isendrecv_large() {
  MPI_Isendrecv_c(out, 1, MPI_DOUBLE, partner(), 3, in, 1, MPI_DOUBLE, partner(), 3, MPI_COMM_WORLD, &request);
}
/// MPICH 4.0 does not fill in the status of MPI_Isendrecv. Then the source of a wildcard is not known, and must not be made up.
void isendrecv_any() {
  MPI_Status status;
  MPI_Isendrecv(out, 1, MPI_DOUBLE, partner(), 4, in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  auto& records = whywait::mpi::recording_thread()->location->syncs;
  const whywait::core::sync_record& receive = records[records.size() - 2];
#ifdef MPICH_VERSION
  const bool known = false;
#else
  const bool known = true;
#endif
  const bool ambiguous = receive.has(whywait::core::sync_flag::ambiguous);
  if (!receive.has(whywait::core::sync_flag::posts_receive) || ambiguous == known || receive.peer != (known ? partner() : -1)) {
    std::printf("FAILED: the record of a wildcard, status %d %d\n", status.MPI_SOURCE, status.MPI_TAG);
    ++failures;
  }
}
void isendrecv_replace() { MPI_Isendrecv_replace(out, 1, MPI_DOUBLE, partner(), 3, partner(), 3, MPI_COMM_WORLD, &request); }
/// With plain messages on the other side.
void isendrecv_with_plain() {
  if (!odd()) return isendrecv();
  MPI_Irecv(in, 1, MPI_DOUBLE, partner(), 3, MPI_COMM_WORLD, &request);
  MPI_Send(out, 1, MPI_DOUBLE, partner(), 3, MPI_COMM_WORLD);
}

/// Odd ranks make one partition ready at once and the others late.
std::function<void(std::vector<stamp>&)> late_partition(std::function<void()> ready, std::function<void()> complete = wait) {
  return [=](std::vector<stamp>& at) {
    if (!odd()) MPI_Precv_init(in, 2, 2, MPI_DOUBLE, partner(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Psend_init(out, parts, 1, MPI_DOUBLE, partner(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int k = 0; k < rounds; ++k) {
      MPI_Start(&request);
      if (odd()) {
        for (int i = 0; i < parts; ++i) out[i] = k + i;
        MPI_Pready(2, request);
      }
      PMPI_Barrier(MPI_COMM_WORLD);
      innocent(3);
      stamp s;
      if (odd()) guilty(late);
      s.enter = now();
      if (odd()) ready();
      if (odd()) wait();
      else complete();
      s.leave = now();
      for (int i = 0; i < parts && !odd(); ++i) check(in[i], k + i);
      at.push_back(s);
    }
    MPI_Request_free(&request);
  };
}
void one_by_one() {
  for (const int i : {0, 3, 1}) MPI_Pready(i, request);
}
void by_range() {
  MPI_Pready_range(0, 1, request);
  MPI_Pready(3, request);
}
void by_list() {
  int list[] = {3, 0, 1};
  MPI_Pready_list(3, list, request);
}

/// Two requests with the same peer and tag, and a plain message beside them. The second is started first, and only it is late.
void two_requests(std::vector<stamp>& at) {
  for (int i = 0; i < 2; ++i) {
    if (!odd()) MPI_Precv_init(in + i, 1, 1, MPI_DOUBLE, partner(), 6, MPI_COMM_WORLD, MPI_INFO_NULL, &others[i]);
    else MPI_Psend_init(out + i, 1, 1, MPI_DOUBLE, partner(), 6, MPI_COMM_WORLD, MPI_INFO_NULL, &others[i]);
  }
  for (int k = 0; k < rounds; ++k) {
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&others[1]);
    MPI_Start(&others[0]);
    if (odd()) {
      out[0] = k;
      out[1] = k + 1;
      MPI_Pready(0, others[0]);
      double plain = -k;
      MPI_Send(&plain, 1, MPI_DOUBLE, partner(), 6, MPI_COMM_WORLD);
    } else {
      innocent(10);  // until it was sent
      double plain = 0;
      MPI_Recv(&plain, 1, MPI_DOUBLE, partner(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(plain, -k);
      MPI_Wait(&others[0], MPI_STATUS_IGNORE);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    innocent(3);
    if (odd()) guilty(late);
    stamp s;
    s.enter = now();
    if (odd()) {
      MPI_Pready(0, others[1]);
      MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    } else {
      MPI_Wait(&others[1], MPI_STATUS_IGNORE);
      check(in[0], k);
      check(in[1], k + 1);
    }
    s.leave = now();
    at.push_back(s);
  }
  for (MPI_Request& each : others) MPI_Request_free(&each);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const sender = "late_sender";

  std::vector<slept_case> cases;
  cases.push_back({"isendrecv", "MPI_Wait", sender, late_exchange(isendrecv, wait), for_odd});
  cases.push_back({"isendrecv_large", "MPI_Waitall", sender, late_exchange(isendrecv_large, wait_all), for_odd});
  cases.push_back({"isendrecv_replace", "MPI_Wait", sender, late_exchange(isendrecv_replace, wait, out), for_odd});
  cases.push_back({"isendrecv_tested", "MPI_Test", sender, late_exchange(isendrecv, test), for_odd});
  cases.push_back({"isendrecv_with_plain", "MPI_Wait", sender, late_exchange(isendrecv_with_plain, wait), for_odd});
  cases.push_back({"partitions", "MPI_Wait", sender, late_partition(one_by_one), for_odd});
  cases.push_back({"range_of_partitions", "MPI_Wait", sender, late_partition(by_range), for_odd});
  cases.push_back({"list_of_partitions", "MPI_Wait", sender, late_partition(by_list), for_odd});
  cases.push_back({"tested_partitions", "MPI_Test", sender, late_partition(by_list, test), for_odd});
  cases.push_back({"two_requests", "MPI_Wait", sender, two_requests, for_odd});
  isendrecv_any();
  const whywait::result result = run(cases, 0.95, 0.97, 2);
  if (rank == 0 && result.unmatched_messages != 0) {
    std::printf("FAILED: %d messages unmatched\n", static_cast<int>(result.unmatched_messages));
    ++failures;
  }
  MPI_Finalize();
  return failures;
}
