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
#include <vector>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

/// Sets one plain value for each element of a list. It has its size at once, because code that lets it grow is long.
template <class Plain, class List, class Set>
void set_each(std::vector<Plain>& out, const List& all, const Set& set) {
  out = std::vector<Plain>(all.size());
  for (std::size_t i = 0; i != out.size(); ++i) set(out[i], all[i]);
}

inline void set_place(whywait::result::place& out, const base::place& p) {
  const std::string code = code_text(p);
  out.text = !p.call.empty() ? call_text(p, "in") : base::printable(p.name) + (code.empty() ? "" : " (" + code + ")");
  out.call = p.call;
  out.name = p.name;
  out.region = p.region;
  out.function = p.function;
  out.file = p.file;
  out.line = p.line;
  out.caller = p.caller;
}

inline void set_location(whywait::result::location& out, const location_seconds& l) { out = {l.rank, l.thread, l.seconds}; }

inline void set_advice(whywait::result::advice& out, const advice_entry& a) {
  out.problem = a.problem;
  out.text = a.text;
  out.description = a.description;
  out.saving_seconds = a.saving_seconds;
  out.predicted = a.predicted;
  out.at_least = a.at_least;
}

inline void set_cause(whywait::result::cause& out, const residual_entry& r, const wait_entry& w) {
  out.block = r.block;
  out.kind = r.kind;
  set_place(out.where, r.where);
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
  out.remark = remark(r, {true, true, false, false, &w});
}

inline void set_wait(whywait::result::wait& out, const wait_entry& w) {
  out.pattern = w.pattern;
  out.quality = w.quality;
  out.seconds = w.seconds;
  out.longest_seconds = w.longest_seconds;
  out.count = w.count;
  set_place(out.operation, w.operation);
  set_place(out.late_call, w.cause);
  out.unexplained_seconds = w.unexplained_seconds;
  out.inherited_seconds = w.indirect_seconds;
  set_each(out.causes, w.residual, [&](whywait::result::cause& to, const residual_entry& r) { set_cause(to, r, w); });
  set_each(out.waiters, w.waiters, &set_location);
  set_each(out.late, w.causers, &set_location);
  set_each(out.advice, w.advice, &set_advice);
}

inline void set_region(whywait::result::region& out, const region_entry& r) {
  out.name = r.where.name;
  out.kind = r.where.kind;
  set_place(out.where, r.where);
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
}

inline void set_traffic(whywait::result::traffic& out, const traffic_entry& t) {
  set_place(out.where, t.where);
  out.operation = t.operation;
  out.peers = t.peers;
  out.ranks = static_cast<int>(t.ranks);
  out.count = t.count;
  out.bytes = t.bytes;
  out.least_bytes = t.least_bytes;
  out.most_bytes = t.most_bytes;
  out.seconds = t.seconds;
  set_each(out.sizes, t.sizes, [](whywait::result::traffic::size_class& to, const size_class& s) {
    to = {s.least_bytes, s.count, s.bytes};
  });
}

inline void set_unknown_call(whywait::result::unknown_call& out, const place_total& c) {
  set_place(out.where, c.where);
  out.count = c.visits;
  out.seconds = c.seconds;
}

inline void set_critical_block(whywait::result::critical_block& out, const critical_entry& c) {
  out.block = c.block;
  out.kind = c.kind;
  set_place(out.where, c.where);
  out.seconds = c.seconds;
  out.imbalance_seconds = c.imbalance_seconds;
  out.saving_seconds = c.saving_seconds;
}

inline void set_prediction(whywait::result::prediction& out, const whatif::answer& a) {
  out.question = a.question;
  out.refusal = a.refusal;
  if (!a.refusal.empty()) return;
  out.seconds = a.seconds;
  out.least_seconds = a.low_seconds;
  out.most_seconds = a.high_seconds;
  out.saving_seconds = a.measured_seconds - a.seconds;
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
  detail::set_each(out.verdict, all.verdict, [&all](whywait::result::verdict_entry& to, const verdict_entry& v) {
    const saving_range range = range_of(all, v);
    to.text = sentence(all, v);
    to.problem = v.problem;
    to.block = v.block;
    to.rank = v.problem.empty() ? v.rank : -1;
    to.thread = v.problem.empty() ? v.thread : 0;
    to.ratio = v.ratio;
    to.saving_seconds = v.saving_seconds;
    to.least_saving_seconds = range.low;
    to.most_saving_seconds = range.high;
  });
  detail::set_each(out.waits, all.waits, &detail::set_wait);
  detail::set_each(out.problems, all.problems, &detail::set_advice);
  detail::set_each(out.regions, all.profile.regions, &detail::set_region);
  detail::set_each(out.messages, all.profile.messages, &detail::set_traffic);
  int number = 0;
  detail::set_each(out.each_rank, all.profile.ranks, [&all, &number](whywait::result::rank& to, const rank_entry& r) {
    const auto node = static_cast<std::size_t>(r.node), at = static_cast<std::size_t>(number);
    to.number = number++;
    if (node < all.profile.hosts.size()) to.host = all.profile.hosts[node];
    to.seconds = r.seconds;
    to.mpi_seconds = r.mpi_seconds;
    to.waiting_seconds = r.waiting_seconds;
    if (at < all.not_understood.ranks.size()) to.not_understood_seconds = all.not_understood.ranks[at].seconds;
  });
  detail::set_each(out.unknown_calls, all.not_understood.calls, &detail::set_unknown_call);
  detail::set_each(out.critical_path, all.ledger.critical_path, &detail::set_critical_block);
  detail::set_each(out.predictions, all.prediction.answers, &detail::set_prediction);
  out.printer = std::make_shared<detail::kept_result>(std::move(all));
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
