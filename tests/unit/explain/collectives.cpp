#include <whywait/base/vector.hpp>
#include <whywait/explain/collectives.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;
using whywait::explain::pattern;

namespace {

struct operation {
  explain::outcome out;
  whywait::base::vector<std::int64_t> waits;
};

// One operation on four ranks with the arrival and leave times of the oracle.
operation oracle(mpi_call call, int root, whywait::base::vector<std::uint64_t> enter = {10, 14, 12, 20},
                 whywait::base::vector<std::uint64_t> leave = {21, 21, 22, 21}) {
  run r(4);
  for (int i = 0; i != 4; ++i) {
    const auto k = static_cast<std::size_t>(i);
    unsigned data = flag::contributes | flag::consumes;
    if (core::role_of(call) == core::call_role::one_to_all) data = i == root ? flag::contributes : flag::consumes;
    if (core::role_of(call) == core::call_role::all_to_one) data = i == root ? flag::consumes : flag::contributes;
    if (core::role_of(call) == core::call_role::scan && i == 0) data = flag::contributes;
    r[i].collective(call, enter[k], leave[k], root, data);
  }
  operation o;
  o.out = r.explain();
  for (int i = 0; i != 4; ++i) o.waits.push_back(r.notes.wait_of(i, 0));
  return o;
}

using waits_ns = whywait::base::vector<std::int64_t>;

}  // namespace

TEST_CASE("oracle: NxN arrivals 10, 14, 12, 20 give waits 10, 6, 8, 0") {
  const operation o = oracle(mpi_call::Allreduce, -1);
  CHECK(o.waits == waits_ns{10, 6, 8, 0});
  REQUIRE(o.out.waits.size() == 1);
  CHECK(o.out.waits[0].why == pattern::wait_at_nxn);
  CHECK(o.out.waits[0].causers.at(0).rank == 3);
  CHECK(o.out.waits[0].trust == explain::quality::exact);
}

TEST_CASE("oracle: the same arrivals at a barrier and at finalize") {
  CHECK(oracle(mpi_call::Barrier, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Finalize, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Barrier, -1).out.waits.at(0).why == pattern::wait_at_barrier);
  CHECK(oracle(mpi_call::Finalize, -1).out.waits.at(0).why == pattern::wait_at_finalize);
}

TEST_CASE("oracle: as broadcast from 1 they give 4, 0, 2, 0") {
  const operation o = oracle(mpi_call::Bcast, 1);
  CHECK(o.waits == waits_ns{4, 0, 2, 0});
  CHECK(o.out.waits.at(0).why == pattern::late_broadcast);
  // rank 3 arrived at 20, during the waiters' calls; the library may have routed data through it
  CHECK(o.out.waits.at(0).trust == explain::quality::hidden_tree);
}

TEST_CASE("oracle: as reduction to 0 they give 10, 0, 0, 0") {
  const operation o = oracle(mpi_call::Reduce, 0);
  CHECK(o.waits == waits_ns{10, 0, 0, 0});
  CHECK(o.out.waits.at(0).why == pattern::early_reduce);
  CHECK(o.out.waits.at(0).causers.at(0).rank == 3);
}

TEST_CASE("oracle: as scan they give 0, 0, 2, 0") {
  CHECK(oracle(mpi_call::Scan, -1).waits == waits_ns{0, 0, 2, 0});
  CHECK(oracle(mpi_call::Exscan, -1).waits == waits_ns{0, 0, 2, 0});
  CHECK(oracle(mpi_call::Scan, -1).out.waits.at(0).why == pattern::early_scan);
}

TEST_CASE("a broadcast whose ranks all came before the root hides no tree") {
  const operation o = oracle(mpi_call::Bcast, 3);
  CHECK(o.waits == waits_ns{10, 6, 8, 0});
  CHECK(o.out.waits.at(0).trust == explain::quality::exact);
}

TEST_CASE("creating a communicator is a wait only if all were inside at once") {
  CHECK(oracle(mpi_call::Comm_dup, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Comm_dup, -1).out.waits.at(0).why == pattern::wait_at_create);
  CHECK(oracle(mpi_call::Comm_dup, -1, {10, 14, 12, 20}, {13, 21, 22, 21}).out.waits.empty());
  CHECK(oracle(mpi_call::Comm_idup, -1).out.waits.empty());
}

TEST_CASE("an NxN operation that does not overlap follows the data") {
  run r(3);
  // rank 0 only sends and leaves early; rank 1 only receives; rank 2 does both
  r[0].collective(mpi_call::Allgatherv, 1, 2, -1, flag::contributes);
  r[1].collective(mpi_call::Allgatherv, 3, 20, -1, flag::consumes);
  r[2].collective(mpi_call::Allgatherv, 9, 20, -1, flag::contributes | flag::consumes);
  r.explain();
  CHECK(r.notes.wait_of(0, 0) == 0);
  CHECK(r.notes.wait_of(1, 0) == 6);
  CHECK(r.notes.wait_of(2, 0) == 0);
}

TEST_CASE("an NxN operation without data synchronises no ranks") {
  run r(2);
  r[0].collective(mpi_call::Allgather, 1, 9, -1, 0);
  r[1].collective(mpi_call::Allgather, 8, 9, -1, 0);
  CHECK(r.explain().waits.empty());
}

TEST_CASE("a sparse Alltoallv waits for those ranks only from which it receives") {
  run r(3);
  const std::uint64_t enter[] = {1, 6, 15};
  for (int i = 0; i != 3; ++i) {
    sync_record& c = r[i].collective(mpi_call::Alltoallv, enter[i], 20, 0, flag::contributes | flag::sparse);
    c.tag = 0;
    c.peer = i == 0 ? 1 : 0;  // rank 0 needs rank 1, the others need no rank
  }
  r[0].locations[0].needs = {1};
  const auto out = r.explain();
  CHECK(r.notes.wait_of(0, 0) == 5);
  CHECK(r.notes.wait_of(1, 0) == 0);
  CHECK(out.waits.size() == 1);
}

TEST_CASE("ties are blamed on the lowest rank") {
  CHECK(oracle(mpi_call::Barrier, -1, {10, 20, 12, 20}).out.waits.at(0).causers.at(0).rank == 1);
}

TEST_CASE("the k-th collective of each process in a communicator is one operation") {
  run r(3);
  for (int i : {0, 2}) {
    explain::communicator sub;
    sub.id = core::key_of("sub");
    sub.size = 2;
    sub.rank = i / 2;
    sub.world = {0, 2};
    r[i].communicators.push_back(sub);
  }
  r[0].collective(mpi_call::Barrier, 1, 6).comm = 1;
  r[2].collective(mpi_call::Barrier, 6, 7).comm = 1;
  for (int i = 0; i != 3; ++i) r[i].collective(mpi_call::Barrier, i == 1 ? 8 : 10, 10);
  r[0].collective(mpi_call::Barrier, 20, 21).comm = 1;
  r[2].collective(mpi_call::Barrier, 17, 21).comm = 1;
  r.explain();
  CHECK(r.notes.wait_of(0, 0) == 5);
  CHECK(r.notes.wait_of(1, 0) == 2);
  CHECK(r.notes.wait_of(2, 2) == 3);
  CHECK(r.notes.waits.size() == 3);
}

TEST_CASE("collectives of intercommunicators are skipped, those with missing members are bounded") {
  run r(2);
  for (int i = 0; i != 2; ++i) {
    explain::communicator inter;
    inter.id = core::key_of("inter");
    inter.inter = true;
    inter.size = 1;
    inter.world = {1 - i};
    r[i].communicators.push_back(inter);
  }
  r[0].collective(mpi_call::Barrier, 1, 6).comm = 1;
  r[1].collective(mpi_call::Barrier, 5, 6).comm = 1;
  CHECK(r.explain().waits.empty());

  run missing(3);
  missing[0].collective(mpi_call::Barrier, 1, 6);
  missing[1].collective(mpi_call::Barrier, 5, 6);
  CHECK(missing.explain().waits.at(0).trust == explain::quality::bounded);
}
