#ifndef WHYWAIT_REPORT_ASSEMBLE_HPP
#define WHYWAIT_REPORT_ASSEMBLE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/replace.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/ledger_assemble.hpp>
#include <whywait/report/maps_assemble.hpp>
#include <whywait/report/merge_lines.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/numbered_regions.hpp>
#include <whywait/report/picture_rows.hpp>
#include <whywait/report/verdict.hpp>
#include <whywait/rules/finding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

inline const char* name_of(explain::quality q) noexcept {
  switch (q) {
    case explain::quality::exact: return "exact";
    case explain::quality::bounded: return "bounded";
    case explain::quality::order_suspect: return "order_suspect";
    case explain::quality::hidden_tree: return "hidden_tree";
  }
  return "bounded";
}

namespace detail {

inline base::vector<location_seconds> shares_of(const base::vector<explain::location_share>& shares) {
  base::vector<location_seconds> out;
  out.reserve(shares.size());
  for (const explain::location_share& s : shares) out.push_back({s.rank, s.thread, base::seconds_of(s.ns)});
  return out;
}

inline base::vector<advice_entry> advice_of(const base::vector<rules::finding>& findings) {
  base::vector<advice_entry> out;
  for (const rules::finding& f : findings) {
    out.push_back({f.problem, f.advice, f.saving, f.description, f.seconds, f.predicted});
    out.back().at_least = f.at_least;
    for (const rules::action& a : f.actions) out.back().actions.push_back(a.text);
  }
  return out;
}

}  // namespace detail

/// Builds the report from the outcome of an analysis and the findings of the rules. A wait that no rule describes is
/// not listed; only its time is reported. If an outcome violates residual + unexplained = wait, the difference goes
/// into the remainder, so that the numbers of a report always add up. O(size of the outcome).
inline result assemble(const explain::outcome& found, const base::names& known, run_facts facts,
                       const rules::evaluation& said = {}) {
  result out;
  base::replace(out.run, std::move(facts));
  out.run.locations = found.locations;
  out.run.seconds = std::max(out.run.seconds, base::seconds_of(found.longest_ns));
  out.run.location_seconds = base::seconds_of(found.location_ns);
  out.run.waiting_seconds = base::seconds_of(found.waiting_ns);
  out.run.paused_seconds = base::seconds_of(found.paused_ns);
  out.run.unmatched = found.unmatched;
  out.run.progress = found.progress;
  out.run.clock_violations = found.clock_violations;

  const detail::name_resolver resolve(found, known);
  base::pod_vector<const explain::explanation*> order;
  for (const explain::explanation& e : found.waits) order.push_back(&e);
  base::small_stable_sort(order, [](const auto* a, const auto* b) { return a->wait_ns > b->wait_ns; });

  base::pod_vector<const explain::explanation*> listed;
  std::int64_t unlisted_ns = found.waiting_ns;
  std::int64_t remainder_ns = 0;
  std::int64_t undescribed_ns = 0;
  for (const explain::explanation* e : order) {
    const auto index = static_cast<std::size_t>(e - found.waits.data());
    unlisted_ns -= e->wait_ns;
    if (index < said.waits.size() && !said.waits[index].known) {
      undescribed_ns += e->wait_ns;
      out.run.undescribed_waits += e->count;
      continue;
    }
    wait_entry w;
    w.pattern = explain::name_of(e->why);
    w.quality = reports::name_of(e->trust);
    w.seconds = base::seconds_of(e->wait_ns);
    w.longest_seconds = base::seconds_of(e->longest_ns);
    if (w.seconds > 0) w.typical_seconds = std::min(e->squares_us2 * 1e-12 / w.seconds, w.longest_seconds);
    w.count = e->count;
    w.wrong_order = e->wrong_order_count > 0;
    w.wrong_order_count = e->wrong_order_count;
    w.wrong_order_seconds = base::seconds_of(e->wrong_order_ns);
    w.operation = resolve.site(e->operation);
    w.cause = resolve.site(e->cause);
    if (found.total_ns != 0) {
      w.compensated_seconds = base::seconds_of(e->compensated_ns);
      w.compensated_quality = reports::name_of(e->compensated_trust);
      if (!e->residual.empty()) w.saving_seconds = detail::saving_of(found, e->residual[0].block);
    }
    w.indirect_seconds = base::seconds_of(e->inherited_wait_ns());
    w.waiters = detail::shares_of(e->waiters);
    w.causers = detail::shares_of(e->causers);

    std::int64_t explained_ns = 0;
    for (const explain::residual_term& t : e->residual) {
      residual_entry r;
      resolve.describe(t.block, t.within, r);
      static_cast<explain::residual_sums&>(r) = t;
      r.slower = explain::parts_of(t, e->counts, found.fault_ns);
      explained_ns += t.total_ns;
      w.residual.push_back(std::move(r));
    }
    base::small_stable_sort(w.residual, [](const residual_entry& a, const residual_entry& b) {
      return std::abs(a.total_ns) > std::abs(b.total_ns);
    });
    merge_lines(w.residual, false);
    w.unexplained_seconds = base::seconds_of(e->wait_ns - explained_ns);
    remainder_ns += e->wait_ns - explained_ns;
    if (!e->picture.empty()) w.longest = align(e->longest, e->picture, known);
    if (index < said.waits.size()) w.advice = detail::advice_of(said.waits[index].list);
    out.waits.push_back(std::move(w));
    listed.push_back(e);
  }
  if (found.total_ns != 0) out.ledger = detail::ledger_of(found, resolve);
  out.maps = detail::maps_of(found, listed, resolve);
  out.ledger.overhead.pause_seconds = out.run.pause_seconds;
  out.ledger.overhead.poll_seconds = out.run.poll_seconds;
  out.ledger.overhead.pauses = std::max<std::int64_t>(out.run.epochs - 1, 0);
  // Neither is in the records that the clocks compensate: without measuring the run may have been shorter by them.
  out.ledger.overhead.error_seconds += out.run.poll_seconds + out.run.compare_seconds;
  out.verdict = detail::verdict_of(found, resolve, said, out.run.first_comers);
  out.problems = detail::advice_of(said.problems);
  std::string numbered = numbered_regions(out.waits);
  if (!numbered.empty()) {
    out.run.warnings.push_back(std::move(numbered));
    out.run.warnings.front().swap(out.run.warnings.back());  // the verdict may rest on it
  }
  out.run.undescribed_seconds = base::seconds_of(undescribed_ns);
  out.run.unexplained_seconds = base::seconds_of(remainder_ns + std::max<std::int64_t>(unlisted_ns, 0));
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
