#include <whywait/base/vector.hpp>
#include <whywait/explain/engine.hpp>

#include "reference_simulation.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>
#include <tuple>

using namespace histories;

namespace {

using identity = std::tuple<int, std::uint32_t, std::int64_t>;  // rank, record, begin

std::map<identity, const explain::wait_instance*> by_record(const notebook& notes) {
  std::map<identity, const explain::wait_instance*> result;
  for (const auto& w : notes.waits) result[{w.rank, w.record, w.begin_ns}] = &w;
  return result;
}

// Compares the result of the engine with the reference and returns the differences; empty if there are none.
std::string disagreement(reference::program& truth, const explain::outcome& out, const notebook& notes) {
  std::ostringstream wrong;
  const auto found = by_record(notes);
  std::size_t expected = 0;
  std::int64_t waiting = 0;
  for (std::size_t k = 0; k != truth.waits().size(); ++k) {
    const reference::true_wait& w = truth.waits()[k];
    if (w.wait_ns == 0) continue;  // a tie at a synchronisation, which has a causer but no wait
    ++expected;
    waiting += w.wait_ns;
    wrong.str("");
    wrong << explain::name_of(w.why) << " of rank " << w.rank << " at record " << w.record << " for rank " << w.causer << ", "
          << w.wait_ns << " ns: ";
    const auto at = found.find({w.rank, w.record, w.begin_ns});
    if (at == found.end()) return wrong.str() + "not found";
    const explain::wait_instance& f = *at->second;
    if (f.why != w.why || f.causer_rank != w.causer || f.causer_record != w.causer_record) {
      wrong << "found " << explain::name_of(f.why) << " for rank " << f.causer_rank;
      return wrong.str();
    }
    if (f.wait_ns != w.wait_ns || f.begin_ns != w.begin_ns || !f.explained) {
      wrong << "found " << f.wait_ns << " ns from " << f.begin_ns << (f.explained ? "" : ", not explained");
      return wrong.str();
    }
    if (f.wait_ns < 0 || f.wait_ns > truth.call_ns(w.rank, w.record)) return wrong.str() + "longer than the call";
    if (sum(f.terms) != f.wait_ns) return wrong.str() + "the explanation does not add up";
    const reference::profile& x = truth.explanation(k);
    std::size_t named = 0;
    for (const auto& t : f.terms) {
      if (t.visits_ns + t.speed_ns != t.total_ns) return wrong.str() + "visits + speed is not the total";
      if (t.inherited_ns < 0 || t.inherited_ns > std::max<std::int64_t>(t.total_ns, 0)) return wrong.str() + "inherited";
      if (t.causer_visits < 0 || t.waiter_visits < 0 || t.causer_ns < 0 || t.waiter_ns < 0)
        return wrong.str() + "negative side";
      const explain::block_counts n({t.waiter_visits, 0, t.waiter_work}, {t.causer_visits, 0, t.causer_work});
      if (n.waiter == n.causer && n.waiter != 0 && t.visits_ns != 0)
        return wrong.str() + "time for visits of which there are equally many";
      // Both sides are those at the same place of the program; the paths differ by the lead.
      const bool lead = t.lead_visits != 0;
      if (!lead && t.causer_ns - t.waiter_ns != t.total_ns) return wrong.str() + "sides do not differ by the total";
      const auto b = x.find(t.block);
      if (b == x.end()) return wrong.str() + "a block too many";
      if (b->second.ns != t.total_ns || b->second.visits != t.causer_visits - t.waiter_visits - t.lead_visits ||
          (!lead && b->second.work != t.causer_work - t.waiter_work)) {
        wrong << "block: " << t.total_ns << " instead of " << b->second.ns;
        return wrong.str();
      }
      ++named;
    }
    if (named != x.size()) return wrong.str() + "a block is missing";
  }
  if (expected != notes.waits.size()) return "more waits than there are";
  if (waiting != out.waiting_ns) return "wrong sum of waits";
  std::int64_t merged = 0;
  for (const auto& e : out.waits) {
    merged += e.wait_ns;
    if (sum(e.residual) + e.unexplained_ns != e.wait_ns) return "a merged explanation does not add up";
  }
  if (merged != waiting) return "waits were lost in merging";
  if (out.clock_violations != 0 || out.unmatched != 0) return "violations or unmatched messages in an exact program";
  for (const auto& p : notes.paths) {
    std::int64_t all = 0;
    for (const auto& e : p.entries) all += e.causer_ns;
    if (all != p.elapsed_ns || all != truth.elapsed(p.rank)) return "a path is not as long as the run";
  }
  return "";
}

reference::shape shape_of(std::uint64_t seed) {
  reference::shape s;
  s.ranks = 2 + static_cast<int>(seed % 7);
  s.events = 15 + static_cast<int>(seed % 53);
  s.tails = seed % 4 != 0;
  return s;
}

}  // namespace

TEST_CASE("on 1,500 random programs every wait and its explanation are those of the reference") {
  std::size_t waits = 0;
  std::map<explain::pattern, std::size_t> seen;
  for (std::uint64_t seed = 1; seed <= repetitions(1500u); ++seed) {
    reference::program truth(seed, shape_of(seed));
    const explain::outcome out = truth.histories().explain();
    const std::string wrong = disagreement(truth, out, truth.histories().notes);
    CAPTURE(seed);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    waits += truth.histories().notes.waits.size();
    for (const auto& w : truth.histories().notes.waits) ++seen[w.why];
  }
  CHECK(waits > repetitions(20000u));
  for (const auto p : {explain::pattern::late_sender, explain::pattern::late_receiver, explain::pattern::wait_at_barrier,
                       explain::pattern::wait_at_nxn, explain::pattern::late_broadcast, explain::pattern::early_reduce,
                       explain::pattern::early_scan, explain::pattern::wait_at_finalize}) {
    CHECK(seen[p] > repetitions(100u));
  }
}

namespace {

// The same run with renumbered ranks; rank r becomes order[r].
std::deque<rank_data> renumbered(run& r, const whywait::base::vector<int>& order) {
  std::deque<rank_data> result;
  for (int i = 0; i != r.ranks(); ++i) {
    const int old = static_cast<int>(std::find(order.begin(), order.end(), i) - order.begin());
    rank_data d(i, r.ranks());
    d.begin_ns = r[old].begin_ns;
    d.end_ns = r[old].end_ns;
    d.locations = r[old].locations;
    d.blocks = r[old].blocks;
    d.communicators = r[old].communicators;
    for (explain::communicator& c : d.communicators) {
      if (c.world.empty()) {
        for (int k = 0; k != c.size; ++k) c.world.push_back(k);
      }
      for (std::int32_t& w : c.world) w = order[static_cast<std::size_t>(w)];
    }
    result.push_back(std::move(d));
  }
  return result;
}

explain::outcome explained(std::deque<rank_data>& data, notebook* notes = nullptr) {
  whywait::base::vector<explain::rank_history> all;
  for (rank_data& d : data) all.push_back(d.view(static_cast<int>(data.size())));
  explain::simulated_transport transport(static_cast<std::int32_t>(data.size()));
  explain::options settings = run::exact();
  settings.watch = notes;
  return explain::explain(transport, all, settings);
}

// All results, with rank numbers translated back.
std::string words(const explain::outcome& out, const whywait::base::vector<int>& order) {
  std::ostringstream s;
  const auto shares = [&](whywait::base::vector<explain::location_share> list) {
    for (auto& l : list) l.rank = static_cast<int>(std::find(order.begin(), order.end(), l.rank) - order.begin());
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (const auto& l : list) s << " " << l.rank << ":" << l.ns;
  };
  s << out.waiting_ns << " " << out.records << " " << out.location_ns << "\n";
  for (const auto& e : out.waits) {
    s << explain::name_of(e.why) << " " << e.operation << " " << e.cause << " " << e.count << " " << e.wait_ns << " "
      << e.longest_ns << " " << e.wrong_order_ns << " " << e.indirect_ns << " " << e.unexplained_ns << " " << e.first_ns;
    shares(e.waiters);
    shares(e.causers);
    for (const auto& t : e.residual) {
      s << " [" << t.block << " " << t.total_ns << " " << t.visits_ns << " " << t.causer_visits << " " << t.inherited_ns << "]";
    }
    s << "\n";
  }
  return s.str();
}

// Calls whose wait is a continuous function of the clocks. A late receiver counts only if the send lasted until the
// receive was posted, so that a clock error can create or remove such a wait.
bool steady(const sync_record& r) {
  const core::call_role role = core::role_of(r.call);
  return role == core::call_role::receive || role == core::call_role::probe || role == core::call_role::barrier ||
         role == core::call_role::all_to_all || role == core::call_role::one_to_all || role == core::call_role::all_to_one ||
         role == core::call_role::scan || role == core::call_role::finalise;
}

std::int64_t largest_change(run& r, const notebook& before, const notebook& after) {
  std::int64_t most = 0;
  for (int i = 0; i != r.ranks(); ++i) {
    const auto& records = r[i].locations[0].records;
    for (std::uint32_t k = 0; k != records.size(); ++k) {
      if (!steady(records[k])) continue;
      most = std::max(most, std::abs(before.wait_of(i, k) - after.wait_of(i, k)));
    }
  }
  return most;
}

}  // namespace

TEST_CASE("renumbering the ranks changes nothing but the numbers") {
  for (std::uint64_t seed = 1; seed <= repetitions(200u); ++seed) {
    reference::program truth(seed, shape_of(seed));
    whywait::base::vector<int> order;
    for (int i = 0; i != truth.histories().ranks(); ++i) order.push_back(i);
    const whywait::base::vector<int> same = order;
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
    std::deque<rank_data> other = renumbered(truth.histories(), order);
    CAPTURE(seed);
    REQUIRE(words(truth.histories().explain(), same) == words(explained(other), order));
  }
}

TEST_CASE("shifting one rank's clock by e changes no wait by more than 2 e, and the sums stay consistent") {
  for (std::uint64_t seed = 1; seed <= repetitions(200u); ++seed) {
    reference::program truth(seed, shape_of(seed));
    run& r = truth.histories();
    r.explain();
    const notebook before = r.notes;
    r.notes = {};
    const std::int64_t e = 1 + static_cast<std::int64_t>(seed % 40);
    const int shifted = static_cast<int>(seed % static_cast<std::uint64_t>(r.ranks()));
    r[shifted].clock.offset_ns += static_cast<double>(e);
    r[shifted].begin_ns += e;
    r[shifted].end_ns += e;
    const explain::outcome out = r.explain();
    CAPTURE(seed);
    REQUIRE(largest_change(r, before, r.notes) <= 2 * e);
    for (const auto& w : out.waits) REQUIRE(sum(w.residual) + w.unexplained_ns == w.wait_ns);
    for (const auto& w : r.notes.waits) {
      REQUIRE(w.wait_ns > 0);
      REQUIRE(w.wait_ns <= truth.call_ns(w.rank, w.record) + 1);
      REQUIRE((!w.explained || sum(w.terms) == w.wait_ns));
    }
    for (const auto& p : r.notes.paths) {
      std::int64_t all = 0;
      for (const auto& t : p.entries) all += t.causer_ns;
      REQUIRE(all == p.elapsed_ns);
    }
  }
}

TEST_CASE("clocks with another origin, rate and drift are corrected by their maps") {
  for (std::uint64_t seed = 1; seed <= repetitions(150u); ++seed) {
    reference::program truth(seed, shape_of(seed));
    run& r = truth.histories();
    whywait::base::vector<int> order;
    for (int i = 0; i != r.ranks(); ++i) order.push_back(i);
    const std::string expected = words(r.explain(), order);
    const notebook before = r.notes;
    r.notes = {};
    const bool drifts = seed % 2 == 0;
    for (int i = 0; i != r.ranks(); ++i) {
      // without drift the rate is a power of two, which avoids rounding
      const double ticks_per_ns = drifts ? 2.5 * (1 + 1e-4 * i) : static_cast<double>(1u << (i % 4));
      const std::uint64_t origin = 1000003u * static_cast<std::uint64_t>(i + 1);
      const auto ticks = [&](std::uint64_t since_ns) {
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(since_ns) * ticks_per_ns));
      };
      r[i].clock.origin = origin;
      r[i].clock.ns_per_tick = 1 / ticks_per_ns;
      for (auto& record : r[i].locations[0].records) {
        const std::uint64_t leave = ticks(record.begin + record.duration);
        record.begin = ticks(record.begin);
        record.duration = leave - record.begin;
        record.begin += origin;
      }
      for (auto& step : r[i].locations[0].steps) step.ticks = ticks(step.ticks);
    }
    const explain::outcome out = r.explain();
    CAPTURE(seed);
    if (drifts) {
      REQUIRE(largest_change(r, before, r.notes) <= 2);
    } else {
      REQUIRE(words(out, order) == expected);
    }
  }
}

TEST_CASE("waits below the threshold are counted and summed, but not explained") {
  int below = 0, above = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    reference::program truth(seed, shape_of(seed));
    explain::options settings = run::exact();
    const std::int64_t all = truth.histories().explain(settings).waiting_ns;
    truth.histories().notes = {};
    settings.threshold_ns = 100;
    const explain::outcome out = truth.histories().explain(settings);
    CHECK(out.waiting_ns == all);
    for (const auto& w : truth.histories().notes.waits) {
      // at an operation that synchronises all ranks, all waits are explained if one of them exceeds the threshold
      const bool together = w.why == explain::pattern::wait_at_barrier || w.why == explain::pattern::wait_at_nxn ||
                            w.why == explain::pattern::wait_at_finalize;
      if (w.wait_ns >= 100) {
        CHECK(w.explained);
        CHECK(sum(w.terms) == w.wait_ns);
        ++above;
      } else if (!together) {
        CHECK(!w.explained);
        ++below;
      }
    }
    for (const auto& e : out.waits) CHECK(sum(e.residual) + e.unexplained_ns == e.wait_ns);
  }
  CHECK(below > 100);
  CHECK(above > 100);
}

TEST_CASE("4,096 ranks are explained in one process") {
  const int ranks = 4096;
  run r(ranks);
  for (int i = 0; i != ranks; ++i) {
    const std::uint64_t work = 1000 + static_cast<std::uint64_t>(i == 77 ? 5000 : i % 10);
    r[i].step("work", work);
    r[i].collective(mpi_call::Barrier, work, 6001);
    r[i].end_ns = 6001;
  }
  const explain::outcome out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].count == ranks - 1);
  CHECK(out.waits[0].causers.at(0).rank == 77);
  CHECK(out.waits[0].waiters.size() == 17);  // 16 and the remainder
  CHECK(out.waits[0].waiters.back().rank == -1);
  std::int64_t waited = 0;
  for (const auto& w : out.waits[0].waiters) waited += w.ns;
  CHECK(waited == out.waits[0].wait_ns);
  CHECK(total(out.waits[0].residual, "work") == out.waits[0].wait_ns);
}

TEST_CASE("blocks that a rank defines and never runs do not change the explanation") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    reference::shape shape;
    shape.ranks = 3 + static_cast<int>(seed % 5);
    reference::program program(seed, shape);
    run& r = program.histories();
    const auto expected = r.explain();
    auto all = r.views();
    for (std::size_t i = 0; i != all.size(); ++i) {
      // blocks that it never ran
      for (std::uint64_t k = 0; k != 300; ++k) all[i].blocks.push_back(core::combine(i + 1, k + 1));
    }
    explain::simulated_transport t(r.ranks());
    const auto found = explain::explain(t, all, run::exact());
    CHECK(found.waiting_ns == expected.waiting_ns);
    REQUIRE(found.waits.size() == expected.waits.size());
    for (std::size_t i = 0; i != found.waits.size(); ++i) {
      const auto &a = found.waits[i], &b = expected.waits[i];
      CHECK(a.operation == b.operation);
      CHECK(a.cause == b.cause);
      CHECK(a.count == b.count);
      CHECK(a.wait_ns == b.wait_ns);
      CHECK(a.indirect_ns == b.indirect_ns);
      REQUIRE(a.residual.size() == b.residual.size());
      for (std::size_t k = 0; k != a.residual.size(); ++k) {
        CHECK(a.residual[k].block == b.residual[k].block);
        CHECK(a.residual[k].total_ns == b.residual[k].total_ns);
        CHECK(a.residual[k].visits_ns == b.residual[k].visits_ns);
      }
    }
    CHECK(found.meanings.size() == expected.meanings.size());
  }
}
