#include <whywait/core/mpi_calls.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

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
                       call::Comm_idup, call::Win_allocate_shared, call::Win_create_c, call::Win_free, call::Win_fence,
                       call::Comm_free, call::Comm_disconnect, call::Finalize}) {
    CAPTURE(name_of(c));
    CHECK(is_collective(c));
    CHECK(is_ordered_collective(c) == (c != call::Comm_free));
    CHECK_FALSE(sends_messages(role_of(c)));
  }
  for (const call c : {call::none, call::Init, call::Send, call::Wait, call::Testall, call::Iprobe, call::Abort, call::Put,
                       call::Win_post, call::Win_lock, call::Win_sync}) {
    CAPTURE(name_of(c));
    CHECK_FALSE(is_collective(c));
    CHECK_FALSE(is_ordered_collective(c));
  }
  for (const call c : {call::Barrier, call::Scatter, call::Reduce, call::Allreduce, call::Exscan})
    CHECK(is_data_collective(role_of(c)));
  for (const call c : {call::Comm_dup, call::Comm_disconnect, call::Win_fence, call::Finalize, call::Send})
    CHECK_FALSE(is_data_collective(role_of(c)));
  for (const call c : {call::Ssend, call::Isend, call::Sendrecv, call::Startall}) CHECK(sends_messages(role_of(c)));
  for (const call c : {call::Recv, call::Irecv, call::Send_init, call::Waitall}) CHECK_FALSE(sends_messages(role_of(c)));
}

TEST_CASE("a call that initiates a collective has the needs of the blocking one") {
  using call = mpi_call;
  const std::pair<call, call> forms[] = {{call::Ibarrier, call::Barrier},
                                         {call::Ibcast, call::Bcast},
                                         {call::Igatherv, call::Gatherv},
                                         {call::Ialltoallw, call::Alltoallw},
                                         {call::Iexscan, call::Exscan},
                                         {call::Scatter_init, call::Scatter},
                                         {call::Comm_idup, call::Comm_dup},
                                         {call::Reduce_scatter_init, call::Reduce_scatter},
                                         {call::Neighbor_allgather_init, call::Neighbor_allgather}};
  for (const auto& form : forms) {
    const call later = form.first, blocking = form.second;
    CAPTURE(name_of(later));
    CHECK(initiates(later));
    CHECK_FALSE(initiates(blocking));
    CHECK(role_of(later) == call_role::initiate);
    CHECK(meeting_role_of(later) == role_of(blocking));
    CHECK(meeting_role_of(blocking) == role_of(blocking));
    CHECK(is_ordered_collective(later));
    CHECK_FALSE(is_data_collective(role_of(later)));
  }
  CHECK(is_persistent(call::Barrier_init));
  CHECK_FALSE(is_persistent(call::Ibarrier));
  CHECK_FALSE(is_persistent(call::Send_init));
  for (const call c : {call::Win_free, call::Start, call::Bcast_c}) CHECK_FALSE(initiates(c));
}

TEST_CASE("an unknown number is not a call") {
  CHECK(std::string(name_of(mpi_call::none)) == "(none)");
  CHECK(std::string(name_of(mpi_call::count_)) == "MPI_?");
  CHECK(std::string(name_of(static_cast<mpi_call>(60000))) == "MPI_?");
  CHECK(role_of(static_cast<mpi_call>(60000)) == call_role::local);
  CHECK(role_of(mpi_call::none) == call_role::local);
}
