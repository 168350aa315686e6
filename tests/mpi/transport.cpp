// ranks: 1 2 4
// beside: nothing
//
// The explanation over MPI, and the one by rank 0 of the histories that it gathers, equal the one over the simulated
// transport. The histories of random programs are
// distributed to the ranks as if they had been recorded there. A plain MPI program without interception.

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/one_process.hpp>

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

// What the virtual clocks add: over MPI the delay costs are computed together with the first pass of the clocks.
bool same_clocks(const explain::outcome& a, const explain::outcome& b) {
  const auto totals = [](const explain::outcome& o) {
    return std::make_tuple(o.total_ns, o.without_overhead.total_ns, o.without_overhead.waiting_ns, o.costs.direct_ns,
                           o.costs.indirect_ns, o.costs.propagating_ns, o.costs.terminal_ns, o.costs.nobody_ns,
                           o.critical_path.size(), o.costs.blocks.size(), o.savings.size(), o.factors.size());
  };
  if (totals(a) != totals(b)) return false;
  for (std::size_t i = 0; i != a.waits.size(); ++i)
    if (a.waits[i].compensated_ns != b.waits[i].compensated_ns) return false;
  for (std::size_t i = 0; i != a.costs.blocks.size(); ++i) {
    const explain::delay_cost &x = a.costs.blocks[i], &y = b.costs.blocks[i];
    if (std::tie(x.block, x.short_ns, x.long_ns) != std::tie(y.block, y.short_ns, y.long_ns)) return false;
  }
  for (const auto of : {&explain::outcome::savings, &explain::outcome::factors})
    for (std::size_t i = 0; i != (a.*of).size(); ++i)
      if ((a.*of)[i].total_ns != (b.*of)[i].total_ns) return false;
  return true;
}

// Stores the waits of this rank as its observer.
struct own_waits final : explain::observer {
  void wait(const explain::wait_instance& w) override { all.emplace_back(w.rank, w.location, w.record, w.wait_ns); }
  std::vector<std::tuple<std::int32_t, std::uint32_t, std::uint32_t, std::int64_t>> all;
};

// Knows the call sites whose number leaves this rank when divided by the number of ranks.
struct names_of_rank final : explain::function_names {
  explicit names_of_rank(std::uint64_t rank, std::uint64_t ranks) : rank_(rank), ranks_(ranks) {}
  explain::source_keys source_of(whywait::core::stable_key site) override {
    return contains(site) ? explain::source_keys{site / 2 + 1, site / 3 + 1} : explain::source_keys{};
  }
  bool contains(whywait::core::stable_key site) const override { return site % ranks_ == rank_; }

 private:
  std::uint64_t rank_, ranks_;
};

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
  whywait::finalize::mpi_transport transport(MPI_COMM_WORLD), messages(MPI_COMM_WORLD, false);
  const auto compare = [&](run& r, std::uint64_t seed) {
    const explain::outcome expected = r.explain();
    const whywait::base::vector<explain::rank_history> all = r.views();
    whywait::finalize::mpi_transport& used = seed % 2 == 0 ? transport : messages;
    const explain::outcome found = explain::explain(used, all[static_cast<std::size_t>(rank)], run::exact());
    if (rank == 0 && !same(expected, found)) {
      std::printf("transport: program %llu differs\n", static_cast<unsigned long long>(seed));
      ++bad;
    }
    if (seed % 3 == 0) {
      explain::options timed = run::exact();
      timed.clocks = &clocks::virtual_clocks;
      timed.maps = true;
      const explain::outcome measured = r.explain(timed);
      const explain::outcome again = explain::explain(used, all[static_cast<std::size_t>(rank)], timed);
      if (rank == 0 && !(same(measured, again) && same_clocks(measured, again))) {
        std::printf("transport: program %llu differs with the clocks\n", static_cast<unsigned long long>(seed));
        ++bad;
      }
    }
    explain::options watched = run::exact();
    own_waits apart, together;
    watched.watch = &apart;
    explain::explain(transport, all[static_cast<std::size_t>(rank)], watched);
    watched.watch = &together;
    whywait::explain::epoch_memory memory;
    const explain::outcome gathered = whywait::finalize::explain_in_one_process(
        transport, all[static_cast<std::size_t>(rank)], memory, watched, whywait::finalize::team(MPI_COMM_WORLD));
    const bool equal = apart.all == together.all && (rank != 0 || same(expected, gathered));
    if (!equal) {
      std::printf("transport: program %llu differs on rank %d where rank 0 explains all\n",
                  static_cast<unsigned long long>(seed), rank);
    }
    int differs = equal ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    bad += rank == 0 ? differs : 0;
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
    compare(r, 1);
  }
  {
    whywait::finalize::gathered_histories calls;
    explain::rank_history of_all;
    of_all.locations.emplace_back();
    for (std::uint64_t site = 100; site != 150; ++site) of_all.locations[0].call_sites.push_back(site);
    if (rank == 0) calls.add(of_all);
    names_of_rank own(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks));
    whywait::finalize::detail::functions_of_all names(own, calls.all(), whywait::finalize::team(MPI_COMM_WORLD));
    for (std::uint64_t site = 100; rank == 0 && site != 150; ++site) {
      const explain::source_keys found = names.source_of(site);
      bad += found.function == site / 2 + 1 && found.line == site / 3 + 1 ? 0 : 1;
    }
  }
  if (rank == 0) std::printf("transport: %d programs, %d differ\n", programs, bad);
  MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad == 0 ? 0 : 1;
}
