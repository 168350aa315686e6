// ranks: 2 3
// with: recorder
//
// Calls that the explanation does not model pass their results through, leave a record and are counted with their time.
// tests/mpi/functions.py reads this program's wrappers.

#include "checks.hpp"

#include <unistd.h>

#include <cstring>
#include <string>

using namespace checks;

namespace {

int rank, ranks;

std::uint64_t calls(mpi_call call) {
  return process().registry == nullptr ? 0 : whywait::mpi::recording_thread()->calls[static_cast<std::size_t>(call)];
}

/// Milliseconds inside all call sites of one function.
double inside_ms(mpi_call call) {
  const auto& sites = whywait::mpi::recording_thread()->sites;
  std::uint64_t ticks = 0;
  for (std::uint32_t i = 1; i < sites.size(); ++i)
    if (sites[i].call == call) ticks += sites[i].ticks;
  const double rate = whywait::core::clock_anchor::rate(process().start_anchor, whywait::core::clock_anchor::take());
  return 1e-6 * rate * static_cast<double>(ticks);
}

void come_late() {
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) usleep(20000);
}

/// Polls of a request that no wrapper created, in a program that has others without a partner.
void polls_of_others() {
  MPI_Request request;
  CHECK(!process().others_requests);
  MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                     [](void*, int) { return MPI_SUCCESS; }, nullptr, &request);
  CHECK(process().others_requests);
  MPI_Grequest_complete(request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  const auto before = records().size();
  come_late();
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int over = 0; over == 0; usleep(10)) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
  CHECK(records().size() > before);
  for (auto i = before; i < records().size(); ++i)
    CHECK(records()[i].call == mpi_call::Test && records()[i].flags == (flag::found_nothing | flag::of_others));
  CHECK(inside_ms(mpi_call::Test) > 0 && inside_ms(mpi_call::Test) < 1000);
}

void files() {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, "unexplained.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return;
  const auto before = records().size();
  int read = -1;
  come_late();
  MPI_File_write_at_all(file, static_cast<MPI_Offset>(rank) * 4, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  PMPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, static_cast<MPI_Offset>(rank) * 4, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(read == rank);
  CHECK(records().size() == before + 3);  // calls of MPI inside them are theirs
  CHECK(records()[before].comm != last().comm && last().bytes == 4);  // the file has members, the reading of one rank has none
  MPI_File_close(&file);
  CHECK(calls(mpi_call::File_open) == 1 && calls(mpi_call::File_write_at_all) == 1 && calls(mpi_call::File_close) == 1);
}

/// A communicator of a library that calls PMPI: messages in it have no partner in the records of others.
void unfollowed_communicators() {
  MPI_Comm hidden;
  PMPI_Comm_dup(MPI_COMM_WORLD, &hidden);
  MPI_Barrier(hidden);
  CHECK(communicator(last()).id == 0);
  PMPI_Comm_free(&hidden);
  MPI_Comm known;
  MPI_Comm_dup(MPI_COMM_WORLD, &known);
  MPI_Barrier(known);
  CHECK(communicator(last()).id != 0);
  MPI_Comm_free(&known);
}

void large_counts() {
#if MPI_VERSION >= 4
  const auto before = records().size();
  int value = rank == 0 ? 7 : 0;
  come_late();
  MPI_Bcast_c(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(value == 7 && last().call == mpi_call::Bcast_c);
  CHECK(calls(mpi_call::Bcast_c) == 1);
  CHECK(records().size() > before);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(!process().others_requests);
  files();
  polls_of_others();
  unfollowed_communicators();
  large_counts();
  MPI_Finalize();
  return result();
}
