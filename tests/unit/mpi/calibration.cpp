// The functions of MPI that calibration calls are replaced here, so that it needs no MPI_Init.
#include <whywait/mpi/calibration.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

struct scripted_mpi {
  std::map<std::string, int> calls;
  int with_partner = 0;
  int sent_to_self = 0, received_from_self = 0;

  int call(const char* name, int peer = MPI_PROC_NULL) {
    ++calls[name];
    if (peer != MPI_PROC_NULL) ++with_partner;
    return MPI_SUCCESS;
  }
};
scripted_mpi script;

}  // namespace

extern "C" {
int MPI_Send(const void*, int, MPI_Datatype, int peer, int, MPI_Comm) { return script.call("Send", peer); }
int MPI_Recv(void*, int, MPI_Datatype, int peer, int, MPI_Comm, MPI_Status*) { return script.call("Recv", peer); }
int MPI_Sendrecv(const void*, int, MPI_Datatype, int to, int, void*, int, MPI_Datatype, int from, int, MPI_Comm, MPI_Status*) {
  return script.call("Sendrecv", to == MPI_PROC_NULL ? from : to);
}
int MPI_Isend(const void*, int, MPI_Datatype, int peer, int, MPI_Comm, MPI_Request*) {
  ++script.sent_to_self;
  CHECK(peer == 0);
  return script.call("Isend");
}
int MPI_Irecv(void*, int, MPI_Datatype, int peer, int, MPI_Comm, MPI_Request*) {
  ++script.received_from_self;
  CHECK(peer == 0);
  return script.call("Irecv");
}
int MPI_Wait(MPI_Request*, MPI_Status*) { return script.call("Wait"); }
int MPI_Waitall(int count, MPI_Request*, MPI_Status*) {
  CHECK(count == 1);
  return script.call("Waitall");
}
int MPI_Barrier(MPI_Comm) { return script.call("Barrier"); }
}

TEST_CASE("calibration calls each kind of wrapper once, without another rank") {
  script = scripted_mpi();
  whywait::mpi::detail::call_wrappers(MPI_COMM_SELF);
  CHECK(
      script.calls ==
      std::map<std::string, int>{
          {"Send", 1}, {"Recv", 1}, {"Sendrecv", 1}, {"Isend", 1}, {"Irecv", 1}, {"Wait", 1}, {"Waitall", 1}, {"Barrier", 1}});
  CHECK(script.with_partner == 0);
  CHECK(script.sent_to_self == script.received_from_self);
}

TEST_CASE("the median of numbers is the middle one of the sorted list") {
  std::mt19937 random(4);
  for (std::uint32_t count = 1; count != 40; ++count) {
    std::vector<std::uint32_t> numbers(count), sorted;
    for (std::uint32_t& n : numbers) n = static_cast<std::uint32_t>(random() % 50);
    sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    CHECK(whywait::mpi::detail::median(numbers.data(), count) == sorted[count / 2]);
    CHECK(numbers == sorted);
  }
  CHECK(whywait::mpi::detail::median(static_cast<double*>(nullptr), 0) == 0);
}

TEST_CASE("of several rounds the least median counts, and the others are its spread") {
  using namespace whywait::mpi;
  const auto timed = [](std::uint32_t before, std::uint32_t inside) {
    static self_timing round;
    round = self_timing();
    for (std::uint32_t i = 0; i != 5; ++i) round.note(whywait::core::mpi_call::Send, before + i, inside, 7, 1);
    return &round;
  };
  calibration found{};
  detail::take_least(found, *timed(100, 50), true);
  const auto send = static_cast<std::size_t>(whywait::core::mpi_call::Send);
  CHECK(found.calls[send].before == 102);
  CHECK(found.calls[send].inside == 50);
  CHECK(found.calls[send].after == 7);
  CHECK(found.spread[send] == 0);
  detail::take_least(found, *timed(90, 60), false);
  CHECK(found.calls[send].before == 92);
  CHECK(found.calls[send].inside == 50);
  CHECK(found.spread[send] == 10);
  CHECK(found.calls[static_cast<std::size_t>(whywait::core::mpi_call::Recv)].before == 0);
}
