#ifndef WHYWAIT_REPORT_JSON_HPP
#define WHYWAIT_REPORT_JSON_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/json_place.hpp>
#include <whywait/report/json_writer.hpp>
#include <whywait/report/ledger_json.hpp>
#include <whywait/report/maps_json.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/output_file.hpp>
#include <whywait/report/picture_text.hpp>
#include <whywait/report/prediction_text.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/profile_json.hpp>
#include <whywait/report/section.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/uneven_sleep.hpp>

#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

template <class Writer>
void write_locations(Writer& out, const char* name, const base::vector<location_seconds>& all) {
  out.key(name).begin_array();
  for (const location_seconds& l : all)
    out.begin_object().member("rank", l.rank).member("thread", l.thread).member("seconds", l.seconds).end_object();
  out.end_array();
}

template <class Writer>
void write_advice(Writer& out, const char* name, const base::vector<advice_entry>& all) {
  out.key(name).begin_array();
  for (const advice_entry& a : all) {
    out.begin_object().member("problem", a.problem).member("text", a.text).member("saving_seconds", a.saving_seconds);
    out.member("description", a.description).member("seconds", a.seconds).key("actions").begin_array();
    for (const std::string& action : a.actions) out.value(action);
    out.end_array().end_object();
  }
  out.end_array();
}

template <class Writer>
void write_residual(Writer& out, const residual_entry& r) {
  write_block(out, r);
  out.member("seconds", r.seconds()).member("visits_seconds", r.visits_seconds()).member("speed_seconds", r.speed_seconds());
  out.member("causer_visits", r.causer_visits).member("waiter_visits", r.waiter_visits);
  out.member("lead_visits", r.lead_visits);
  out.member("causer_work", r.causer_work).member("waiter_work", r.waiter_work);
  out.member("causer_seconds", r.causer_seconds()).member("waiter_seconds", r.waiter_seconds());
  out.member("inherited_seconds", r.inherited_seconds());
  if (r.slower.known_ns() != 0 || r.slower.counted) {
    const explain::slower_parts& p = r.slower;
    out.key("speed").begin_object().member("preempted_seconds", base::seconds_of(p.preempted_ns));
    out.member("more_migrations", p.more_moves).member("blocked_seconds", base::seconds_of(p.blocked_ns));
    out.member("kernel_seconds", base::seconds_of(p.kernel_ns)).member("more_page_faults", p.more_faults);
    if (p.counted)
      out.member("instructions_seconds", base::seconds_of(p.instructions_ns))
          .member("cycles_seconds", base::seconds_of(p.cycles_ns))
          .member("memory_seconds", base::seconds_of(p.memory_ns))
          .member("frequency_seconds", base::seconds_of(p.frequency_ns));
    out.member("not_counted_seconds", base::seconds_of(p.not_counted_ns)).end_object();
  }
  out.end_object();
}

template <class Writer>
void write_wait(Writer& out, const wait_entry& w) {
  out.begin_object().member("pattern", w.pattern).member("seconds", w.seconds).member("count", w.count);
  out.member("longest_seconds", w.longest_seconds).member("typical_seconds", w.typical_seconds).member("quality", w.quality);
  if (w.pattern == "late_sender")
    out.member("wrong_order", w.wrong_order)
        .member("wrong_order_count", w.wrong_order_count)
        .member("wrong_order_seconds", w.wrong_order_seconds);
  write_place(out, "operation", w.operation);
  write_place(out, "cause", w.cause);
  if (w.compensated_seconds)
    out.member("compensated_seconds", *w.compensated_seconds).member("compensated_quality", w.compensated_quality);
  if (w.saving_seconds) out.member("saving_seconds", *w.saving_seconds);
  out.member("unexplained_seconds", w.unexplained_seconds).member("indirect_seconds", w.indirect_seconds);
  out.key("residual").begin_array();
  for (const residual_entry& r : w.residual) write_residual(out, r);
  out.end_array();
  write_locations(out, "waiters", w.waiters);
  write_locations(out, "causers", w.causers);
  write_advice(out, "advice", w.advice);
  if (w.longest) write_picture(out, *w.longest);
  out.end_object();
}

template <class Writer>
void write_run(Writer& out, const result& r) {
  const run_facts& run = r.run;
  out.key("run").begin_object();
  write_origin(out, run.origin);
  out.member("ranks", run.ranks).member("locations", run.locations).member("seconds", run.seconds);
  if (run.threads_only) out.member("threads_only", true);
  if (run.primitives > 0)
    out.member("primitives", run.primitives)
        .member("short_waits", run.short_waits)
        .member("short_wait_seconds", run.short_wait_seconds)
        .member("least_wait_seconds", run.least_wait_seconds);
  if (run.interposed_calls > 0) out.member("interposed_calls", run.interposed_calls);
  if (run.unseen_seconds > 0) out.member("unseen_seconds", run.unseen_seconds);
  const share_range& all = run.waiting_of_all;
  if (all.high > 0) out.key("waiting_of_all").begin_array().value(all.low).value(all.high).end_array();
  if (run.unrecorded.matter())
    out.member("unrecorded_seconds", run.unrecorded.seconds).member("unrecorded_share", run.unrecorded.share);
  if (run.late.matters(run.seconds))
    out.key("late_start")
        .begin_object()
        .member("rank", run.late.rank)
        .member("seconds", run.late.seconds)
        .member("wait_seconds", run.late.wait_seconds)
        .end_object();
  if (run.other_threads > 0)
    out.member("other_threads", run.other_threads).member("other_thread_seconds", run.other_thread_seconds);
  out.member("location_seconds", run.location_seconds).member("waiting_seconds", run.waiting_seconds);
  if (!run.not_counted.empty()) {
    out.key("not_counted").begin_object().key("counts").begin_array();
    for (const std::string& name : run.not_counted) out.value(name);
    out.end_array().member("reason", run.not_counted_why).end_object();
  }
  if (run.paused_seconds > 0) out.member("paused_seconds", run.paused_seconds);
  out.member("unexplained_seconds", run.unexplained_seconds);
  out.member("undescribed_seconds", run.undescribed_seconds).member("undescribed_waits", run.undescribed_waits);
  out.member("mpi", run.mpi).member("mpi_calls", run.mpi_calls).member("dropped_events", run.dropped_events);
  if (run.epochs > 1) out.member("epochs", run.epochs);
  out.member("first_comers", run.first_comers)
      .member("unmatched", run.unmatched)
      .member("clock", run.clock)
      .member("clock_error_seconds", run.clock_error_seconds);
  out.member("clock_violations", run.clock_violations).member("partial", run.partial);
  out.member("nothing_worth_changing", nothing_worth_changing(r));
  out.key("progress").begin_array();
  for (const explain::progress_fact& p : run.progress) {
    out.begin_object()
        .member("waiter", p.sends ? "sender" : "receiver")
        .member("within_node", p.within_node)
        .member("least_bytes", static_cast<std::int64_t>(p.least_bytes))
        .member("calls", p.calls)
        .end_object();
  }
  out.end_array();
  out.key("settings").begin_object();
  for (const auto& [name, value] : run.settings) out.member(name, value);
  out.end_object().key("warnings").begin_array();
  for (const std::string& w : run.warnings) out.value(w);
  out.end_array().end_object();
}

template <class Writer>
void write_totals(Writer& out, const char* name, const base::vector<place_total>& all) {
  out.key(name).begin_array();
  for (const place_total& b : all)
    out.begin_object()
        .member("block", b.where.name)
        .member("file", b.where.file)
        .member("line", b.where.line)
        .member("visits", b.visits)
        .member("seconds", b.seconds)
        .member("work", b.work)
        .end_object();
  out.end_array();
}

template <class Writer>
void write_not_understood(Writer& out, const result& r, bool by_rank) {
  const not_understood& n = r.not_understood;
  out.key("not_understood").begin_object().member("seconds", n.seconds).member("share", understood_by(r, false));
  out.member("scheduler_seconds", n.scheduler_seconds)
      .member("polling_seconds", n.polling_seconds)
      .member("between_polls_seconds", n.between_polls_seconds)
      .key("calls")
      .begin_array();
  for (const place_total& c : n.calls) {
    out.begin_object();
    write_place_members(out, c.where, true);
    out.member("seconds", c.seconds).member("count", c.visits).end_object();
  }
  out.end_array();
  write_locations(out, "ranks", by_rank ? n.ranks : decltype(n.ranks)());
  out.end_object();
  out.key("processor_sharing")
      .begin_object()
      .member("seconds", n.sharing.seconds)
      .member("code_seconds", n.sharing.code_seconds);
  out.member("ranks", n.sharing.ranks).member("processors", n.sharing.processors).end_object();
}

template <class Writer>
void write_mpi_time(Writer& out, const char* name, const mpi_time& t, double location_seconds, bool by_rank) {
  out.key(name).begin_object().member("seconds", t.seconds).member("share", share_of(t, location_seconds));
  out.key("calls").begin_array();
  for (const place_total& c : t.calls) {
    out.begin_object();
    write_place_members(out, c.where, true);
    out.member("seconds", c.seconds).member("count", c.visits).end_object();
  }
  out.end_array();
  write_locations(out, "ranks", by_rank ? t.ranks : decltype(t.ranks)());
  out.end_object();
}

template <class Writer>
void write_thread_end(Writer& out, const thread_end& t) {
  out.begin_object().member("rank", t.rank).member("thread", t.thread).member("pid", t.pid).member("end", t.end);
  out.member("seconds", t.seconds).member("regions", t.regions);
  if (t.inside) {
    write_place(out, "inside", t.call);
    out.member("whom", t.whom).member("since_seconds", t.since_seconds);
  }
  out.member("mpi_calls", t.mpi_calls).member("records", t.records);
  out.member("torn_events", t.torn_events).member("lost_events", t.lost_events);
  write_totals(out, "blocks", t.blocks);
  out.end_object();
}

template <class Writer>
void write_communication(Writer& out, const result& r) {
  if (r.communication != nullptr) return r.communication->write(out);
  for (const char* name : {"communication_classes", "distributions", "sharing"}) out.key(name).begin_array().end_array();
}

}  // namespace detail

/// The page explains this many waits, the most costly ones. Each of the others has a line in a table.
inline constexpr std::size_t most_explained = 200;

/// Writes a result as docs/schema.json describes. `for_page`: without spaces and line breaks, only the waits that the page
/// explains and, of more than 4,096 ranks, without the figures of each rank.
inline void write_json(const result& r, const json_sink& sink, bool for_page = false) {
  const base::rank_noun_scope noun(r.run.threads_only);
  const bool by_rank = !for_page || r.run.ranks <= 4096;
  json_document out(sink, for_page);
  out.begin_object().member("schema", "whywait/1");
  detail::write_run(out, r);
  out.key("verdict").begin_array();
  for (const verdict_entry& v : r.verdict) {
    out.begin_object().member("text", sentence(r, v));
    if (!v.problem.empty()) out.member("problem", v.problem);
    else out.member("block", v.block).member("rank", v.rank).member("ratio", v.ratio);
    if (v.thread != 0) out.member("thread", v.thread);
    out.member("saving_seconds", v.saving_seconds);
    const saving_range s = range_of(r, v);
    if (s.low < s.high) out.key("saving_range").begin_array().value(s.low).value(s.high).end_array();
    out.end_object();
  }
  out.end_array().key("waits").begin_array();
  for (std::size_t i = 0; i != r.waits.size() && !(for_page && i == most_explained); ++i) detail::write_wait(out, r.waits[i]);
  out.end_array();
  detail::write_advice(out, "problems", r.problems);
  detail::write_not_understood(out, r, by_rank);
  detail::write_mpi_time(out, "files", r.files, r.run.location_seconds, by_rank);
  if (r.asleep.seconds > 0 && (r.run.threads_only || sleeps_unevenly(r)))
    detail::write_mpi_time(out, "asleep", r.asleep, r.run.location_seconds, by_rank);
  if (r.outside.seconds > 0) detail::write_mpi_time(out, "outside", r.outside, r.run.location_seconds, by_rank);
  detail::write_mpi_time(out, "other_worlds", r.other_worlds, r.run.location_seconds, by_rank);
  const efficiency_ranges limits = ranges_of(r.ledger.efficiency, r.not_understood, r.ledger.seconds);
  detail::write_ledger(out, r.ledger, is_weakened(r) ? &limits : nullptr);
  detail::write_profile(out, r.profile, by_rank);
  detail::write_maps(out, r.maps);
  detail::write_communication(out, r);
  detail::write_prediction(out, r.prediction);
  if (!r.unseen.empty()) detail::write_totals(out, "unseen", r.unseen);
  if (!r.last_words.empty()) {
    out.key("last_words").begin_array();
    for (const thread_end& t : r.last_words) detail::write_thread_end(out, t);
    out.end_array();
  }
  out.end_object();
}

/// The document as a string.
inline std::string json_of(const result& r) {
  std::string text;
  auto append = [&text](const char* data, std::size_t size) { text.append(data, size); };
  write_json(r, json_sink(append));
  return text;
}

inline std::string write_json_file(const result& r, const std::string& path) {
  output_file file(path);
  auto write = [&file](const char* data, std::size_t size) { file.write(data, size); };
  write_json(r, json_sink(write));
  return file.commit();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
