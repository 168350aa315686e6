// The functions of MPI that a start needs are replaced here, so that it needs no MPI_Init.
#include <whywait/mpi/agreement.hpp>

#include <doctest/doctest.h>

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

/// A job of `size` ranks, of which this is `rank`; `others` is what the other ranks contribute to each reduction.
struct scripted_job {
  int rank = 0, size = 1;
  std::vector<std::array<int, 3>> others;
  std::size_t reductions = 0;
};
scripted_job job;

int reduce(void* values, int count, MPI_Op op) {
  auto* const mine = static_cast<int*>(values);
  REQUIRE(job.reductions < job.others.size());
  const std::array<int, 3>& theirs = job.others[job.reductions++];
  for (int i = 0; i != count; ++i) {
    const int other = theirs[static_cast<std::size_t>(i)];
    if (op == MPI_SUM) mine[i] += other;
    else if (other < mine[i]) mine[i] = other;
  }
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {
int PMPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = job.rank;
  return MPI_SUCCESS;
}
int PMPI_Comm_size(MPI_Comm, int* size) {
  *size = job.size;
  return MPI_SUCCESS;
}
int PMPI_Allreduce(const void*, void* values, int count, MPI_Datatype, MPI_Op op, MPI_Comm) {
  return reduce(values, count, op);
}
int PMPI_Iallreduce(const void*, void* values, int count, MPI_Datatype, MPI_Op op, MPI_Comm, MPI_Request*) {
  return reduce(values, count, op);
}
int PMPI_Test(MPI_Request*, int* over, MPI_Status*) {
  *over = 1;
  return MPI_SUCCESS;
}
}

namespace {

/// The environment that a launcher of Open MPI gives to a process; null: none.
void set_launcher(const char* local_rank, const char* local_size) {
  const auto set = [](const char* name, const char* value) {
    if (value != nullptr) setenv(name, value, 1);
    else unsetenv(name);
  };
  const std::string space = "whywait-test-" + std::to_string(getpid());
  set("PMI_FD", nullptr);
  set("PMIX_NAMESPACE", local_rank != nullptr ? space.c_str() : nullptr);
  set("OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
  set("OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
}

struct outcome {
  bool record;
  int level;
  std::string warning;
};

/// What a rank with the thread level 1 finds out.
outcome start(bool enabled, bool no_memory, bool announces) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int kept = dup(2);
  dup2(ends[1], 2);
  whywait::mpi::start_agreement agreement;
  if (announces) agreement.announce();
  outcome found{false, 1, ""};
  found.record = agreement.all_record(MPI_COMM_WORLD, enabled, no_memory, found.level);
  dup2(kept, 2);
  close(kept);
  close(ends[1]);
  char text[2048];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  if (length > 0) found.warning.assign(text, static_cast<std::size_t>(length));
  return found;
}

}  // namespace

TEST_CASE("ranks of a machine without whywait are counted, and no rank waits for them") {
  set_launcher("0", "3");
  job = {0, 3, {}, 0};
  const outcome found = start(true, false, true);
  CHECK_FALSE(found.record);
  CHECK(job.reductions == 0);
  CHECK(found.warning.rfind("whywait: 2 of the 3 ranks on this machine run a program without whywait;", 0) == 0);
  const outcome silent = start(false, false, true);
  CHECK_FALSE(silent.record);
  CHECK(silent.warning.empty());
  set_launcher(nullptr, nullptr);
}

TEST_CASE("all ranks record if all are on, with the highest thread level of all") {
  set_launcher(nullptr, nullptr);
  job = {1, 4, {{1, -3, 0}}, 0};
  const outcome found = start(true, false, true);
  CHECK(found.record);
  CHECK(found.level == 3);
  CHECK(found.warning.empty());
  CHECK(job.reductions == 1);
}

TEST_CASE("if some ranks are off no rank records, and the first one that is on says so") {
  job = {2, 4, {{0, 0, 4}, {1, 0, 0}}, 0};
  const outcome first = start(true, false, false);
  CHECK_FALSE(first.record);
  CHECK(first.level == 1);
  CHECK(first.warning.rfind("whywait: switched off on 1 of 4 ranks (WHYWAIT_ENABLE=0", 0) == 0);
  job = {2, 4, {{0, 0, 1}, {2, 0, 0}}, 0};
  const outcome later = start(true, false, false);
  CHECK_FALSE(later.record);
  CHECK(later.warning.empty());
  CHECK(job.reductions == 2);  // also takes part in counting
  job = {1, 2, {{0, 0, 2}, {1, 0, 0}}, 0};
  const outcome full = start(false, true, false);
  CHECK(full.warning.rfind("whywait: switched off on 2 of 2 ranks: memory or address space does not suffice", 0) == 0);
  job = {0, 2, {{0, 0, 2}, {1, 0, 0}}, 0};
  CHECK(start(false, false, false).warning.empty());  // all are off on purpose
}
