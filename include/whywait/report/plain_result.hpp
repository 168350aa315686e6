#ifndef WHYWAIT_REPORT_PLAIN_RESULT_HPP
#define WHYWAIT_REPORT_PLAIN_RESULT_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/page/page.hpp>
#include <whywait/report/run_result.hpp>
#include <whywait/report/text.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

inline whywait::result::place plain(const base::place& p) {
  whywait::result::place out;
  const std::string code = code_text(p);
  out.text = !p.call.empty() ? call_text(p, "in") : base::printable(p.name) + (code.empty() ? "" : " (" + code + ")");
  out.call = p.call;
  out.name = p.name;
  out.region = p.region;
  out.function = p.function;
  out.file = p.file;
  out.line = p.line;
  out.caller = p.caller;
  return out;
}

inline std::vector<whywait::result::location> plain(const base::vector<location_seconds>& all) {
  std::vector<whywait::result::location> out;
  for (const location_seconds& l : all) out.push_back({l.rank, l.thread, l.seconds});
  return out;
}

inline std::vector<whywait::result::advice> plain(const base::vector<advice_entry>& all) {
  std::vector<whywait::result::advice> out;
  for (const advice_entry& a : all)
    out.push_back({a.problem, a.text, a.description, a.saving_seconds, a.predicted, a.at_least});
  return out;
}

inline whywait::result::cause plain(const residual_entry& r) {
  whywait::result::cause out;
  out.block = r.block;
  out.kind = r.kind;
  out.where = plain(r.where);
  out.seconds = r.seconds();
  out.visits_seconds = r.visits_seconds();
  out.speed_seconds = r.speed_seconds();
  out.inherited_seconds = r.inherited_seconds();
  const explain::slower_parts& why = r.slower;
  out.slower = {base::seconds_of(why.preempted_ns),
                base::seconds_of(why.blocked_ns),
                base::seconds_of(why.kernel_ns),
                base::seconds_of(why.instructions_ns),
                base::seconds_of(why.cycles_ns),
                base::seconds_of(why.frequency_ns),
                base::seconds_of(why.not_counted_ns),
                base::seconds_of(why.memory_ns),
                why.more_faults,
                why.more_moves,
                why.counted};
  out.late_visits = r.causer_visits;
  out.waiting_visits = r.waiter_visits;
  out.late_work = r.causer_work;
  out.waiting_work = r.waiter_work;
  out.remark = remark(r);
  return out;
}

inline whywait::result::wait plain(const wait_entry& w) {
  whywait::result::wait out;
  out.pattern = w.pattern;
  out.quality = w.quality;
  out.seconds = w.seconds;
  out.longest_seconds = w.longest_seconds;
  out.count = w.count;
  out.operation = plain(w.operation);
  out.late_call = plain(w.cause);
  out.unexplained_seconds = w.unexplained_seconds;
  out.inherited_seconds = w.indirect_seconds;
  for (const residual_entry& r : w.residual) out.causes.push_back(plain(r));
  out.waiters = plain(w.waiters);
  out.late = plain(w.causers);
  out.advice = plain(w.advice);
  return out;
}

inline whywait::result::region plain(const region_entry& r) {
  whywait::result::region out;
  out.name = r.where.name;
  out.kind = r.where.kind;
  out.where = plain(r.where);
  out.visits = r.visits;
  out.ranks = static_cast<int>(r.ranks);
  out.threads = static_cast<int>(r.threads);
  out.min_seconds = r.min_seconds;
  out.mean_seconds = r.ranks > 0 ? r.seconds / static_cast<double>(r.ranks) : 0;
  out.max_seconds = r.max_seconds;
  out.min_rank = r.min_rank;
  out.max_rank = r.max_rank;
  out.own_seconds = r.own_seconds;
  out.mpi_seconds = r.mpi_seconds;
  out.work = r.work;
  out.recursive = r.recursive;
  if (r.efficiency) out.efficiency = {r.efficiency->parallel, r.efficiency->load_balance, r.efficiency->communication, {}, {}};
  return out;
}

inline whywait::result::traffic plain(const traffic_entry& t) {
  whywait::result::traffic out;
  out.where = plain(t.where);
  out.operation = t.operation;
  out.peers = t.peers;
  out.ranks = static_cast<int>(t.ranks);
  out.count = t.count;
  out.bytes = t.bytes;
  out.least_bytes = t.least_bytes;
  out.most_bytes = t.most_bytes;
  out.seconds = t.seconds;
  for (const size_class& s : t.sizes) out.sizes.push_back({s.least_bytes, s.count, s.bytes});
  return out;
}

/// Keeps the complete result of the report for the texts of a plain one.
class kept_result final : public whywait::result_printer {
 public:
  explicit kept_result(result all) : all_(std::move(all)) {}
  std::string text(bool full, std::size_t columns) const override {
    text_options options;
    options.full = full;
    options.columns = columns;
    return text_of(all_, options);
  }
  std::string json() const override { return json_of(all_); }
  std::string write_json(const std::string& path) const override { return write_json_file(all_, path); }
  std::string write_page(const std::string& path) const override { return write_page_file(all_, path); }

 private:
  result all_;
};

}  // namespace detail

/// The result as programs read it (<whywait/result.hpp>). O(size of the result).
inline whywait::result plain(result all) {
  const base::rank_noun_scope noun(all.run.threads_only);
  whywait::result out;
  const run_facts& run = all.run;
  out.reason.clear();
  out.program = run.origin.program;
  for (const std::string& word : run.origin.arguments) out.arguments += (out.arguments.empty() ? "" : " ") + word;
  out.date = run.origin.date;
  out.nodes = static_cast<int>(run.origin.nodes);
  out.ranks = static_cast<int>(run.ranks);
  out.threads = static_cast<int>(run.locations);
  out.seconds = run.seconds;
  out.rank_seconds = run.location_seconds;
  out.waiting_seconds = run.waiting_seconds;
  out.unexplained_seconds = run.unexplained_seconds;
  out.not_understood_seconds = all.not_understood.seconds;
  out.files_seconds = all.files.seconds;
  out.other_worlds_seconds = all.other_worlds.seconds;
  out.paused_seconds = run.paused_seconds;
  out.other_threads = static_cast<int>(run.other_threads);
  out.other_thread_seconds = run.other_thread_seconds;
  out.mpi_calls = run.mpi_calls;
  out.dropped_events = run.dropped_events;
  out.unmatched_messages = run.unmatched;
  out.clock_violations = run.clock_violations;
  out.partial = run.partial || run.unseen_seconds > 0 || run.dropped_events > 0;
  out.nothing_worth_changing = nothing_worth_changing(all);
  for (const std::string& w : run.warnings) out.warnings.push_back(w);
  const explain::efficiencies& e = all.ledger.efficiency;
  if (e.parallel > 0) out.efficiency = {e.parallel, e.load_balance, e.serialisation * e.transfer, e.serialisation, e.transfer};
  if (e.parallel > 0 && e.files > 0 && e.files < 1) {
    out.efficiency->files = e.files;
    out.efficiency->communication *= e.files;
  }
  for (const verdict_entry& v : all.verdict) {
    const saving_range range = range_of(all, v);
    out.verdict.push_back({sentence(all, v), v.problem, v.block, v.problem.empty() ? v.rank : -1, v.ratio, v.saving_seconds,
                           range.low, range.high});
  }
  for (const wait_entry& w : all.waits) out.waits.push_back(detail::plain(w));
  out.problems = detail::plain(all.problems);
  for (const region_entry& r : all.profile.regions) out.regions.push_back(detail::plain(r));
  for (const traffic_entry& t : all.profile.messages) out.messages.push_back(detail::plain(t));
  for (std::size_t i = 0; i != all.profile.ranks.size(); ++i) {
    const rank_entry& r = all.profile.ranks[i];
    const auto node = static_cast<std::size_t>(r.node);
    out.each_rank.push_back({static_cast<int>(i), node < all.profile.hosts.size() ? all.profile.hosts[node] : std::string(),
                             r.seconds, r.mpi_seconds, r.waiting_seconds,
                             i < all.not_understood.ranks.size() ? all.not_understood.ranks[i].seconds : 0.0});
  }
  for (const place_total& c : all.not_understood.calls)
    out.unknown_calls.push_back({detail::plain(c.where), c.visits, c.seconds});
  for (const critical_entry& c : all.ledger.critical_path)
    out.critical_path.push_back({c.block, c.kind, detail::plain(c.where), c.seconds, c.imbalance_seconds, c.saving_seconds});
  for (const whatif::answer& a : all.prediction.answers) {
    const bool known = a.refusal.empty();
    out.predictions.push_back({a.question, a.refusal, known ? a.seconds : 0, known ? a.low_seconds : 0,
                               known ? a.high_seconds : 0, known ? a.measured_seconds - a.seconds : 0});
  }
  out.printer = std::make_shared<detail::kept_result>(std::move(all));
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
