#include <whywait/explain/plausible_time.hpp>

#include <doctest/doctest.h>

using namespace whywait;
using core::mpi_call;
using explain::plausible_time;

TEST_CASE("a group of few calls has the upper limit") {
  plausible_time t;
  for (int i = 0; i != 7; ++i) t.add(mpi_call::Recv, 8, 1000);
  CHECK(t.typical_ns(mpi_call::Recv, 8) == 0);
  CHECK(t.bound_ns(mpi_call::Recv, 8) == 1'000'080);
  CHECK(t.bound_ns(mpi_call::Comm_dup, 0) == 10'000'000);
  CHECK(t.bound_ns(mpi_call::Allreduce, 0, 3, 8'000'000) == 27'000'000);
}

TEST_CASE("the bound is four times the time of the fast calls, between both limits") {
  plausible_time t;
  for (int i = 0; i != 2; ++i) t.add(mpi_call::Recv, 1000, 30'000);  // up to 2^15 ns
  for (int i = 0; i != 18; ++i) t.add(mpi_call::Recv, 1000, 5'000'000);
  CHECK(t.typical_ns(mpi_call::Recv, 1000) == 32768);
  CHECK(t.bound_ns(mpi_call::Recv, 1000) == 4 * 32768);
  CHECK(t.bound_ns(mpi_call::Recv, 16000) != 4 * 32768);  // another size
  CHECK(t.bound_ns(mpi_call::Send, 1000) != 4 * 32768);   // another function
  plausible_time fast;
  for (int i = 0; i != 20; ++i) fast.add(mpi_call::Send, 0, 100);
  CHECK(fast.bound_ns(mpi_call::Send, 0) == 20'000);
}

TEST_CASE("a group all of whose calls waited does not make waiting plausible") {
  plausible_time t;
  for (int i = 0; i != 100; ++i) t.add(mpi_call::Waitall, 512, 5'000'000);
  CHECK(t.bound_ns(mpi_call::Waitall, 512) == 1'005'120);
}

TEST_CASE("calls without a model and any size are accepted") {
  plausible_time t;
  t.add(mpi_call::Ibarrier, 0, 1);
  CHECK(t.typical_ns(mpi_call::Ibarrier, 0) == 0);
  for (int i = 0; i != 8; ++i) t.add(mpi_call::Send, ~std::uint64_t(0), INT64_MAX);
  CHECK(t.bound_ns(mpi_call::Send, ~std::uint64_t(0)) > 0);
}
