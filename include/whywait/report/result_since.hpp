#ifndef WHYWAIT_REPORT_RESULT_SINCE_HPP
#define WHYWAIT_REPORT_RESULT_SINCE_HPP

#include <whywait/report/run_result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {

namespace result_detail {

/// The element of `all` that is the same as `like`; a new one if there is none.
template <class T, class Same>
T& result_entry(std::vector<T>& all, const T& like, Same&& same) {
  for (T& t : all)
    if (same(t, like)) return t;
  all.emplace_back();
  return all.back();
}

/// Whether two places are one. Callers do not count: an earlier result names them only if it had calls that read the same without.
inline bool same_place(const result::place& a, const result::place& b) {
  return a.line == b.line && a.call == b.call && a.name == b.name && a.region == b.region && a.file == b.file &&
         a.function == b.function;
}

/// Takes out the caller of a place that stands for calls from several.
inline void join_callers(result::place& to, const result::place& from) {
  if (to.caller == from.caller || to.caller.empty()) return;
  const std::string words = " from " + to.caller;
  const std::size_t at = to.text.rfind(words);
  if (at != std::string::npos) to.text.erase(at, words.size());
  to.caller.clear();
}

inline void add_locations(std::vector<result::location>& to, const std::vector<result::location>& from, double sign) {
  for (const result::location& l : from) {
    result::location& sum = result_detail::result_entry(
        to, l, [](const auto& a, const auto& b) { return a.rank == b.rank && a.thread == b.thread; });
    sum.rank = l.rank;
    sum.thread = l.thread;
    sum.seconds += sign * l.seconds;
  }
}

inline void add_causes(std::vector<result::cause>& to, const std::vector<result::cause>& from, double sign) {
  const auto step = static_cast<std::int64_t>(sign);
  for (const result::cause& c : from) {
    result::cause& sum = result_detail::result_entry(to, c, [](const auto& a, const auto& b) {
      return a.block == b.block && a.kind == b.kind && result_detail::same_place(a.where, b.where);
    });
    if (sum.kind.empty()) {
      sum.block = c.block;
      sum.kind = c.kind;
      sum.where = c.where;
    }
    result_detail::join_callers(sum.where, c.where);
    sum.seconds += sign * c.seconds;
    sum.visits_seconds += sign * c.visits_seconds;
    sum.speed_seconds += sign * c.speed_seconds;
    sum.inherited_seconds += sign * c.inherited_seconds;
    result::cause::slower_parts& why = sum.slower;
    why.preempted_seconds += sign * c.slower.preempted_seconds;
    why.blocked_seconds += sign * c.slower.blocked_seconds;
    why.kernel_seconds += sign * c.slower.kernel_seconds;
    why.instructions_seconds += sign * c.slower.instructions_seconds;
    why.cycles_seconds += sign * c.slower.cycles_seconds;
    why.frequency_seconds += sign * c.slower.frequency_seconds;
    why.not_counted_seconds += sign * c.slower.not_counted_seconds;
    why.memory_seconds += sign * c.slower.memory_seconds;
    why.more_page_faults += step * c.slower.more_page_faults;
    why.more_migrations += step * c.slower.more_migrations;
    why.counted = why.counted || c.slower.counted;
    sum.late_visits += step * c.late_visits;
    sum.waiting_visits += step * c.waiting_visits;
    sum.late_work += step * c.late_work;
    sum.waiting_work += step * c.waiting_work;
  }
}

inline void add_waits(std::vector<result::wait>& to, const std::vector<result::wait>& from, double sign) {
  for (const result::wait& w : from) {
    result::wait& sum = result_detail::result_entry(to, w, [](const auto& a, const auto& b) {
      return a.pattern == b.pattern && result_detail::same_place(a.operation, b.operation) &&
             result_detail::same_place(a.late_call, b.late_call);
    });
    if (sum.pattern.empty()) {
      sum.pattern = w.pattern;
      sum.quality = w.quality;
      sum.operation = w.operation;
      sum.late_call = w.late_call;
    }
    result_detail::join_callers(sum.operation, w.operation);
    result_detail::join_callers(sum.late_call, w.late_call);
    if (sum.quality == "exact") sum.quality = w.quality;
    sum.seconds += sign * w.seconds;
    sum.count += static_cast<std::int64_t>(sign) * w.count;
    // A longer wait than all before is of this part; else the longest of this part is not known.
    if (sign > 0 && w.longest_seconds > sum.longest_seconds) sum.longest_seconds = w.longest_seconds;
    if (sign < 0 && w.longest_seconds >= sum.longest_seconds) sum.longest_seconds = 0;
    sum.unexplained_seconds += sign * w.unexplained_seconds;
    sum.inherited_seconds += sign * w.inherited_seconds;
    result_detail::add_causes(sum.causes, w.causes, sign);
    result_detail::add_locations(sum.waiters, w.waiters, sign);
    result_detail::add_locations(sum.late, w.late, sign);
  }
}

inline void subtract_regions(std::vector<result::region>& from, const std::vector<result::region>& before) {
  for (result::region& r : from) {
    r.efficiency.reset();
    double all = r.mean_seconds * r.ranks;
    for (const result::region& b : before) {
      if (b.where.text != r.where.text || b.kind != r.kind) continue;
      all -= b.mean_seconds * b.ranks;
      r.visits -= b.visits;
      r.own_seconds -= b.own_seconds;
      r.mpi_seconds -= b.mpi_seconds;
      r.work -= b.work;
    }
    r.min_seconds = r.max_seconds = 0;
    r.mean_seconds = r.ranks > 0 ? all / r.ranks : 0;
  }
}

inline void subtract_messages(std::vector<result::traffic>& from, const std::vector<result::traffic>& before) {
  for (result::traffic& t : from)
    for (const result::traffic& b : before) {
      if (b.where.text != t.where.text || b.operation != t.operation || b.peers != t.peers) continue;
      t.count -= b.count;
      t.bytes -= b.bytes;
      t.seconds -= b.seconds;
      for (result::traffic::size_class& s : t.sizes)
        for (const result::traffic::size_class& e : b.sizes) {
          if (e.least_bytes != s.least_bytes) continue;
          s.count -= e.count;
          s.bytes -= e.bytes;
        }
    }
}

}  // namespace result_detail

inline result result::since(const result& before) const {
  result part = *this;
  part.printer.reset();
  part.verdict.clear();
  part.problems.clear();
  part.critical_path.clear();
  part.predictions.clear();
  part.nothing_worth_changing = false;
  if (!*this) return part;
  part.seconds -= before.seconds;
  part.rank_seconds -= before.rank_seconds;
  part.waiting_seconds -= before.waiting_seconds;
  part.unexplained_seconds -= before.unexplained_seconds;
  part.not_understood_seconds -= before.not_understood_seconds;
  part.files_seconds -= before.files_seconds;
  part.other_worlds_seconds -= before.other_worlds_seconds;
  part.paused_seconds -= before.paused_seconds;
  part.other_thread_seconds -= before.other_thread_seconds;
  part.mpi_calls -= before.mpi_calls;
  part.dropped_events -= before.dropped_events;
  part.unmatched_messages -= before.unmatched_messages;
  part.clock_violations -= before.clock_violations;
  part.waits.clear();
  result_detail::add_waits(part.waits, waits, 1);
  result_detail::add_waits(part.waits, before.waits, -1);
  constexpr double rounding = 1e-9;
  for (wait& w : part.waits) {
    const auto nothing = [](double time) { return time < rounding && time > -rounding; };
    std::vector<cause> causes;
    for (cause& c : w.causes)
      if (!nothing(c.seconds)) causes.push_back(std::move(c));
    w.causes = std::move(causes);
    for (std::vector<location>* list : {&w.waiters, &w.late}) {
      std::vector<location> some;
      for (const location& l : *list)
        if (!nothing(l.seconds)) some.push_back(l);
      *list = std::move(some);
    }
  }
  std::vector<wait> some;
  for (wait& w : part.waits)
    if (w.count > 0 && w.seconds > rounding) some.push_back(std::move(w));
  part.waits = std::move(some);
  result_detail::subtract_regions(part.regions, before.regions);
  result_detail::subtract_messages(part.messages, before.messages);
  double useful = 0, most = 0;
  for (rank& r : part.each_rank) {
    for (const rank& b : before.each_rank) {
      if (b.number != r.number) continue;
      r.seconds -= b.seconds;
      r.mpi_seconds -= b.mpi_seconds;
      r.waiting_seconds -= b.waiting_seconds;
      r.not_understood_seconds -= b.not_understood_seconds;
    }
    const double outside = r.seconds - r.mpi_seconds;
    useful += outside;
    if (outside > most) most = outside;
  }
  part.efficiency.reset();
  if (part.each_rank.size() > 1 && part.seconds > 0 && most > 0) {
    const double mean = useful / static_cast<double>(part.each_rank.size());
    part.efficiency = efficiencies{mean / part.seconds, mean / most, most / part.seconds, {}, {}};
  }
  std::vector<unknown_call> unknown;
  for (unknown_call& c : part.unknown_calls) {
    for (const unknown_call& b : before.unknown_calls) {
      if (b.where.text != c.where.text) continue;
      c.seconds -= b.seconds;
      c.count -= b.count;
    }
    if (c.seconds > rounding) unknown.push_back(std::move(c));
  }
  part.unknown_calls = std::move(unknown);
  return part;
}

}  // namespace v0
}  // namespace whywait

#endif
