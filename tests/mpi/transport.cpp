// ranks: 1 2 4
// The explanation over MPI equals the one over the simulated transport. The histories of random programs are
// distributed to the ranks as if they had been recorded there. A plain MPI program without interception.

#include <whywait/finalize/mpi_transport.hpp>

#include "../unit/explain/reference_simulation.hpp"

#include <cstdio>
#include <string>
#include <tuple>

namespace {

using namespace histories;

bool same(const explain::outcome& a, const explain::outcome& b) {
  const auto totals = [](const explain::outcome& o) {
    return std::make_tuple(o.locations, o.records, o.waiting_ns, o.location_ns, o.longest_ns, o.clock_violations, o.unmatched,
                           o.waits.size(), o.meanings.size());
  };
  if (totals(a) != totals(b)) return false;
  for (std::size_t i = 0; i != a.waits.size(); ++i) {
    const explain::explanation &x = a.waits[i], &y = b.waits[i];
    if (std::tie(x.why, x.operation, x.cause, x.trust, x.count, x.wait_ns, x.unexplained_ns, x.indirect_ns, x.first_ns) !=
        std::tie(y.why, y.operation, y.cause, y.trust, y.count, y.wait_ns, y.unexplained_ns, y.indirect_ns, y.first_ns)) {
      return false;
    }
    if (x.residual.size() != y.residual.size() || x.waiters.size() != y.waiters.size() ||
        x.causers.size() != y.causers.size()) {
      return false;
    }
    for (std::size_t k = 0; k != x.residual.size(); ++k) {
      const explain::residual_term &s = x.residual[k], &t = y.residual[k];
      if (std::tie(s.block, s.total_ns, s.visits_ns, s.inherited_ns, s.causer_visits, s.waiter_visits) !=
          std::tie(t.block, t.total_ns, t.visits_ns, t.inherited_ns, t.causer_visits, t.waiter_visits)) {
        return false;
      }
    }
    for (std::size_t k = 0; k != x.waiters.size(); ++k) {
      if (x.waiters[k].rank != y.waiters[k].rank || x.waiters[k].ns != y.waiters[k].ns) return false;
    }
  }
  return true;
}

// Rank 0 computes and sends, rank 1 always waits. There are more snapshots than the window admits, and replies arrive
// in another order than the sends.
void flood(run& r, int messages) {
  std::vector<std::uint32_t> posted;
  std::uint64_t t = 0, u = 0;
  for (int k = 0; k != messages; ++k) {
    r[0].step("produce", 100);
    r[0].send(t + 100, t + 101, 1, k % 3);
    t += 101;
    posted.push_back(r[1].post_receive(u, u, 0, k % 3));
    if (k % 1000 == 999) {
      for (std::size_t i = posted.size(); i-- > 0;) {  // last first
        const std::uint64_t end = std::max(u, t) + 1;
        r[1].call(mpi_call::Wait, u, end);
        r[1].completes(posted[i]);
        u = end;
      }
      posted.clear();
    }
  }
  r[0].end_ns = static_cast<std::int64_t>(t);
  r[1].end_ns = static_cast<std::int64_t>(u);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, bad = 0, programs = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  whywait::finalize::mpi_transport transport(MPI_COMM_WORLD);
  const auto compare = [&](run& r, std::uint64_t seed) {
    const explain::outcome expected = r.explain();
    const whywait::base::vector<explain::rank_history> all = r.views();
    const explain::outcome found = explain::explain(transport, all[static_cast<std::size_t>(rank)], run::exact());
    if (rank == 0 && !same(expected, found)) {
      std::printf("transport: program %llu differs\n", static_cast<unsigned long long>(seed));
      ++bad;
    }
    ++programs;
  };
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    if (ranks == 1) {
      run r(1);
      r[0].send(1, 2, 0);
      r[0].receive(3, 4 + seed, 0);
      compare(r, seed);
      continue;
    }
    reference::shape s;
    s.ranks = ranks;
    s.events = 100;
    reference::program p(seed, s);
    compare(p.histories(), seed);
  }
  if (ranks >= 2) {
    run r(ranks);
    flood(r, 5000);
    compare(r, 0);
  }
  if (rank == 0) std::printf("transport: %d programs, %d differ\n", programs, bad);
  MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad == 0 ? 0 : 1;
}
