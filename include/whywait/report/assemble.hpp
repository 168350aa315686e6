#ifndef WHYWAIT_REPORT_ASSEMBLE_HPP
#define WHYWAIT_REPORT_ASSEMBLE_HPP

#include <whywait/explain/explanation.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/report/merge_lines.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/picture.hpp>
#include <whywait/report/units.hpp>
#include <whywait/rules/finding.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace report {

inline const char* name_of(explain::quality q) noexcept {
  switch (q) {
    case explain::quality::exact:
      return "exact";
    case explain::quality::bounded:
      return "bounded";
    case explain::quality::order_suspect:
      return "order_suspect";
    case explain::quality::hidden_tree:
      return "hidden_tree";
  }
  return "bounded";
}

inline const char* name_of(explain::block_kind k) noexcept {
  switch (k) {
    case explain::block_kind::region:
      return "region";
    case explain::block_kind::step:
      return "step";
    case explain::block_kind::waiting:
      return "waiting";
    case explain::block_kind::between:
      return "between";
    case explain::block_kind::call:
      return "call";
    case explain::block_kind::startup:
      return "startup";
    case explain::block_kind::other:
      return "other";
  }
  return "other";
}

namespace detail {

/// Names and places for the keys of one outcome.
class name_resolver {
 public:
  name_resolver(const explain::outcome& found, const names& known) : known_(known) {
    for (const explain::block_meaning& m : found.meanings) meanings_.emplace(m.key, m);
  }

  place site(core::stable_key key) const {
    const place* p = known_.find(key);
    return p != nullptr ? *p : place{};
  }

  void describe(const explain::residual_term& term, residual_entry& out) const {
    const auto meaning = meanings_.find(term.block);
    explain::block_meaning m{term.block, term.within != 0 ? explain::block_kind::step : explain::block_kind::region,
                             term.block, 0};
    if (meaning != meanings_.end()) m = meaning->second;
    out.kind = report::name_of(m.kind);
    const place* const marked = known_.find(m.first);
    if (m.kind == explain::block_kind::region && marked != nullptr && !marked->kind.empty()) out.kind = marked->kind;
    if (term.within != 0) {
      const auto around = meanings_.find(term.within);
      out.within = around != meanings_.end() && around->second.kind == explain::block_kind::between
                       ? interval_name(around->second)
                       : block_name(term.within);
    }
    switch (m.kind) {
      case explain::block_kind::region:
      case explain::block_kind::step:
      case explain::block_kind::waiting:
        out.where = site(m.first);
        out.block = block_name(m.first);
        break;
      case explain::block_kind::between:
        out.where = site(m.second);
        if (m.first != 0) out.from = site(m.first);
        out.block = interval_name(m);
        break;
      case explain::block_kind::call:
        out.where = site(m.first);
        out.block = "inside " + call_text(out.where);
        break;
      case explain::block_kind::startup:
        out.block = "start-up, before MPI_Init returned";
        break;
      case explain::block_kind::other:
        out.block = "all other code";
        break;
    }
  }

 private:
  std::string interval_name(const explain::block_meaning& m) const {
    return "between " + (m.first != 0 ? call_text(site(m.first), "at") : std::string("MPI_Init")) + " and " +
           call_text(site(m.second), "at");
  }

  std::string block_name(core::stable_key key) const {
    const place* p = known_.find(key);
    if (p != nullptr && !p->name.empty()) return p->name;
    if (p != nullptr && !p->region.empty()) return std::string(last_of(p->region));
    if (p != nullptr && !p->function.empty()) return short_name(p->function);
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, key, 16);
    return "unnamed block " + std::string(digits, end.ptr);
  }

  const names& known_;
  std::unordered_map<core::stable_key, explain::block_meaning> meanings_;
};

[[gnu::cold]] inline std::vector<location_seconds> shares_of(const std::vector<explain::location_share>& shares) {
  std::vector<location_seconds> out;
  out.reserve(shares.size());
  for (const explain::location_share& s : shares) out.push_back({s.rank, s.thread, seconds_of(s.ns)});
  return out;
}

[[gnu::cold]] inline std::vector<advice_entry> advice_of(const std::vector<rules::finding>& findings) {
  std::vector<advice_entry> out;
  for (const rules::finding& f : findings) {
    out.push_back({f.problem, f.advice, f.saving, f.description, f.seconds});
    for (const rules::action& a : f.actions) out.back().actions.push_back(a.text);
  }
  return out;
}

}  // namespace detail

/// From the outcome of an analysis, and what rules said about it, to the report. A wait that no rule describes is not
/// listed, only its time is told. Where an outcome does not keep the sum (residual + unexplained = wait), the difference
/// goes into the remainder, so that a reader can always add up. Cost O(size of the outcome).
[[gnu::cold]] inline result assemble(const explain::outcome& found, const names& known, run_facts facts,
                                     const rules::evaluation& said = {}) {
  result out;
  out.run = std::move(facts);
  out.run.locations = found.locations;
  out.run.seconds = seconds_of(found.longest_ns);
  out.run.location_seconds = seconds_of(found.location_ns);
  out.run.waiting_seconds = seconds_of(found.waiting_ns);
  out.run.unmatched = found.unmatched;
  out.run.clock_violations = found.clock_violations;

  const detail::name_resolver resolve(found, known);
  std::vector<const explain::explanation*> order;
  for (const explain::explanation& e : found.waits) order.push_back(&e);
  explain::sort_rarely(order, [](const auto* a, const auto* b) { return a->wait_ns > b->wait_ns; });

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
    w.quality = report::name_of(e->trust);
    w.seconds = seconds_of(e->wait_ns);
    w.longest_seconds = seconds_of(e->longest_ns);
    w.count = e->count;
    w.wrong_order = e->wrong_order_count > 0;
    w.wrong_order_count = e->wrong_order_count;
    w.wrong_order_seconds = seconds_of(e->wrong_order_ns);
    w.operation = resolve.site(e->operation);
    w.cause = resolve.site(e->cause);
    w.indirect_seconds = seconds_of(e->indirect_ns);
    w.waiters = detail::shares_of(e->waiters);
    w.causers = detail::shares_of(e->causers);

    std::int64_t explained_ns = 0;
    for (const explain::residual_term& t : e->residual) {
      residual_entry r;
      resolve.describe(t, r);
      r.seconds = seconds_of(t.total_ns);
      r.visits_seconds = seconds_of(t.visits_ns);
      r.speed_seconds = seconds_of(t.speed_ns);
      r.inherited_seconds = seconds_of(t.inherited_ns);
      r.causer_visits = t.causer_visits;
      r.waiter_visits = t.waiter_visits;
      r.causer_work = t.causer_work;
      r.waiter_work = t.waiter_work;
      r.causer_seconds = seconds_of(t.causer_ns);
      r.waiter_seconds = seconds_of(t.waiter_ns);
      explained_ns += t.total_ns;
      w.residual.push_back(std::move(r));
    }
    explain::sort_rarely(w.residual, [](const residual_entry& a, const residual_entry& b) {
      return std::abs(a.seconds) > std::abs(b.seconds);
    });
    merge_lines(w.residual, false);
    w.unexplained_seconds = seconds_of(e->wait_ns - explained_ns);
    remainder_ns += e->wait_ns - explained_ns;
    if (!e->picture.empty()) w.longest = align(e->longest, e->picture, known);
    if (index < said.waits.size()) w.advice = detail::advice_of(said.waits[index].list);
    out.waits.push_back(std::move(w));
  }
  out.problems = detail::advice_of(said.problems);
  out.run.undescribed_seconds = seconds_of(undescribed_ns);
  out.run.unexplained_seconds = seconds_of(remainder_ns + std::max<std::int64_t>(unlisted_ns, 0));
  return out;
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
