#ifndef WHYWAIT_REPORT_VERDICT_HPP
#define WHYWAIT_REPORT_VERDICT_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/slow_words.hpp>
#include <whywait/report/waits_for_code.hpp>
#include <whywait/rules/finding.hpp>
#include <whywait/rules/saving_bounds.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// One sentence about what makes the run long, in wall time: about a block, by the virtual clocks, or by a rule.
struct verdict_entry : named_block {
  std::string claim;  ///< "rank 1 takes 3.0 times as long as the others in sweep: balancing it", which `sentence` ends
  std::string problem;  ///< the rule; empty: by the virtual clocks, then `block`, `rank` and `ratio` hold
  std::int32_t rank = 0, thread = 0;  ///< the thread that spends most time in the block
  double ratio = 0;  ///< its time relative to the mean of the other threads that run the block; 0: no others, or unknown
  double saving_seconds = 0;  ///< the run would be shorter by this if the cause were removed; wall time
  bool predicted = true;      ///< by the virtual clocks; otherwise the saving is an upper bound
  bool divided = false;  ///< one thread runs the code, and the verdict is to divide it
  bool at_least = false;  ///< the imbalance moves, and evening it out saves more
  bool of_pattern = false;    ///< no cause is known beyond the pattern of the waits
  bool after = false, before = false;  ///< about all unmarked code after a call, before one
  std::string root;           ///< of the rule's finding
  core::stable_key piece = 0;  ///< the block, or the longest of those that it joins
  double asleep = 0;  ///< the part of the time in the code in which that thread was asleep or blocked; 0: not known
  double excess_seconds = 0;  ///< by the virtual clocks: the time of the rank in the block above the mean
};

namespace detail {

constexpr double least_share = 0.02;  ///< of the run, that a verdict saves
constexpr std::size_t most_verdicts = 3;

}  // namespace detail

/// From this share of rank time on, waiting has a verdict, or a line that states why there is none.
constexpr double least_waiting = 0.05;

namespace detail {

/// Unmarked code in a sentence: "between MPI_Recv (halo.cpp:20) and MPI_Send (halo.cpp:31)".
inline std::string between_text(const named_block& b) {
  const std::string begin = b.from ? base::brief_call_text(*b.from) : base::start_text();
  return ends_openly(b) ? "after " + begin : "between " + begin + " and " + base::brief_call_text(b.where);
}

/// Whether the problem is that ranks are late in turn. That one of them is late more often may be nearly as much of it, and has priority.
inline bool is_in_turn(const rules::finding& f) noexcept { return f.problem == "slow_block" || f.problem == "work_in_turn"; }
/// Whether that one rank takes longer in the same code has priority if it is nearly as much of the problem.
inline bool yields_to_one(const rules::finding& f) noexcept { return is_in_turn(f) || f.problem == "serialised_pipeline"; }
constexpr double far_from = 1.3, far_more = 3;  ///< times as much: more than nearly; so much that the other hardly counts

/// How many times as much as dividing the work a pattern of waits has to save beside it. Whatever the late rank runs, calls of MPI in
/// between let messages pass, and threads that are awaited to their end are known to run it; an earlier send may be impossible.
inline double more_than_known(const rules::finding& f) noexcept {
  if (f.problem == "join" || f.problem == "wait_for_progress") return far_from;
  return f.problem == "late_sender" ? 1.5 : far_more;
}
/// Whether another order of calls helps without another division of the work.
inline bool is_of_order(const rules::finding& f) noexcept {
  return f.problem == "wait_for_progress" || f.problem == "late_sender";
}

/// Whether the remedy is another one than to balance the code that made a rank late.
inline bool is_other_remedy(const rules::finding& f) noexcept {
  return f.problem == "no_overlap" || f.problem == "wrong_order";
}

/// The verdicts of rules that save enough, each once: those about causes, or those about the patterns of waits. A block that is to
/// be balanced has no other verdict that saves less, and none of a pattern that another order of calls does not change; another order
/// of the threads is another remedy. `least`: seconds that a verdict saves. `known`: what the best one about a cause saves, beside
/// which a pattern has to save far more. `covering`: findings whose root, a rank, has a verdict of its own.
inline void add_verdicts(base::vector<verdict_entry>& all, const base::vector<rules::finding>& findings,
                         const rules::evaluation& said, const explain::outcome& found, double run, bool of_pattern,
                         double least, double known, const base::vector<rules::finding>& covering = {}) {
  const auto covered = [&](const rules::finding& f) {  // a part of what is wrong with a rank, or with a block
    const core::stable_key top = top_block(f, found);
    const auto same = [&](const verdict_entry& v) {
      return v.piece != 0 && v.piece == top &&
             ((of_pattern && !is_of_order(f)) ||
              (v.saving_seconds * (yields_to_one(f) && !v.at_least ? far_from : 1) >= f.saving && !is_other_remedy(f)));
    };
    if (base::any_of(all, same)) return true;
    return base::any_of(covering, [&f](const rules::finding& c) {
      return c.root.compare(0, std::strlen(base::rank_noun()) + 1, base::rank_noun() + std::string(" ")) == 0 &&
             f.verdict.compare(0, c.root.size() + 1, c.root + " ") == 0;
    });
  };
  const auto about_holder = [&](const rules::finding& f) {  // others wait for its lock, and one of them for its end
    return f.wait >= 0 && static_cast<std::size_t>(f.wait) < found.waits.size() &&
           !explain::waits_for_lock(found.waits[static_cast<std::size_t>(f.wait)].why) &&
           runs_under_lock(top_block(f, found), found);
  };
  for (const rules::finding& f : findings) {
    if (covered(f)) continue;
    if (f.verdict.empty() || !f.matters || f.of_pattern != of_pattern || f.saving < least_share * run) continue;
    if (f.saving < std::max(least, known * more_than_known(f)) || about_holder(f)) continue;
    if (base::any_of(all, [&f](const verdict_entry& v) { return v.claim == f.verdict; })) continue;
    verdict_entry v;
    v.problem = f.problem;
    v.saving_seconds = std::min(f.saving, run);
    v.claim = f.verdict;
    v.root = f.root;
    const rules::evaluation::most_code* const most = is_in_turn(f) ? said.most_in(top_block(f, found)) : nullptr;
    if (most != nullptr) v.asleep = most->asleep;
    v.predicted = f.predicted;
    v.of_pattern = of_pattern;
    all.push_back(std::move(v));
  }
}

/// Whether a rule has a better verdict than that one rank takes longer in one block: about this rank, or about this block. Which thread of
/// a team runs tasks, or code for all, does not matter. `in_turn`: what evening out the block saves if now one rank takes longer, now
/// another, in seconds; 0: it is one rank.
inline bool rule_replaces(const explain::balance_answer& b, const explain::outcome& found, const rules::evaluation& said,
                          double in_turn = 0) {
  const auto replaces = [&](const rules::finding& f) {
    if (f.verdict.empty() || !f.matters || f.of_pattern) return false;
    if (b.evened_ns > 0 && top_block(f, found) == b.piece) return 2 * f.saving >= in_turn;
    if (in_turn > 0) return is_in_turn(f) && far_from * f.saving >= in_turn;
    if (f.problem == "single_work" || f.problem == "large_tasks") return explains(b.piece, f, found);
    if (f.saving < base::seconds_of(b.saving_ns) * (yields_to_one(f) && !b.moves ? far_from : 1)) return false;
    if (f.root == base::rank_text(b.rank, b.thread)) return true;
    return top_block(f, found) == b.piece;
  };
  for (const rules::wait_advice& w : said.waits)
    if (base::any_of(w.list, replaces)) return true;
  return base::any_of(said.problems, replaces);
}

/// Whether the thread of an answer also takes longer in all, by half of what it has more of the block: if not, it may run elsewhere what
/// the others run there.
inline bool computes_more(const explain::balance_answer& b, const rules::evaluation& said) noexcept {
  const std::int64_t excess_ns = b.most_ns - b.sum_ns / std::max(1, b.among);
  return !base::any_of(said.code, [&](const rules::evaluation::most_code& w) {
    return w.rank == b.rank && w.thread == b.thread && 2 * w.above_mean_ns < excess_ns;
  });
}

/// Whether both are about code that one thread runs before a call, after two calls in one line: it waited in one of them, or not.
[[gnu::noinline]] inline bool are_of_one_call(const verdict_entry& a, const verdict_entry& b) noexcept {
  return a.divided && b.divided && a.kind == "between" && b.kind == "between" && a.rank == b.rank && a.thread == b.thread &&
         a.where == b.where && a.from && b.from && a.from->file == b.from->file && a.from->line == b.from->line;
}

/// Whether a rank deals most visits of a block to the ranks that ask first, or runs it itself for each of them.
inline bool is_dealt(const explain::balance_answer& b, std::int64_t dealt) noexcept {
  return dealt > 0 && 2 * dealt >= b.visits;
}

/// Whether other ranks waited for a lock of a window that a rank holds while it runs this code: once divided, the parts wait for it
/// in turn, which the clocks do not know.
inline bool holds_window(const verdict_entry& v, const explain::outcome& found) {
  if (v.kind != "between" || v.where.call.compare(0, 14, "MPI_Win_unlock") != 0) return false;
  for (const explain::explanation& e : found.waits)
    if (e.why == explain::pattern::window_lock_contention) return true;
  return false;
}

/// Whether unmarked code is that of a task, or begins after some: which thread runs it is chance.
inline bool is_of_task(const verdict_entry& v) {
  return v.kind == "between" && (v.where.call == "end of omp task" || (v.from && v.from->call == "omp taskwait"));
}

/// What another division of the same work saves at most: no rank waits any more, or all processors are busy.
inline std::int64_t most_divided_ns(const explain::outcome& found, const rules::evaluation& said) noexcept {
  const double busy = std::min(1.0, found.efficiency.parallel);
  return busy > 0 ? std::min(static_cast<std::int64_t>((1 - busy) * static_cast<double>(found.total_ns)), said.most_divided_ns)
                  : said.most_divided_ns;
}

/// The answers about balanced blocks, largest saving first. Where a rank deals the visits of a block to the ranks that ask first,
/// another run would deal them in another way, and the clocks do not answer: then the saving is what the rank has above the
/// mean. Of such code, and of code that is divided among all ranks, it is at most what the ranks wait: their work remains. No answer
/// saves more than the processors were idle. What takes longer now on one rank, now on another, saves `evened_ns`, else 0. `dealt`: answers to the first rank that asked.
inline base::vector<explain::balance_answer> balances_of(const explain::outcome& found, const rules::evaluation& said,
                                                         std::int64_t dealt) {
  base::vector<explain::balance_answer> all = found.balances;
  const std::int64_t most_ns = most_divided_ns(found, said);
  for (explain::balance_answer& b : all) {
    // The rank that deals has no such code, and joined code is balanced over all ranks.
    const auto is_piece = [&](const explain::balance_answer& o) {
      return o.pieces == 1 && o.block == b.piece && is_dealt(o, dealt);
    };
    if (b.pieces > 1 && base::any_of(found.balances, is_piece)) b.saving_ns = 0;
    b.bounded = b.bounded || b.saving_ns > said.most_divided_ns;
    b.saving_ns = std::min(b.saving_ns, said.most_divided_ns);
    if (!b.even && is_dealt(b, dealt)) b.saving_ns = std::min(b.most_ns - b.sum_ns / b.among, most_ns);
    else if (b.among > b.ranks && !base::ranks_are_threads()) b.saving_ns = std::min(b.saving_ns, most_ns);
    if (base::ranks_are_threads() || b.even || b.evened_ns < 2 * b.saving_ns) b.evened_ns = 0;
    if (b.evened_ns > 0) b.saving_ns = std::min(b.evened_ns, most_ns);
  }
  base::small_stable_sort(all, &explain::balance_answer::saves_more);
  return all;
}

/// The blocks whose balancing would shorten the run by at least `least_share`, and what rules say, largest saving first. Time
/// inside MPI and start-up cannot be balanced. Of unmarked code all of it is named if balancing that saves clearly more than
/// any part, and not mostly for the sake of code that only one rank runs; else the parts, each once. If nothing is known about
/// causes, or only what saves far less, the pattern of the waits whose removal saves most. What the kernel may have caused
/// (`said.noise`), or measuring, has no verdict. `dealt`: as in `balances_of`.
inline base::vector<verdict_entry> verdict_of(const explain::outcome& found, const name_resolver& resolve,
                                              const rules::evaluation& said, std::int64_t dealt) {
  const base::vector<explain::balance_answer> balances = balances_of(found, said, dealt);
  constexpr double least_ratio = 1.05, clearly_more = 1.1;
  base::vector<verdict_entry> all, moving;  // moving: used if nothing else is known
  const double run = base::seconds_of(found.total_ns != 0 ? found.total_ns : found.longest_ns);
  const double error = base::seconds_of(found.without_overhead.error_ns);
  const double noise = std::max(error, rules::processor_noise::least_effect(said.noise.all_ns, run));
  bool drowned = false;
  std::int64_t all_ns = 0, part_ns = 0, alone_ns = 0;
  std::int32_t all_rank = -1;
  for (const explain::balance_answer& b : balances) {
    verdict_entry v;
    resolve.describe(b.piece, 0, v);
    if (v.kind != "between") continue;
    const bool whole = b.block == explain::unmarked_key();
    std::int64_t& largest_ns = whole ? all_ns : part_ns;
    if (whole) all_rank = b.rank;
    largest_ns = std::max(largest_ns, b.saving_ns);
  }
  const auto of_items = [&](const explain::balance_answer& b) {
    return (b.unmarked || b.among > b.ranks) && base::ranks_are_threads() &&
           hands_over(b.piece, b.among > b.ranks, found, resolve);
  };
  const auto saved_ns = [&](const explain::balance_answer& b) {
    if (!of_items(b)) return b.saving_ns;
    const std::int64_t half_ns = saved_by_half(b.piece, found);
    const std::int64_t saved = b.among > b.ranks && half_ns > 0 ? half_ns : std::max(b.saving_ns, half_ns);
    return std::min(saved, said.most_divided_ns);  // half: that of one thread between two
  };
  // Serial work of a rank is clearer advice than that the rank is slower.
  for (const explain::balance_answer& b : balances)
    if (b.unmarked && b.among > b.ranks && b.rank == all_rank && b.thread == 0) alone_ns = std::max(alone_ns, saved_ns(b));
  const bool together = static_cast<double>(all_ns) > clearly_more * static_cast<double>(part_ns) && all_ns > 2 * alone_ns;
  bool ends_with_tasks = false;
  for (const rules::wait_advice& w : said.waits)
    for (const rules::finding& f : w.list) ends_with_tasks = ends_with_tasks || f.problem == "large_tasks";
  for (const explain::balance_answer& b : balances) {
    const bool by_item = of_items(b);
    const double saving = base::seconds_of(saved_ns(b));
    if (all.size() == most_verdicts || b.among < 2 || saving < least_share * run) break;
    verdict_entry v;
    resolve.describe(b.piece, 0, v);
    if (runs_under_lock(b.piece, found) || (ends_with_tasks && is_of_task(v))) continue;
    const bool divided = b.among > b.ranks;
    const bool unmarked = v.kind == "between", whole = b.block == explain::unmarked_key();
    if (unmarked ? whole != together : v.kind != "region") continue;
    v.after = b.after;
    v.before = b.before;
    v.piece = b.piece;
    v.rank = b.rank;
    v.thread = b.thread;
    v.divided = divided;
    const auto same = [&v](const verdict_entry& x) {
      // of the code after, or before, the same call
      const bool part =
          ((x.after || v.after) && x.from && v.from && *x.from == *v.from) || ((x.before || v.before) && x.where == v.where);
      return part || (x.block == v.block && x.where.line == v.where.line) || are_of_one_call(x, v);
    };
    const bool again = base::any_of(all, same);
    if (again && !divided) continue;
    const bool alternates = b.evened_ns > 0;
    v.ratio = divided || alternates ? 0 : slow_ratio(b);
    if ((v.ratio > 0 && v.ratio < (is_dealt(b, dealt) ? far_from : least_ratio)) ||
        rule_replaces(b, found, said, alternates ? saving : 0))
      continue;
    // Threads take the work as they come: no thread is slow. Where others wait for it longer than for one slow thread, the slow one
    // changes, and each wait is shared by all once the work is even.
    const bool by_threads = further_threads(b) != 0 && !base::ranks_are_threads();
    const double even = (base::ranks_are_threads() || b.moves) && !divided
                            ? std::min({run, base::seconds_of(waited_for(b.piece, whole, by_threads, found) / b.among),
                                        base::seconds_of(said.most_divided_ns)})
                            : 0;
    const bool far = even > (whole ? 2 : 1.4) * saving;
    const bool in_turn = alternates || (base::ranks_are_threads() && (b.moves || far));
    const bool ranks_in_turn = !base::ranks_are_threads() && far && !alternates;
    if (saving < error || (!divided && saving < rules::processor_noise::least_effect(said.noise.of(b.rank), run))) {
      drowned = true;
      continue;
    }
    if (ranks_in_turn && rule_replaces(b, found, said, even)) continue;
    if ((b.after || b.before) && !alternates && !computes_more(b, said)) continue;
    v.saving_seconds = (in_turn && !b.moves) || ranks_in_turn ? even : saving;
    const bool progress = rules::delays_progress(b.piece, found);
    const rules::evaluation::most_code* const of_most = said.most_in(b.piece);
    // A thread that sleeps and holds up none, perhaps to look now and then whether others are done, has no work to divide.
    const bool idles = divided && base::ranks_are_threads() && of_most != nullptr && of_most->sleeps;
    if (idles && base::seconds_of(waited_for(b.piece, whole, by_threads, found)) < saving / 4) continue;
    v.predicted = !by_item && !alternates && !is_dealt(b, dealt) && !b.bounded && !holds_window(v, found) &&
                  !(progress && divided) && !(of_most != nullptr && of_most->sleeps) && v.saving_seconds <= saving;
    v.excess_seconds = base::seconds_of(std::min(b.most_ns - b.sum_ns / b.among, said.most_divided_ns));
    // Which of several pieces of code get more work is not known: perhaps others than those that hold up messages.
    const bool by_choice = b.pieces > 1 && !divided && 4 * saving < 3 * v.excess_seconds;
    v.at_least = v.predicted && (b.moves || progress || by_choice || takes_locks(found));
    const std::string code = code_text(v.where);
    const std::string name = !unmarked           ? (code.empty() ? v.block : base::joined({v.block, " (", code, ")"}))
                             : b.after && v.from ? (v.from->call == "omp parallel" ? "the code in " : "the code after ") +
                                                       base::brief_call_text(*v.from)
                             : b.before     ? "the code before " + base::brief_call_text(v.where)
                             : b.pieces > 1 ? "unmarked code, above all " + between_text(v)
                                            : "the code " + between_text(v);
    if (of_most != nullptr) v.asleep = of_most->asleep;
    if (by_item) {
      v.claim = base::joined({divided ? "only " : "", base::rank_text(v.rank, v.thread),
                              divided ? " runs " : " spends most time in ", whole ? "the code " + between_text(v) : name,
                              divided ? ": dividing it between two threads" : ": dividing it among more threads"});
    } else if (divided) {
      v.claim = base::joined(
          {"only ", base::rank_text(v.rank, v.thread), " runs ", name, ": dividing it among all ", base::rank_nouns()});
    } else if (in_turn) {
      v.claim = base::joined({"now one ", base::rank_noun(), ", now another takes longer in ", name, ": evening that out"});
    } else if (ranks_in_turn) {
      const char* const when =
          b.several || b.slow_ranks > 1 ? " longer now and then in " : " longer at times, others at other times, in ";
      v.claim = base::joined({slow_words(b, "takes", "take"), when, name, ": evening that out"});
    } else if (v.ratio <= 0 || v.ratio >= 20) {
      v.claim = base::joined({slow_words(b, "does", "do"), " nearly all of ", name, ": balancing it"});
    } else {
      v.claim = base::joined({slow_words(b, "takes", "take"), " ", base::fixed(v.ratio, v.ratio < 10 ? 1 : 0),
                              " times as long as the ", other_threads(b) == 1 ? "other in " : "others in ", name,
                              by_threads ? ": balancing it over all ranks' threads" : ": balancing it"});
    }
    const auto same_claim = [&v](const verdict_entry& x) { return x.claim == v.claim; };
    if (!again) {
      if (!base::any_of(moving, same_claim)) (in_turn && !alternates ? moving : all).push_back(std::move(v));
      continue;
    }
    for (verdict_entry& x : all) {  // code that the compiler has in several places, such as an inlined function
      if (x.claim != v.claim && !are_of_one_call(x, v)) continue;
      const std::int64_t divided_ns = base::ranks_are_threads() ? said.most_divided_ns : most_divided_ns(found, said);
      const double most = divided ? base::seconds_of(divided_ns) : run;
      x.saving_seconds = std::min({run, most, x.saving_seconds + v.saving_seconds});
      x.predicted = false;
    }
  }
  const auto add = [&](base::vector<verdict_entry>& to, bool of_pattern, double least, double known) {
    add_verdicts(to, said.problems, said, found, run, of_pattern, least, known);
    for (const rules::wait_advice& w : said.waits)
      add_verdicts(to, w.list, said, found, run, of_pattern, least, known, said.problems);
  };
  const auto order = [](base::vector<verdict_entry>& list) {
    base::small_stable_sort(list,
                            [](const verdict_entry& a, const verdict_entry& b) { return a.saving_seconds > b.saving_seconds; });
  };
  add(all, false, error, 0);
  order(all);
  base::vector<verdict_entry> kept;
  for (const verdict_entry& v : all) {
    const auto same_cause = [&v](const verdict_entry& x) { return !v.root.empty() && x.root == v.root; };
    if (!base::any_of(kept, same_cause)) kept.push_back(v);  // the same cause may have one that saves more
  }
  if (kept.size() > most_verdicts) kept.resize(most_verdicts);
  // Patterns, and what moves from thread to thread, where nothing is known that saves a large part of it.
  const double known = kept.empty() ? 0 : kept[0].saving_seconds;
  base::vector<verdict_entry> more = kept;  // which cover others
  if (!drowned && static_cast<double>(found.waiting_ns) >= least_waiting * static_cast<double>(found.location_ns))
    add(more, true, noise, known);
  double most = 0;
  for (std::size_t i = kept.size(); i < more.size(); ++i) most = std::max(most, more[i].saving_seconds);
  std::size_t first = kept.size();  // of nearly the same saving: ranks wait longest for it
  while (first != more.size() && 1.05 * more[first].saving_seconds < most) ++first;
  more.erase(more.begin(), more.begin() + static_cast<std::ptrdiff_t>(first));
  if (more.empty() && !moving.empty() && moving[0].saving_seconds >= far_more * known) more = std::move(moving);
  if (more.empty()) return kept;
  if (kept.empty() && !more[0].of_pattern) return more;
  if (kept.size() == most_verdicts) kept.pop_back();
  kept.push_back(std::move(more[0]));
  order(kept);
  return kept;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
