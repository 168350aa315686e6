#ifndef WHYWAIT_REPORT_TRUST_HPP
#define WHYWAIT_REPORT_TRUST_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/report/frequent_locks.hpp>
#include <whywait/report/grouping.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/uneven_sleep.hpp>
#include <whywait/report/words.hpp>
#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Whether the time that is not understood weakens what is drawn from the run.
inline bool is_weakened(const result& r) noexcept {
  return share_of(r.not_understood, r.run.location_seconds) >= least_not_understood;
}

/// The share of rank time that is understood, or that is not.
inline double understood_by(const result& r, bool understood) noexcept {
  const double share = share_of(r.not_understood, r.run.location_seconds);
  return understood ? 1 - share : share;
}

/// Whether ranks had to share processors so often that it changes what was measured.
inline bool shares_processors(const result& r) noexcept {
  return shares_processors(r.not_understood, r.run.location_seconds) ||
         (r.run.threads_only && r.run.seconds > 0 && r.not_understood.sharing.seconds >= least_sharing_of_run * r.run.seconds);
}

/// For how long each thread lacked a processor because of other programs, on average, in seconds: it may be late for that reason, and
/// others wait, or take over its work. 0 for ranks, and where threads are more than the processors.
inline double lost_to_others(const result& r) noexcept {
  const processor_sharing& s = r.not_understood.sharing;
  const bool others = r.run.threads_only && shares_processors(r) && s.ranks <= s.processors && r.run.ranks > 0;
  return others ? s.seconds / static_cast<double>(r.run.ranks) : 0;
}

/// No wait of a rank with time that is not understood is exact: the rank may have been late, or have waited, for a reason that
/// is not known. Where threads work that were not recorded, no verdict about the others is one about the program.
inline void weaken(result& r) {
  if (r.run.unrecorded.matter()) r.verdict.clear();
  // What is not understood may be the cause of the waits, and a thread without a processor comes late.
  const bool weak_clocks = is_weakened(r), weak_patterns = weak_clocks || (r.run.threads_only && shares_processors(r));
  const bool weak_locks = frequent_locks(r).matter();
  const double not_understood = r.not_understood.most_of_rank(r.run.ranks);
  const double polled = r.run.ranks > 0 ? r.not_understood.between_polls_seconds / static_cast<double>(r.run.ranks) : 0;
  const double uncertain = std::max(lost_to_others(r), polled);  // may be work, which the clocks do not balance
  base::vector<verdict_entry> kept;
  for (verdict_entry& v : r.verdict) {
    const bool unseen = r.run.openmp_unseen && v.claim.find("omp ") != std::string::npos;  // it may wait in that code
    const bool weak_pattern = v.of_pattern && weak_patterns && (r.run.threads_only || v.saving_seconds < 5 * not_understood);
    const bool weak_lock = weak_locks && frequent_locks::concern(v.problem);
    const bool weak_balance = uncertain > 0 && v.problem.empty() && v.saving_seconds <= uncertain;
    if (!weak_pattern && !weak_lock && !unseen && !weak_balance) kept.push_back(std::move(v));
  }
  r.verdict = std::move(kept);
  // The clocks keep the time that is not understood as it is, also where a rank waits in it that would not wait any more.
  for (verdict_entry& v : r.verdict) v.at_least |= weak_clocks && v.predicted;
  for (wait_entry& w : r.waits)
    for (advice_entry& a : w.advice) {
      // Tasks that depend on one another may wait for other ones, not for smaller ones.
      if (r.run.openmp_unseen && a.problem == "large_tasks") a.text.clear(), a.saving_seconds = 0;
      if (weak_locks && frequent_locks::concern(a.problem)) a.saving_seconds = 0;  // not even at most
      a.predicted = a.predicted && !r.run.openmp_unseen;
      a.at_least |= weak_clocks && a.predicted;
    }
  const double whole = r.run.ranks > 0 ? r.run.location_seconds / static_cast<double>(r.run.ranks) : 0;
  const auto weak = [&](const base::vector<location_seconds>& all) {
    for (const location_seconds& l : all)
      if (l.rank >= 0 && static_cast<std::size_t>(l.rank) < r.not_understood.ranks.size() &&
          r.not_understood.ranks[static_cast<std::size_t>(l.rank)].seconds >= least_not_understood * whole)
        return true;
    return false;
  };
  for (wait_entry& w : r.waits)
    if (w.quality == "exact" && (weak(w.waiters) || weak(w.causers))) w.quality = "bounded";
}

/// An efficiency from which on a run is fine.
constexpr double least_efficiency = 0.9;

/// What stands against the statement that nothing is worth changing; the first of them counts.
enum class objection {
  none,
  not_explained,
  partial,
  not_recorded,
  waiting,
  not_understood,
  late_start,
  other_worlds,
  files,
  asleep,
  outside,
  too_often,
  efficiency
};

/// The one place that decides. A run is fine if all of these hold: it was explained as a whole, with all of its threads that
/// work; less than `quiet_below` of its rank time was waiting (or less than `quiet_seconds` in all); less than 1 % is not
/// understood or waits for another world; no rank waited long in MPI_Init; less than 10 % is input and output, sleep of
/// threads, or their waits for something outside; threads do not wait for each other all the time; and its efficiency is at
/// least 90 %. A program of one rank and one thread has no efficiency.
inline objection first_objection(const result& r, const text_options& o = {}) noexcept {
  const run_facts& run = r.run;
  if (run.partial || !r.last_words.empty() || run.unseen_seconds > 0 || run.dropped_events > 0 || run.paused_seconds > 0)
    return objection::partial;
  if ((run.mpi_calls <= 0 && !run.threads_only) || run.location_seconds <= 0) return objection::not_explained;
  if (run.unrecorded.matter()) return objection::not_recorded;
  const double share = run.waiting_seconds / run.location_seconds;
  if (!(share < o.quiet_below || run.waiting_seconds < o.quiet_seconds)) return objection::waiting;
  if (is_weakened(r)) return objection::not_understood;
  if (run.late.matters(run.seconds)) return objection::late_start;
  if (share_of(r.other_worlds, run.location_seconds) >= least_mpi_time) return objection::other_worlds;
  if (share_of(r.files, run.location_seconds) > 1 - least_efficiency) return objection::files;
  if (sleeps_unevenly(r)) return objection::asleep;
  if (share_of(r.outside, run.location_seconds) > 1 - least_efficiency) return objection::outside;
  if (frequent_locks(r).matter()) return objection::too_often;
  if (run.locations > 1 && !(r.ledger.efficiency.parallel >= least_efficiency))
    return r.ledger.efficiency.parallel > 0 ? objection::efficiency : objection::not_explained;
  return objection::none;
}
inline bool nothing_worth_changing(const result& r, const text_options& o = {}) noexcept {
  return first_objection(r, o) == objection::none && r.problems.empty() && r.verdict.empty();
}

/// What is said about the waiting in place of "nothing worth changing".
inline const char* instead_words(objection o) noexcept {
  switch (o) {
    case objection::partial: return " in the part of the run that was recorded.";
    case objection::not_recorded: return " of the threads that were recorded.";
    case objection::not_explained: return ", as far as the run was explained.";
    case objection::not_understood: return ", as far as the run is understood.";
    case objection::late_start: return " within the run, which begins when MPI_Init returns.";
    case objection::other_worlds: return ": ranks wait for processes of another world, not for each other.";
    case objection::files: return ": the ranks hardly wait for each other, but for files.";
    case objection::asleep:
      return base::ranks_are_threads()
                 ? ": the threads hardly wait in calls that are observed, but sleep or yield the processor, perhaps until "
                   "others are done; they can wait for them instead."
                 : ": the ranks hardly wait for each other, but sleep or wait for something outside MPI.";
    case objection::outside: return ": the threads hardly wait for each other, but for something else.";
    case objection::too_often: return ": each wait is short, but there are many of them.";
    case objection::efficiency:
      return base::ranks_are_threads() ? ": the threads hardly wait, but the run is not efficient."
                                       : ": the ranks hardly wait, but the run is not efficient.";
    default: return ": the waiting is not worth changing.";
  }
}

/// "37 % of rank time is inside MPI calls that whywait does not understand: MPI_Win_fence (win.cpp:12), ..."
inline std::string unknown_words(const result& r) {
  const not_understood& n = r.not_understood;
  const double whole = r.run.location_seconds, inside = whole > 0 ? (n.seconds - n.between_polls_seconds) / whole : 0;
  const double between = whole > 0 ? n.between_polls_seconds / whole : 0;
  const std::string of_time = " of " + base::rank_time();
  const bool of_mpi = n.calls.empty() || n.calls[0].where.call.compare(0, 4, "MPI_") == 0;
  const char* const in_mpi = of_mpi ? " is inside MPI calls that whywait does not understand: "
                                    : " is inside calls that whywait does not understand: ";
  if (r.run.threads_only || between < least_not_understood)
    return base::joined({base::percent(understood_by(r, false)), of_time,
                         r.run.threads_only ? " is waiting for a reason that whywait does not see: " : in_mpi,
                         calls_text(n.calls, call_sites::all)});
  const std::string polled = base::joined({base::percent(std::min(1.0, between)), of_time,
                                           " is unmarked code between polls that found nothing, which may be work or waiting: ",
                                           calls_text(n.calls, call_sites::polls)});
  if (inside < least_not_understood) return polled;
  const std::string others = calls_text(n.calls, call_sites::others);
  return base::joined({base::percent(inside), of_time, in_mpi, others.empty() ? calls_text(n.calls) : others, "; ", polled});
}

/// "95 % of the processor time (0.43 s) is that of threads that were not recorded, ..."; empty if they do not matter.
inline std::string unrecorded_words(const result& r) {
  const unrecorded_threads& t = r.run.unrecorded;
  if (!t.matter()) return {};
  return base::percent(t.share) + " of the processor time (" + base::duration(t.seconds) +
         ") is that of threads that were not recorded, so that there is no verdict: " +
         (t.large_teams ? "OpenMP teams of more than 256 threads are not"
                        : "docs/how-to/threads.md has what records threads of OpenMP, C++ and pthreads");
}

/// "before the run: 2.1 s of waiting in MPI_Init for rank 3, ..."; empty below 0.5 s and 10 % of the run.
inline std::string late_start_words(const result& r) {
  const late_start& l = r.run.late;
  if (!l.matters(r.run.seconds)) return {};
  return base::joined({"before the run: ", base::duration(l.wait_seconds, 2), " of waiting in MPI_Init for rank ",
                       std::to_string(l.rank), ", which called it ", base::duration(l.seconds, 2),
                       " after its process began; code ahead of MPI_Init is not recorded"});
}

/// "12 % of rank time (3.1 s) is input and output: MPI_File_write_all (dump.cpp:12), ..."; empty below 1 %. `what`: from "is" on.
inline std::string time_words(const result& r, const mpi_time& t, const char* what) {
  const double share = share_of(t, r.run.location_seconds);
  if (share < least_mpi_time) return {};
  return base::joined({base::percent(share), " of ", base::rank_time(), " (", base::duration(t.seconds), ") ", what,
                       t.calls.empty() ? "" : ": ", calls_text(t.calls)});
}
inline std::string files_words(const result& r) { return time_words(r, r.files, "is input and output"); }
/// It may also be a loop that waits.
inline std::string asleep_words(const result& r) {
  if (r.run.threads_only) return time_words(r, r.asleep, "is asleep or yields the processor, which counts as code");
  if (share_of(r.asleep, r.run.location_seconds) <= 1 - least_efficiency) return {};
  return time_words(r, r.asleep, "is asleep or blocked outside MPI, which counts as code");
}
inline std::string outside_words(const result& r) {
  return time_words(r, r.outside,
                    "waits for input, signals or processes, or until a time limit; what ended that is not observed");
}
inline std::string other_worlds_words(const result& r) {
  return time_words(
      r, r.other_worlds,
      "waits for processes of another world (MPI_Comm_spawn, MPI_Comm_connect), whose reports tell what they did");
}

/// What shares of wall time are shares of.
inline const char* explained_whole(const run_facts& run) noexcept {
  return run.partly_explained() ? "what is explained" : "the run";
}

/// "83 % of the run (1.1 s) is not waiting but transfer (640 MiB sent) or time of the MPI library itself, above all in MPI_Alltoall
/// (fft.cpp:12)", the first call of the critical path; empty up to 10 %. Without what is not understood, and without the time that ranks had no processor.
inline std::string transfer_words(const result& r) {
  const explain::efficiencies& e = r.ledger.efficiency;
  if (r.run.threads_only || !(e.parallel > 0)) return {};
  double share =
      1 - ranges_of(e, r.not_understood, r.ledger.seconds).transfer.most - share_of(r.other_worlds, r.run.location_seconds);
  if (r.run.location_seconds > 0) share -= r.not_understood.sharing.seconds / r.run.location_seconds;
  if (share <= 1 - least_efficiency) return {};
  std::string call;
  for (const critical_entry& c : r.ledger.critical_path)
    if (call.empty() && c.kind == "call") call = brief_call_text(c.where);
  const bool of_mpi = call.compare(0, 4, "MPI_") == 0, inside = !of_mpi && !call.empty();
  const std::string_view named = call;
  const double bytes = bytes_sent(r, true);
  const std::string sent = base::memory(bytes);
  return base::joined({base::percent(share), " of ", explained_whole(r.run), " (", base::duration(share * r.ledger.seconds),
                       ") is not waiting but ", inside ? "time inside " : "", inside ? named : "",
                       inside ? ", transfer" : "transfer", bytes > 0 ? " (" : "",
                       bytes > 0 ? std::string_view(sent) : std::string_view(), bytes > 0 ? " sent)" : "",
                       " or time of the MPI library itself", of_mpi ? ", above all in " : "", of_mpi ? named : ""});
}

/// "in the whole run 32 to 38 % of rank time is waiting, if parts that were not recorded are like those beside them"; empty without
/// such parts.
inline std::string whole_run_words(const result& r) {
  const share_range& all = r.run.waiting_of_all;
  if (all.high <= 0) return {};
  return base::joined({"in the whole run ", base::percent(all.low), " to ", base::percent(all.high), " of ", base::rank_time(),
                       " is waiting, if parts that were not recorded are like those beside them"});
}

inline std::string lock_words(const result& r) { return frequent_locks(r).words(); }

/// What else the first lines say where it matters, most serious first.
inline base::vector<std::string> remarks(const result& r) {
  base::vector<std::string> all;
  for (std::string (*const words)(const result&) : {&whole_run_words, &late_start_words, &other_worlds_words, &lock_words,
                                                    &files_words, &transfer_words, &asleep_words, &outside_words}) {
    all.push_back(words(r));
    if (all.back().empty()) all.pop_back();
  }
  return all;
}

/// "4 ranks share 2 processors: in 21 % of rank time a rank was ready to run and had none, ..."
inline std::string sharing_words(const result& r) {
  const processor_sharing& s = r.not_understood.sharing;
  const std::string share = base::percent(std::min(1.0, s.seconds / r.run.location_seconds));
  const std::string consequence = std::string(", which makes code and ") +
                                  (r.run.threads_only ? "waits look longer" : "MPI calls look slower") + " than they are";
  const std::string ready = " of " + base::rank_time() + " a " + base::rank_noun() + " was ready to run";
  if (s.ranks > s.processors)
    return base::joined({base::counted(s.ranks, base::rank_noun()), " share ", base::counted(s.processors, "processor"),
                         ": in ", share, ready, " and had none", consequence});
  return base::joined({"in ", share, ready, ", but other threads had its processor", consequence});
}

/// Whether the virtual clocks see too little saving: where ranks share processors, those that wait keep others from working, which the
/// change ends as well. For threads the time of all processors bounds it.
inline bool saves_more(const result& r) noexcept { return shares_processors(r) && !r.run.threads_only; }

/// What stands before a saving that the virtual clocks predict.
inline const char* predicted_words(const result& r) noexcept { return saves_more(r) ? "at least" : "about"; }

/// What stands before the saving of an advice.
inline const char* saving_bound_words(const result& r, const advice_entry& a) noexcept {
  if (!a.predicted) return a.at_least ? "about" : "at most";
  return a.at_least ? "at least" : predicted_words(r);
}

/// What a verdict by the virtual clocks saves at least and at most.
struct saving_range {
  double low, high;
};

/// With more ranks than processors: by how much transfers may get longer in a changed run, in which ranks that waited copy their
/// data at the same time as others (docs/method.md 1.8). 0 if unknown.
inline double crowded_transfers(const result& r) noexcept {
  const processor_sharing& s = r.not_understood.sharing;
  if (s.processors <= 0 || s.ranks <= s.processors || r.run.threads_only || !(r.ledger.efficiency.parallel > 0)) return 0;
  constexpr double slow_copy = 1e9;  // bytes per second that any processor copies
  const double copies = 2 * bytes_sent(r, false) / slow_copy / static_cast<double>(std::max<std::int64_t>(1, r.run.ranks));
  const double transfers = std::min(copies, std::max(0.0, 1 - r.ledger.efficiency.transfer) * r.run.explained_seconds());
  return transfers * (static_cast<double>(s.ranks) / static_cast<double>(s.processors) - 1);
}

/// Where ranks lacked processors, the balanced run has at best no delays but those it had, and the rank saves what it has above the
/// mean. At worst the time without a processor, which hid while ranks waited, comes on top (docs/method.md 1.8); threads may be late
/// because of it. Where ranks lacked none although they are more than the processors, transfers may crowd.
inline saving_range range_of(const result& r, const verdict_entry& v) noexcept {
  if (!v.problem.empty() || r.run.ranks <= 0) return {v.saving_seconds, v.saving_seconds};
  if (!saves_more(r)) return {std::max(0.0, v.saving_seconds - lost_to_others(r) - crowded_transfers(r)), v.saving_seconds};
  const double high = std::min(std::max(v.saving_seconds, v.excess_seconds), r.run.explained_seconds());
  const double without = r.not_understood.sharing.seconds / static_cast<double>(r.run.ranks);
  return {std::max(0.0, std::min(v.saving_seconds, v.excess_seconds - without)), high};
}

/// A verdict to its end: "rank 1 takes ...: balancing it would shorten the run by about 0.43 s of 0.86 s".
inline std::string sentence(const result& r, const verdict_entry& v) {
  const saving_range s = range_of(r, v);
  const std::string low = base::duration(s.low, 2), high = base::duration(s.high, 2);
  const bool at_most = !v.predicted || s.low < detail::least_share * r.run.explained_seconds();
  const bool differ = !at_most && low != high && !(v.at_least && s.high - s.low < 0.05 * s.high);
  const char* const bound = at_most             ? (v.at_least && s.low == s.high ? "about" : "up to")
                            : v.at_least        ? "at least"
                            : v.problem.empty() ? "about"
                                                : predicted_words(r);
  const bool partly = r.run.partly_explained();
  const bool sleeps = v.asleep >= rules::least_asleep;
  return base::joined(
      {v.claim, " would shorten the run by ", differ ? low : bound, differ ? " to " : " ", differ || at_most ? high : low,
       differ && v.at_least ? " or more" : "", partly ? " of the " : " of ", base::duration(r.run.explained_seconds(), 2),
       partly ? " that are explained" : "",
       differ && !shares_processors(r) ? " (more ranks than processors: copies at the same time may take longer)" : "",
       sleeps ? "; " : "", sleeps ? base::percent(v.asleep) : std::string(),
       sleeps ? " of that code was spent asleep or blocked" : ""});
}

/// From this share of rank time on, something makes ranks wait, known or not.
constexpr double much_waiting = 0.2;

/// Why there is no verdict; empty if there is one, or if `unknown_words` gives the reason.
inline std::string no_verdict_words(const result& r) {
  if (!r.verdict.empty() || is_weakened(r) || r.run.unrecorded.matter() ||
      r.run.waiting_seconds < least_waiting * r.run.location_seconds)
    return {};
  double most = 0;
  for (const wait_group& g : group_shapes(r.waits))
    for (const advice_entry& a : g.sum.advice) most = std::max(most, a.text.empty() ? 0 : a.saving_seconds);
  for (const advice_entry& a : r.problems) most = std::max(most, a.text.empty() ? 0 : a.saving_seconds);
  const double run = r.run.explained_seconds();
  double locked = 0, served = 0;  // holding a lock looks like much to do; what is served earlier saves nothing
  for (const wait_entry& w : r.waits) {
    locked += w.pattern == "mutex_contention" ? w.seconds : 0;
    const auto saves = [&](const advice_entry& a) { return a.saving_seconds >= detail::least_share * run; };
    const bool until_the_end = (w.pattern == "join" || w.pattern == "future") && !base::any_of(w.advice, saves);
    const bool of_server = w.pattern == "condition_variable" || w.pattern == "semaphore" || w.pattern == "latch";
    if (until_the_end || (w.advice.empty() && of_server)) served += w.seconds;
  }
  if (r.run.waiting_seconds - served < least_waiting * r.run.location_seconds)
    return "no verdict: nearly all waiting is that of threads whose waits delay nothing else";
  std::string none = most < detail::least_share * run && locked < least_waiting * r.run.location_seconds &&
                             r.run.waiting_seconds < much_waiting * r.run.location_seconds
                         ? "no verdict: no change is known that would shorten the run by 2 % or more"
                         : "no verdict: by how much a change would shorten the run is not known well enough";
  if (most > 0 && most < 0.9 * run) none += "; the best advice below saves at most " + base::duration(most, 2);
  return r.run.threads_only ? none + "; " + loops_words() : none;
}

/// Stands under figures that the time that is not understood weakens.
inline std::string rests_on(const result& r) {
  return "these figures rest on the " + base::percent(understood_by(r, true)) + " of " + base::rank_time() +
         " that is understood";
}

/// Stands under the answers to what-if questions; empty if there is nothing to say.
inline std::string prediction_caveats(const result& r) {
  const std::string sharing = shares_processors(r) ? std::string("the ") + base::rank_nouns() +
                                                         " shared processors; a changed program may share them differently"
                                                   : "";
  if (!is_weakened(r)) return sharing;
  return rests_on(r) + (sharing.empty() ? "" : "; ") + sharing;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
