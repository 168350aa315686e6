#include <whywait/explain/engine.hpp>

#include "reference_simulation.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

using namespace histories;

namespace {

using identity = std::pair<int, std::uint32_t>;

std::map<identity, const explain::wait_instance*> by_record(const notebook& notes) {
  std::map<identity, const explain::wait_instance*> result;
  for (const auto& w : notes.waits) result[{w.rank, w.record}] = &w;
  return result;
}

// Everything the engine says about a program against what the reference knows. Empty if all is well.
std::string disagreement(reference::program& truth, const explain::outcome& out, const notebook& notes) {
  std::ostringstream wrong;
  const auto found = by_record(notes);
  std::size_t expected = 0;
  std::int64_t waiting = 0;
  for (std::size_t k = 0; k != truth.waits().size(); ++k) {
    const reference::true_wait& w = truth.waits()[k];
    if (w.wait_ns == 0) continue;  // a tie at a synchronisation: led on, but no wait
    ++expected;
    waiting += w.wait_ns;
    wrong.str("");
    wrong << explain::name_of(w.why) << " of rank " << w.rank << " at record " << w.record << " for rank " << w.causer
          << ", " << w.wait_ns << " ns: ";
    const auto at = found.find({w.rank, w.record});
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
      if (t.causer_visits < 0 || t.waiter_visits < 0 || t.causer_ns < 0 || t.waiter_ns < 0) return wrong.str() + "negative side";
      if (t.causer_ns - t.waiter_ns != t.total_ns) return wrong.str() + "sides do not differ by the total";
      const auto b = x.find(t.block);
      if (b == x.end()) return wrong.str() + "a block too many";
      if (b->second.ns != t.total_ns || b->second.visits != t.causer_visits - t.waiter_visits ||
          b->second.work != t.causer_work - t.waiter_work) {
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
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    reference::program truth(seed, shape_of(seed));
    const explain::outcome out = truth.histories().explain();
    const std::string wrong = disagreement(truth, out, truth.histories().notes);
    CAPTURE(seed);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    waits += truth.histories().notes.waits.size();
    for (const auto& w : truth.histories().notes.waits) ++seen[w.why];
  }
  CHECK(waits > 20000);
  for (const auto p : {explain::pattern::late_sender, explain::pattern::late_receiver, explain::pattern::wait_at_barrier,
                       explain::pattern::wait_at_nxn, explain::pattern::late_broadcast, explain::pattern::early_reduce,
                       explain::pattern::early_scan, explain::pattern::wait_at_finalize}) {
    CHECK(seen[p] > 100);
  }
}
