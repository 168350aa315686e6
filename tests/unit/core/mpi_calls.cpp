#include <whywait/core/mpi_calls.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace whywait::core;

TEST_CASE("each call has its own MPI name") {
  std::set<std::string> names;
  for (unsigned i = 1; i < static_cast<unsigned>(mpi_call::count_); ++i) {
    const std::string name = name_of(static_cast<mpi_call>(i));
    CHECK(name.rfind("MPI_", 0) == 0);
    names.insert(name);
  }
  CHECK(names.size() == static_cast<unsigned>(mpi_call::count_) - 1);
  CHECK(std::string(name_of(mpi_call::Sendrecv_replace)) == "MPI_Sendrecv_replace");
  CHECK(std::string(name_of(mpi_call::Abort)) == "MPI_Abort");
}

TEST_CASE("roles define the waiting and the causing side") {
  CHECK(role_of(mpi_call::Send) == call_role::send);
  CHECK(role_of(mpi_call::Mrecv) == call_role::receive);
  CHECK(role_of(mpi_call::Waitsome) == call_role::complete_any);
  CHECK(role_of(mpi_call::Gatherv) == call_role::all_to_one);
  CHECK(role_of(mpi_call::Scatterv) == call_role::one_to_all);
  CHECK(role_of(mpi_call::Exscan) == call_role::scan);
  CHECK(role_of(mpi_call::Reduce_scatter_block) == call_role::all_to_all);
}

TEST_CASE("each question about collectives has one answer for all rooms") {
  using call = mpi_call;
  for (const call c : {call::Barrier, call::Bcast, call::Gatherv, call::Alltoallw, call::Scan, call::Comm_split,
                       call::Comm_idup, call::Win_allocate_shared, call::Comm_free, call::Comm_disconnect, call::Finalize}) {
    CAPTURE(name_of(c));
    CHECK(is_collective(c));
    CHECK(is_ordered_collective(c) == (c != call::Comm_free));
    CHECK_FALSE(sends_messages(role_of(c)));
  }
  for (const call c :
       {call::none, call::Init, call::Send, call::Wait, call::Testall, call::Iprobe, call::Abort, call::Win_fence}) {
    CAPTURE(name_of(c));
    CHECK_FALSE(is_collective(c));
    CHECK_FALSE(is_ordered_collective(c));
  }
  for (const call c : {call::Barrier, call::Scatter, call::Reduce, call::Allreduce, call::Exscan})
    CHECK(is_data_collective(role_of(c)));
  for (const call c : {call::Comm_dup, call::Comm_disconnect, call::Finalize, call::Send})
    CHECK_FALSE(is_data_collective(role_of(c)));
  for (const call c : {call::Ssend, call::Isend, call::Sendrecv, call::Startall}) CHECK(sends_messages(role_of(c)));
  for (const call c : {call::Recv, call::Irecv, call::Send_init, call::Waitall}) CHECK_FALSE(sends_messages(role_of(c)));
}

TEST_CASE("an unknown number is not a call") {
  CHECK(std::string(name_of(mpi_call::none)) == "(none)");
  CHECK(std::string(name_of(mpi_call::count_)) == "MPI_?");
  CHECK(std::string(name_of(static_cast<mpi_call>(60000))) == "MPI_?");
  CHECK(role_of(static_cast<mpi_call>(60000)) == call_role::local);
  CHECK(role_of(mpi_call::none) == call_role::local);
}
