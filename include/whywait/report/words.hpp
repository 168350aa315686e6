#ifndef WHYWAIT_REPORT_WORDS_HPP
#define WHYWAIT_REPORT_WORDS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// "late sender" for "late_sender". Unknown patterns are only freed of underscores.
inline std::string pattern_words(std::string pattern) {
  if (pattern == "wait_at_nxn") return "wait at all-to-all";
  if (pattern == "wait_at_create") return "wait at creation";
  std::replace(pattern.begin(), pattern.end(), '_', ' ');
  return pattern;
}

/// The explained part of a partly recorded run: "10.2 ms (0.4 %) is", "nothing is".
inline std::string explained_words(const run_facts& run) {
  if (run.location_seconds <= 0) return "nothing is";
  return base::duration(run.explained_seconds()) + " (" + base::percent(run.explained_seconds() / run.seconds) + ") is";
}

/// Replaces "nothing worth changing" if most waits may be in the part that was not recorded. `share`: of waiting.
inline std::string hardly_seen(const run_facts& run, double share) {
  if (run.location_seconds <= 0) return "The waits of this run are not explained.";
  return base::joined({base::percent(share), " of the ", base::rank_time(), " that is explained is waiting (",
                       base::duration(run.waiting_seconds), "); the other ", base::duration(run.unseen_seconds),
                       " of the run were not recorded."});
}

/// Blocks that ran in the unrecorded part: "compute (a.cpp:3) 1.90 s (190 visits), ...". Empty without marks.
inline std::string unseen_words(const base::vector<place_total>& all) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i != std::min(most, all.size()); ++i) {
    const std::string code = code_text(all[i].where);
    text += base::joined({i == 0 ? "" : ", ", base::printable(all[i].where.name), code.empty() ? "" : " (", code,
                          code.empty() ? " " : ") ", base::duration(all[i].seconds), " (",
                          base::counted(all[i].visits, "visit"), ")"});
  }
  return text;
}

/// One sentence about messages that depend on their partner.
inline std::string progress_words(const explain::progress_fact& p) {
  const std::string size =
      p.least_bytes < 2 ? std::string() : "of " + base::memory(static_cast<double>(p.least_bytes)) + " or more ";
  return std::string(p.sends ? "sends " : "receives ") + size + (p.within_node ? "within a node" : "between nodes") +
         " complete only while the " + (p.sends ? "receiver" : "sender") + " is in MPI (seen in " +
         base::counted(p.calls, "call") + ")";
}

/// Advice with what it saves behind its first remedy: "call MPI_Send earlier (saves at most 2 s); or give rank 1 other work". Not `whole`:
/// at its end, where it remains if the text is shortened.
[[gnu::noinline]] inline std::string with_saving(std::string text, const std::string& saving, bool whole = true) {
  text.insert(whole ? std::min({text.find("; or "), text.find("; if "), text.size()}) : text.size(), saving);
  return text;
}

/// What holds against a good efficiency of threads, whatever was recorded.
inline std::string loops_words() {
  return "code that waits by reading a variable in a loop, contended atomic operations and small chunks of dynamic loops count "
         "as work";
}

/// A quality in words; empty for "exact".
inline std::string quality_words(const std::string& quality) {
  if (quality == "bounded") return "approximate: only a bound is known for a part of it";
  if (quality == "order_suspect") return "uncertain: some messages could not be assigned to their receives";
  if (quality == "hidden_tree") return "uncertain: MPI may pass this through other ranks, so another rank may have been late";
  return {};
}

/// The ranks of a list and their text (base::rank_list).
struct rank_words {
  std::string text;  ///< "rank 0", "ranks 1-3", "12 ranks", "rank 0 thread 2"
  base::pod_vector<std::int32_t> ranks;  ///< sorted, each once
  bool others = false;  ///< the list was truncated
  std::int32_t threads = 0;  ///< not 0: further threads of ranks are among them
};

inline rank_words words_for(const base::vector<location_seconds>& list, std::size_t first = 0,
                            std::size_t last = std::size_t(-1)) {
  rank_words out;
  last = std::min(last, list.size());
  for (std::size_t i = first; i < last; ++i) {
    if (list[i].rank < 0) {
      out.others = true;
      continue;
    }
    out.ranks.push_back(list[i].rank);
    out.threads |= list[i].thread;
  }
  const bool one = out.threads != 0 && out.ranks.size() == 1 && last - first == 1;
  out.text = one ? base::rank_text(out.ranks[0], out.threads) : base::rank_list(out.ranks, out.others);
  return out;
}

/// "ranks 1-3 waited for rank 0", "ranks 0-3 waited for one another", "rank 2 waited, mostly for rank 0 (91 %)". Those that together
/// have less than 2 % of the waiting are left out.
inline std::string who_waited(const base::vector<location_seconds>& waiting, const base::vector<location_seconds>& causers) {
  double waited = 0, of_named = 0;
  for (const location_seconds& s : waiting) waited += s.seconds;
  std::size_t named_waiters = 0;
  while (named_waiters < waiting.size() && (named_waiters == 0 || of_named < 0.98 * waited))
    of_named += waiting[named_waiters++].seconds;
  const rank_words waiters = words_for(waiting, 0, named_waiters);
  const rank_words all = words_for(causers);
  std::string out = waiters.text + " waited";
  if (all.ranks.empty()) return out;
  double total = 0;
  for (const location_seconds& c : causers) total += c.seconds;
  const location_seconds& first = causers[0];
  const auto whom = [&](std::size_t last) {
    const rank_words late = words_for(causers, 0, last);
    const bool same = late.ranks == waiters.ranks && late.ranks.size() > 1 && !late.others && !waiters.others;
    if (same && (late.threads | waiters.threads) != 0) return std::string("other threads of these ranks");
    return same ? std::string("one another") : late.text;
  };
  if (causers.size() > 1 && first.rank >= 0 && first.seconds >= 0.995 * total) return out + " for " + whom(1);
  if (causers.size() > 1 && first.rank >= 0 && first.seconds >= 0.6 * total)
    return base::joined({out, ", mostly for ", whom(1), " (", base::percent(first.seconds / total), ")"});
  std::size_t most = 0;
  double named = 0;
  while (most < causers.size() && causers[most].rank >= 0 && named < 0.9 * total) named += causers[most++].seconds;
  if (most > 0 && most < causers.size() && named >= 0.995 * total) return out + " for " + whom(most);
  if (most > 0 && most < causers.size() && 4 * most <= 3 * causers.size() && named >= 0.9 * total)
    return base::joined({out, ", mostly for ", whom(most), " (", base::percent(named / total), ")"});
  return out + " for " + whom(causers.size());
}

/// The same of a wait; of threads of one rank for each other "in rank 0 thread 1 waited for thread 0".
inline std::string who_waited(const wait_entry& w) {
  std::int32_t threads = 0;
  bool one = !base::ranks_are_threads() && !w.waiters.empty();
  base::vector<location_seconds> sides[2] = {w.waiters, w.causers};
  for (base::vector<location_seconds>& side : sides)
    for (location_seconds& s : side) {
      one = one && s.rank == w.waiters[0].rank;
      threads |= s.thread;
      s.rank = s.thread;
      s.thread = 0;
    }
  if (!one || threads == 0) return who_waited(w.waiters, w.causers);
  const std::string in = "in " + base::rank_text(w.waiters[0].rank) + " ";
  const base::rank_noun_scope words(true);
  return in + who_waited(sides[0], sides[1]);
}

namespace detail {

/// Visits of an untimed block on both sides: "4.0x as often: 4,000 visits instead of 1,000".
inline std::string step_words(std::int64_t late, std::int64_t waiting) {
  if (waiting <= 0) return "only the late side ran it: " + base::counted(late, "visit");
  if (late <= 0) return "only the waiting side ran it: " + base::counted(waiting, "visit");
  const double ratio = static_cast<double>(late) / static_cast<double>(waiting);
  return (ratio < 0.01 ? "under 0.01"
                       : base::fixed(ratio, ratio >= 9.95   ? 0
                                            : ratio >= 1.95 ? 1
                                                            : 2)) +
         "x as often: " + base::counted(late, "visit") + " instead of " + base::count(waiting);
}

}  // namespace detail

namespace detail {

/// How much longer a visit (or unit of work) takes on the late side. From the split of docs/method.md 1.4,
/// S = (mu_B - mu_A)(n_A + n_B)/2, which with a lead also holds the time of that lead.
inline double each_seconds(const residual_entry& r, std::int64_t late, std::int64_t waiting) noexcept {
  const auto a = static_cast<double>(waiting), b = static_cast<double>(late);
  if (r.lead_visits == 0 || late <= 0 || waiting <= 0) return 2 * r.speed_seconds() / (a + b);
  return r.causer_seconds() / b - r.waiter_seconds() / a;
}

/// Whether the time of a block is only that of visits that one side made earlier.
inline bool only_lead(const residual_entry& r) noexcept {
  return r.lead_visits != 0 && r.causer_visits == r.waiter_visits &&
         std::fabs(r.causer_seconds() - r.waiter_seconds()) < 0.2 * std::fabs(r.seconds());
}

// A negative lead: the waiting side made these visits before both were last aligned, or has not made them yet.
inline std::string lead_words(const residual_entry& r) {
  const char* const noun = r.kind == "call" ? "call" : "visit";
  if (r.lead_visits > 0) return "the waiting side was " + base::counted(r.lead_visits, noun) + " ahead";
  return "the waiting side made " + base::count(-r.lead_visits) + " of them earlier or later";
}

}  // namespace detail

/// Why visits are slower, as far as that was counted, with the time that each visit takes longer for it: "93 ms without a
/// processor, 5 ms in the kernel". Empty: nothing of at least a tenth was. `speed_ns`: of `times` visits. `each_seconds`: of one.
inline std::string slower_words(const explain::slower_parts& p, std::int64_t speed_ns, double each_seconds, double times) {
  if (speed_ns <= 0 || times <= 0) return {};
  std::string out;
  const auto speed = static_cast<double>(speed_ns);
  const auto add = [&](std::int64_t ns, const std::string& words) {
    const double share = static_cast<double>(ns) / speed;
    if (share >= 0.1) out += base::joined({out.empty() ? "" : ", ", base::duration(share * each_seconds, 2), " ", words});
  };
  add(p.preempted_ns, "without a processor");
  add(p.blocked_ns, "asleep or blocked");
  const bool sampled = p.kernel_ns >= explain::least_kernel_ns;
  const std::int64_t faults = core::nearest(static_cast<double>(p.more_faults) / times);
  add(sampled ? p.kernel_ns : 0,
      "in the kernel" + (faults > 0 ? " with " + base::counted(faults, "more page fault", "more page faults") : std::string()));
  add(p.instructions_ns, "for more instructions");
  const double stalled = p.cycles_ns > 0 ? static_cast<double>(p.memory_ns) / static_cast<double>(p.cycles_ns) : 0;
  add(p.cycles_ns, "for fewer instructions per cycle" +
                       (stalled >= 0.1 ? " (" + base::percent(stalled) + " of it stalled on memory)" : std::string()));
  add(p.frequency_ns, "for fewer cycles per second");
  if (out.empty()) return out;
  add(p.not_counted_ns + (sampled ? 0 : p.kernel_ns), "not counted");
  if (static_cast<double>(p.more_moves) >= 0.1 * times && 2 * (p.preempted_ns + p.cycles_ns) >= speed_ns)
    out += "; " + base::counted(p.more_moves, "more migration", "more migrations") + " to other processors";
  return out;
}

/// ", most of it in at most 21 of 200 waits", or " of them"; empty if not so (wait_entry::few_waits).
[[gnu::noinline]] inline std::string few_words(const wait_entry& w, const std::string& of) {
  const std::int64_t few = w.few_waits();
  return few == 0 ? std::string() : base::joined({", most of it in at most ", base::count(few), " of ", of});
}

/// The parts of what `remark` returns.
struct remark_parts {
  bool lead = true;  ///< by how many visits one side was ahead
  bool inherited = true;
  bool average = false;  ///< slower "on average", not "each", as where waits differ in length (wait_entry::uneven)
  bool summed = false;  ///< over kinds of waits, in several of which a visit may count: "more visits", without a number
  const wait_entry* of = nullptr;  ///< the waits; null: not known. With fewer visits than waits: slower "in all"
};

/// The difference between both sides in one block: "same visits, each 1.9 ms slower", "1,200 more visits", "only the
/// late side ran it", "4.0x as often: 80 visits instead of 20" of an untimed step.
inline std::string remark(const residual_entry& r, const remark_parts& with = {}) {
  std::string out;
  const bool work = r.causer_work > 0 && r.waiter_work > 0;
  const std::int64_t late = work ? r.causer_work : r.causer_visits;
  const std::int64_t waiting = work ? r.waiter_work : r.waiter_visits;
  const char* const noun = work ? "unit" : r.kind == "call" ? "call" : "visit";
  const auto difference = [&] {
    const std::int64_t more = late - waiting, count = more < 0 ? -more : more;
    if (with.summed) return base::joined({more < 0 ? "fewer " : "more ", noun, "s", work ? " of work" : ""});
    return base::joined(
        {base::count(count), more < 0 ? " fewer " : " more ", noun, count == 1 ? "" : "s", work ? " of work" : ""});
  };
  if (r.kind == "step" && r.seconds() == 0 && late != waiting) return detail::step_words(late, waiting);
  if (detail::only_lead(r)) return std::string("same ") + (r.kind == "call" ? "calls; " : "visits; ") + detail::lead_words(r);
  if (r.kind == "startup") {
    out = r.seconds() > 0 ? "the late side came later out of it" : "the waiting side came later out of it";
  } else if (late > 0 && (waiting <= 0 || (r.kind == "between" && 100 * r.waiter_seconds() < r.causer_seconds()))) {
    out = waiting <= 0 ? "only the late side ran it" : "the waiting side hardly ran any code there";
  } else if (late <= 0 && waiting > 0) {
    out = "only the waiting side ran it";
  } else if (late > 0 && waiting > 0) {
    const double size = std::fabs(r.visits_seconds()) + std::fabs(r.speed_seconds());
    // Where both sides have taken over the path of a third since they were last aligned, only the difference of their visits is
    // known (explain::difference): each is then counted once or not at all, so that there may be fewer of them than waits of the
    // typical length.
    const bool in_all = !work && with.of != nullptr && std::max(late, waiting) < with.of->count / 2;
    const double visits = static_cast<double>(late + waiting) / 2;
    const double waits = with.of != nullptr && with.of->typical_seconds > 0 ? with.of->seconds / with.of->typical_seconds : 0;
    const bool per_wait = !work && !in_all && visits < 0.9 * waits;
    const bool average = with.average || (with.of != nullptr && with.of->uneven(std::max(r.causer_visits, r.waiter_visits)));
    const double times = in_all ? 1 : per_wait ? waits : visits;
    const double each = in_all || per_wait ? r.speed_seconds() / times : detail::each_seconds(r, late, waiting);
    const std::string why = slower_words(r.slower, r.speed_ns, each, times);
    std::string slower = base::duration(std::fabs(each), 2) + (each < 0 ? " faster" : " slower");
    if (in_all || per_wait) slower += in_all ? " in all" : " per wait";
    else if (average) slower = base::joined({work ? "units " : "", slower, " on average"});
    else slower.insert(0, work ? "each unit " : "each ");
    if (!why.empty()) slower += ": " + why;
    const bool by_visits = size > 0 && std::fabs(r.visits_seconds()) >= 0.8 * size;
    const bool by_speed = size > 0 && std::fabs(r.speed_seconds()) >= 0.8 * size;
    // Added up over waits whose sides differ in different directions, numbers may contradict the time, and parts of it cancel.
    const auto more = static_cast<double>(late - waiting - (work ? 0 : r.lead_visits));
    const bool mixed = (!by_speed && r.visits_seconds() * more < 0) || (!by_visits && r.speed_seconds() * each < 0) ||
                       size > 10 * std::fabs(r.seconds());
    if (mixed || (late == waiting && by_visits)) out = base::joined({noun, "s differ from wait to wait"});
    else if (late == waiting) out = base::joined({"same ", work ? "work" : noun, work ? ", " : "s, ", slower});
    else if (by_visits) out = difference();
    else if (by_speed && work) out = slower;
    else if (by_speed)
      out =
          in_all || per_wait || average ? base::joined({noun, "s ", slower}) : base::joined({"each ", noun, slower.substr(4)});
    else out = base::joined({difference(), ", ", slower});
    if (mixed) return out;
  }
  if (with.lead && r.lead_visits != 0) out += (out.empty() ? "" : "; ") + detail::lead_words(r);
  if (r.kind == "waiting") out += out.empty() ? "marked as waiting" : ", marked as waiting";
  if (with.inherited && r.inherited_seconds() > 0.1 * std::fabs(r.seconds()) && r.seconds() > 0)
    out += base::joined({out.empty() ? "" : "; ",
                         r.inherited_seconds() >= 0.99 * r.seconds() ? "all" : base::duration(r.inherited_seconds(), 2),
                         " inherited"});
  return out;
}

/// Bytes that the ranks sent. `also_network`: also those to other machines.
inline double bytes_sent(const result& r, bool also_network) noexcept {
  double bytes = 0;
  for (const traffic_entry& t : r.profile.messages)
    if (*t.operation != 'r' && (also_network || std::strcmp(t.peers, "network") != 0)) bytes += static_cast<double>(t.bytes);
  return bytes;
}

/// Whether a listed wait has slower visits for which what the machine does not count may be the reason.
inline bool is_open_what_is_not_counted(const result& r) {
  bool open = false;
  for (const wait_entry& w : r.waits)
    for (const residual_entry& t : w.residual)
      open = open || t.slower.not_counted_ns * 10 > std::max<std::int64_t>(t.total_ns, 0);
  return open && !r.run.not_counted.empty();
}
/// "instructions, cycles and stalled cycles".
inline std::string list_of_not_counted(const run_facts& run) {
  std::string text;
  for (std::size_t i = 0; i != run.not_counted.size(); ++i)
    text += (i == 0 ? "" : i + 1 == run.not_counted.size() ? " and " : ", ") + run.not_counted[i];
  return text;
}
/// The same as a sentence, with the reason; empty if nothing is open.
inline std::string not_counted_words(const result& r) {
  if (!is_open_what_is_not_counted(r)) return {};
  std::string text = "not counted on this machine: " + list_of_not_counted(r.run);
  bool processor = false;
  for (const std::string& name : r.run.not_counted) processor = processor || name == "instructions";
  if (!r.run.not_counted_why.empty()) text += " (" + r.run.not_counted_why + ")";
  if (processor) text += "; slower visits may be more instructions, or fewer per cycle";
  return text;
}

/// What the explanation rests on: "12,345 MPI calls seen, clock error 1.0 us, 0 events dropped, 0 messages unmatched, ..."
inline std::string quality_words(const run_facts& run) {
  const std::string waits = base::counted(run.primitives, "wait or release of a thread", "waits and releases of threads");
  std::string text = (run.threads_only ? waits : base::counted(run.mpi_calls, "MPI call")) + " seen";
  if (run.epochs > 1) text += " in " + base::counted(run.epochs, "epoch");
  if (!run.threads_only)
    text += ", clock error " +
            (std::isfinite(run.clock_error_seconds) ? base::duration(run.clock_error_seconds, 2) : std::string("unknown"));
  text += base::joined({", ", base::counted(run.dropped_events, "event"), " dropped"});
  if (!run.threads_only) text += base::joined({", ", base::counted(run.unmatched, "message"), " unmatched"});
  if (!run.threads_only && run.primitives > 0) text += ", " + waits;
  if (run.interposed_calls > 0)
    text += ", " + base::counted(run.interposed_calls, "call of a pthread function", "calls of pthread functions");
  if (run.short_waits > 0)
    text += base::joined({", ", base::counted(run.short_waits, "wait"), " for threads of less than ",
                          base::duration(run.least_wait_seconds, 2), " only counted (",
                          base::duration(run.short_wait_seconds, 2), ")"});
  if (run.clock_violations > 0) text += ", " + base::counted(run.clock_violations, "clock violation");
  if (run.paused_seconds > 0)
    text += base::joined({", ", base::percent(run.paused_seconds / run.location_seconds), " of ", base::rank_time(),
                          " paused by MPI_Pcontrol (no waits counted there)"});
  if (run.other_threads > 0)
    text += base::joined({", ", base::counted(run.other_threads, "thread"), " without MPI calls ran marked code for ",
                          base::duration(run.other_thread_seconds), " (no part of rank time)"});
  if (run.waiting_seconds > 0)
    text += base::joined(
        {", ", base::percent(std::max(run.unexplained_seconds, 0.0) / run.waiting_seconds), " of the waiting unexplained"});
  return text;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
