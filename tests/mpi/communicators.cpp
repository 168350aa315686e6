// ranks: 2 4
// with: recorder
//
// A communicator has the same id on all its members, which differs from all other ids, whatever call created it.

#include "checks.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace checks;

// AddressSanitizer keeps freed memory for a while; this test needs handles whose memory is used again.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"; }

namespace {

std::map<whywait::core::stable_key, std::uint32_t> seen;

std::uint32_t index_of(MPI_Comm comm) { return whywait::mpi::index_of(*whywait::mpi::recording_thread(), comm); }

// Checks that all members agree and that the id is new. Returns the id.
whywait::core::stable_key check(MPI_Comm comm, const char* what) {
  const std::uint32_t index = index_of(comm);
  const auto& known = process().communicators[index];
  unsigned long long mine = known.id, low = 0, high = 0;
  int inter = 0, size = 0, rank = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &rank);
  if (inter != 0) PMPI_Comm_remote_size(comm, &size);
  else PMPI_Comm_size(comm, &size);
  CHECK(known.size == size && known.rank == rank && known.inter == (inter != 0) && known.id != 0);
  if (inter != 0) {  // receives the minimum of the remote group
    unsigned long long theirs = 0;
    MPI_Allreduce(&mine, &theirs, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, comm);
    low = high = theirs;
  } else {
    PMPI_Allreduce(&mine, &low, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, comm);
    PMPI_Allreduce(&mine, &high, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
    std::vector<int> world(static_cast<std::size_t>(size)), own(static_cast<std::size_t>(size));
    int me = world_rank();
    PMPI_Allgather(&me, 1, MPI_INT, world.data(), 1, MPI_INT, comm);
    for (int i = 0; i < size; ++i) CHECK(world[static_cast<std::size_t>(i)] == (known.world != nullptr ? known.world[i] : i));
  }
  if (!CHECK(low == mine && high == mine)) std::fprintf(stderr, "%s\n", what);
  if (!CHECK(seen.emplace(known.id, index).second)) std::fprintf(stderr, "%s\n", what);
  return known.id;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(index_of(MPI_COMM_WORLD) == 0 && index_of(MPI_COMM_SELF) == 1);
  check(MPI_COMM_WORLD, "world");
  check(MPI_COMM_SELF, "self");
  MPI_Comm dup, same_list, split, type, group_comm, created, cart, sub, graph, dist, adjacent, idup, merged, inter;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  CHECK(last().call == mpi_call::Comm_dup && last().comm == 0);
  check(dup, "dup");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &same_list);
  check(same_list, "dup with info");
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
  check(split, "split");
  MPI_Comm none = dup;
  MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none);
  CHECK(none == MPI_COMM_NULL && last().comm == 0);
  MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &type);
  CHECK(last().comm == index_of(dup));
  check(type, "split type");
  int dims = ranks, periods = 1, keep = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &cart);
  check(cart, "cart");
  MPI_Cart_sub(cart, &keep, &sub);
  CHECK(last().comm == index_of(cart));
  check(sub, "cart sub");
  std::vector<int> ends, edges;
  for (int i = 0; i < ranks; ++i) {
    edges.push_back((i + 1) % ranks);
    ends.push_back(static_cast<int>(edges.size()));
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, ends.data(), edges.data(), 0, &graph);
  check(graph, "graph");
  int degree = 1, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist);
  check(dist, "dist graph");
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent);
  check(adjacent, "dist graph adjacent");
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request);
  MPI_Comm between;  // created while the other is pending; both must keep their numbers
  MPI_Comm_dup(MPI_COMM_WORLD, &between);
  if (rank % 2 == 0) check(between, "between"), MPI_Wait(&request, MPI_STATUS_IGNORE);
  else {
    int done = 0;
    while (done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    check(between, "between");
  }
  check(idup, "idup");
  CHECK(process().requests.size() == 0);

  MPI_Comm half;
  const int low_half = rank < ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low_half, rank, &half);
  check(half, "half");
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low_half != 0 ? ranks / 2 : 0, 9, &inter);
  CHECK(last().comm == index_of(inter));
  check(inter, "intercommunicator");
  int out = rank, in = -1;
  MPI_Request receive;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, inter, &receive);
  const auto posted = records().size() - 1;
  int half_rank = 0, remote = 0;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Send(&out, 1, MPI_INT, half_rank % remote, 3, inter);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  const auto& peers = communicator(records()[posted]);
  CHECK(peers.inter && (peers.world != nullptr) == (low_half != 0) &&
        (peers.world != nullptr ? peers.world[records()[posted].peer] : records()[posted].peer) == in);
  MPI_Barrier(inter);
  CHECK(last().flags == (flag::contributes | flag::consumes));
  // In their own group roots are MPI_ROOT, in the other one ranks.
  const int root = low_half == 0 ? 0 : half_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Bcast(&in, 1, MPI_INT, root, inter);
  CHECK(last().flags == (low_half == 0 ? unsigned(flag::consumes) : half_rank == 0 ? unsigned(flag::contributes) : 0u));
  CHECK(last().peer == -1 && last().bytes == (root == MPI_ROOT ? sizeof in : 0));
  int sum = 0;
  MPI_Reduce(&out, &sum, 1, MPI_INT, MPI_SUM, root, inter);
  CHECK(last().flags == (low_half == 0 ? unsigned(flag::contributes) : half_rank == 0 ? unsigned(flag::consumes) : 0u));
  MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(last().flags == (flag::contributes | flag::consumes) && last().bytes == sizeof out);
  std::vector<int> gathered(static_cast<std::size_t>(ranks) + 1), counts(gathered.size(), 1), places(gathered.size(), 0);
  MPI_Gatherv(&out, 1, MPI_INT, gathered.data(), counts.data(), places.data(), MPI_INT, root, inter);
  CHECK(last().has(flag::consumes) == (root == MPI_ROOT) && last().has(flag::contributes) == (low_half == 0));
  MPI_Scatterv(gathered.data(), counts.data(), places.data(), MPI_INT, &in, 1, MPI_INT, root, inter);
  CHECK(last().has(flag::contributes) == (root == MPI_ROOT) && last().has(flag::consumes) == (low_half == 0));
  CHECK(root != MPI_ROOT || last().bytes == sizeof(int) * static_cast<std::size_t>(remote));
  counts.assign(counts.size(), 0);
  counts[0] = 1;  // only with rank 0 of the other group
  places.assign(places.size(), 0);
  std::vector<int> takes(counts);
  if (half_rank != 0) takes[0] = counts[0] = 0;
  for (int i = 1; i < remote && half_rank == 0; ++i)
    takes[static_cast<std::size_t>(i)] = counts[static_cast<std::size_t>(i)] = 0;
  MPI_Alltoallv(gathered.data(), counts.data(), places.data(), MPI_INT, gathered.data() + 1, takes.data(), places.data(),
                MPI_INT, inter);
  CHECK(last().has(flag::sparse) == (remote > 1 || half_rank != 0));
  CHECK(!last().has(flag::sparse) || last().peer == (half_rank == 0 ? 1 : 0));
  MPI_Intercomm_merge(inter, low_half, &merged);
  CHECK(last().comm == index_of(merged));
  check(merged, "merged");

  // Freed handles are reused for other communicators, ids are not.
  std::set<whywait::core::stable_key> ids;
  std::set<std::uint64_t> handles;
  for (int i = 0; i < 50; ++i) {
    MPI_Comm again;
    if (i % 3 == 0) MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &again);
    else if (i % 3 == 1) MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &again);
    else MPI_Comm_dup(half, &again);
    ids.insert(check(again, "again"));
    handles.insert(whywait::mpi::bits_of(again));
    int value = 1;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, again);
    CHECK(last().comm == index_of(again));
    const auto was = index_of(again);
    if (i % 2 == 0) MPI_Comm_free(&again);
    else MPI_Comm_disconnect(&again);
    CHECK(again == MPI_COMM_NULL && last().comm == was);
  }
  CHECK(ids.size() == 50);
  CHECK(handles.size() < 50);

  // A communicator that was created without a wrapper is registered at its first use. It has no id: members may use two of
  // them in different orders.
  MPI_Comm unseen;
  PMPI_Comm_dup(MPI_COMM_WORLD, &unseen);
  MPI_Barrier(unseen);
  CHECK(communicator(last()).id == 0 && communicator(last()).size == ranks);

  // This is the last test, because Open MPI 4.1 may hang in a later MPI_Dist_graph_create if some ranks have one
  // communicator less (also without whywait).
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int first = 0;
  MPI_Group_excl(world, 1, &first, &some);
  if (rank != 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &group_comm);
    CHECK(last().call == mpi_call::Comm_create_group && last().comm == index_of(group_comm));
    check(group_comm, "create group");
  }
  MPI_Comm_create(MPI_COMM_WORLD, some, &created);
  CHECK(last().comm == 0 && (created == MPI_COMM_NULL) == (rank == 0));
  if (rank != 0) check(created, "create");

  for (MPI_Comm* c : {&dup, &same_list, &split, &type, &cart, &sub, &graph, &dist, &adjacent, &idup, &between, &half, &inter,
                      &merged, &unseen})
    MPI_Comm_free(c);
  if (rank != 0) MPI_Comm_free(&group_comm), MPI_Comm_free(&created);
  MPI_Group_free(&world);
  MPI_Group_free(&some);
  MPI_Finalize();
  return result();
}
