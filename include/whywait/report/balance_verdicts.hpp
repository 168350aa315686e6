#ifndef WHYWAIT_REPORT_BALANCE_VERDICTS_HPP
#define WHYWAIT_REPORT_BALANCE_VERDICTS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/rule_verdicts.hpp>
#include <whywait/report/slow_words.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/report/waits_for_code.hpp>
#include <whywait/rules/finding.hpp>
#include <whywait/rules/saving_bounds.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

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
/// saves more than the processors were idle. What takes longer now on one rank, now on another, saves `evened_ns`, else 0. `dealt`: answers
/// to the first rank that asked.
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

/// The verdicts about code that some threads spend more time in than others, by the virtual clocks: the blocks whose balancing would shorten
/// the run by at least `least_share`. Time inside MPI and start-up cannot be balanced. Of unmarked code all of it is named if balancing that
/// saves clearly more than any part, and not mostly for the sake of code that only one rank runs; else the parts, each once. What the
/// kernel may have caused (`said.noise`), or measuring, has no verdict.
class balance_verdicts {
 public:
  base::vector<verdict_entry> all;
  base::vector<verdict_entry>
      moving;  ///< about code that takes longer now on one thread, now on another: used if nothing else is known
  bool drowned = false;  ///< some save less than the kernel or measuring may have cost

  /// `dealt`: as in `balances_of`. All but `dealt` are borrowed.
  balance_verdicts(const explain::outcome& found, const name_resolver& resolve, const rules::evaluation& said,
                   std::int64_t dealt)
      : found_(found),
        resolve_(resolve),
        said_(said),
        dealt_(dealt),
        run_(base::seconds_of(found.total_ns != 0 ? found.total_ns : found.longest_ns)),
        balances_(balances_of(found, said, dealt)),
        together_(is_named_together()),
        ends_with_tasks_(base::any_of(said.waits, [](const rules::wait_advice& w) {
          return base::any_of(w.list, [](const rules::finding& f) { return f.problem == "large_tasks"; });
        })) {
    for (const explain::balance_answer& b : balances_) {
      if (all.size() == most_verdicts || b.among < 2 || base::seconds_of(saved_ns(b)) < least_share * run_) break;
      add(b);
    }
  }

 private:
  // One answer and what the verdict about it depends on.
  struct question {
    explicit question(const explain::balance_answer& answer) noexcept : b(answer) {}

    const explain::balance_answer& b;
    verdict_entry v;
    bool whole = false, unmarked = false, divided = false;
    bool by_item = false;  ///< threads wait for single results of this code
    bool by_threads = false;  ///< further threads of ranks are among the slow ones
    bool again = false;  ///< there is a verdict about the same code
    bool alternates = false;  ///< takes longer now on one rank, now on another, by the clocks
    bool in_turn = false, ranks_in_turn = false;  ///< the same of threads, and by the waits
    double saving = 0, evened = 0;  ///< seconds; evened: at most, if no other thread waits for the code
  };

  // Where as many threads as processors run the code equally long, more of them do not run more of it at a time.
  bool is_of_items(const explain::balance_answer& b) const {
    if (b.among <= b.ranks && said_.processors > 0 && 10 * b.sum_ns >= 9 * said_.processors * b.most_ns) return false;
    return (b.unmarked || b.among > b.ranks) && base::ranks_are_threads() &&
           hands_over(b.piece, b.among > b.ranks, found_, resolve_);
  }
  std::int64_t saved_ns(const explain::balance_answer& b) const {
    if (!is_of_items(b)) return b.saving_ns;
    const std::int64_t half_ns = saved_by_half(b.piece, found_);
    const std::int64_t saved = b.among > b.ranks && half_ns > 0 ? half_ns : std::max(b.saving_ns, half_ns);
    return std::min(saved, said_.most_divided_ns);  // half: that of one thread between two
  }
  // Whether all unmarked code is named, not its parts. Serial work of a rank is clearer advice than that the rank is slower.
  bool is_named_together() const {
    constexpr double clearly_more = 1.1;
    std::int64_t all_ns = 0, part_ns = 0, alone_ns = 0;
    std::int32_t all_rank = -1;
    for (const explain::balance_answer& b : balances_) {
      verdict_entry v;
      resolve_.describe(b.piece, 0, v);
      if (v.kind != "between") continue;
      const bool whole = b.block == explain::unmarked_key();
      std::int64_t& largest_ns = whole ? all_ns : part_ns;
      if (whole) all_rank = b.rank;
      largest_ns = std::max(largest_ns, b.saving_ns);
    }
    for (const explain::balance_answer& b : balances_)
      if (b.unmarked && b.among > b.ranks && b.rank == all_rank && b.thread == 0) alone_ns = std::max(alone_ns, saved_ns(b));
    return static_cast<double>(all_ns) > clearly_more * static_cast<double>(part_ns) && all_ns > 2 * alone_ns;
  }

  void add(const explain::balance_answer& b) {
    question q(b);
    // Of several pieces that take longer in turn the one is named that explains most of the longest waits.
    const bool several = b.evened_ns > 0 && b.pieces > 1 && !found_.waits.empty();
    const core::stable_key longest = several ? top_block(found_.waits[0]) : 0;
    verdict_entry of_longest;
    if (longest != 0) resolve_.describe(longest, 0, of_longest);
    const core::stable_key piece = of_longest.kind == "between" ? longest : b.piece;
    resolve_.describe(piece, 0, q.v);
    q.v.after = b.after;
    q.v.before = b.before;
    q.v.piece = piece;
    q.v.rank = b.rank;
    q.v.thread = b.thread;
    q.whole = b.block == explain::unmarked_key();
    q.unmarked = q.v.kind == "between";
    q.divided = q.v.divided = b.among > b.ranks;
    q.by_item = is_of_items(b);
    q.by_threads = further_threads(b) != 0 && !base::ranks_are_threads();
    q.alternates = b.evened_ns > 0;
    q.saving = base::seconds_of(saved_ns(b));
    q.again = base::any_of(all, [&q](const verdict_entry& x) { return is_same_code(x, q.v); });
    if (!is_of_code(q) || !tells_apart(q) || !is_worth_it(q) || idles(q)) return;
    set_saving(q);
    q.v.claim = claim_of(q);
    put(q);
  }

  static bool is_same_code(const verdict_entry& x, const verdict_entry& v) {
    const bool part =  // of the code after, or before, the same call
        ((x.after || v.after) && x.from && v.from && *x.from == *v.from) || ((x.before || v.before) && x.where == v.where);
    return part || (x.block == v.block && x.where.line == v.where.line) || are_of_one_call(x, v);
  }
  bool is_of_code(const question& q) const {
    if (runs_under_lock(q.b.piece, found_) || (ends_with_tasks_ && is_of_task(q.v))) return false;
    if (q.unmarked ? q.whole != together_ : q.v.kind != "region") return false;
    return !q.again || q.divided;
  }
  // Finds by how much threads differ and whether they do in turn. False: hardly, or a rule has a better verdict.
  bool tells_apart(question& q) const {
    constexpr double least_ratio = 1.05;
    q.v.ratio = q.divided || q.alternates ? 0 : slow_ratio(q.b);
    if (q.v.ratio > 0 && q.v.ratio < (is_dealt(q.b, dealt_) ? far_from : least_ratio)) return false;
    if (rule_replaces(q.b, found_, said_, q.alternates ? q.saving : 0)) return false;
    // Threads take the work as they come: no thread is slow. Where others wait for it longer than for one slow thread, the slow one
    // changes, and each wait is shared by all once the work is even.
    if ((base::ranks_are_threads() || q.b.moves) && !q.divided)
      q.evened = std::min({run_, base::seconds_of(awaited_ns(q) / q.b.among), base::seconds_of(said_.most_divided_ns)});
    const bool far = q.evened > (q.whole ? 2 : 1.4) * q.saving;
    q.in_turn = q.alternates || (base::ranks_are_threads() && (q.b.moves || far));
    q.ranks_in_turn = !base::ranks_are_threads() && far && !q.alternates;
    return true;
  }
  bool is_worth_it(const question& q) {
    if (q.saving < base::seconds_of(found_.without_overhead.error_ns) ||
        (!q.divided && q.saving < rules::processor_noise::least_effect(said_.noise.of(q.b.rank), run_))) {
      drowned = true;
      return false;
    }
    if (lacks_processor(q)) return false;
    if (q.ranks_in_turn && rule_replaces(q.b, found_, said_, q.evened)) return false;
    return (!q.b.after && !q.b.before) || q.alternates || computes_more(q.b, said_);
  }
  // Whether what a rank has more of the code is mostly time in which it was ready to run without a processor.
  bool lacks_processor(const question& q) const {
    const rules::evaluation::most_code* const most = said_.most_in(q.b.piece);
    if (most == nullptr || q.divided || q.alternates || base::ranks_are_threads()) return false;
    return 2 * most->lacking * static_cast<double>(q.b.most_ns) > static_cast<double>(q.b.most_ns - q.b.sum_ns / q.b.among);
  }
  // A thread that sleeps and holds up none, perhaps to look now and then whether others are done, has no work to divide.
  bool idles(const question& q) const {
    return q.divided && base::ranks_are_threads() && sleeps(q.b) && base::seconds_of(awaited_ns(q)) < q.saving / 4;
  }
  bool sleeps(const explain::balance_answer& b) const {
    const rules::evaluation::most_code* const most = said_.most_in(b.piece);
    return most != nullptr && most->sleeps;
  }
  std::int64_t awaited_ns(const question& q) const { return waited_for(q.b.piece, q.whole, q.by_threads, found_); }

  void set_saving(question& q) const {
    verdict_entry& v = q.v;
    const explain::balance_answer& b = q.b;
    v.saving_seconds = (q.in_turn && !b.moves) || q.ranks_in_turn ? q.evened : q.saving;
    const bool progress = rules::delays_progress(b.piece, found_);
    v.predicted = !q.by_item && !q.alternates && !is_dealt(b, dealt_) && !b.bounded && !holds_window(v, found_) &&
                  !(progress && q.divided) && !sleeps(b) && v.saving_seconds <= q.saving;
    v.excess_seconds = base::seconds_of(std::min(b.most_ns - b.sum_ns / b.among, said_.most_divided_ns));
    // Which of several pieces of code get more work is not known: perhaps others than those that hold up messages.
    const bool by_choice = b.pieces > 1 && !q.divided && 4 * q.saving < 3 * v.excess_seconds;
    v.at_least = v.predicted && (b.moves || progress || by_choice || takes_locks(found_));
    if (const rules::evaluation::most_code* const most = said_.most_in(b.piece)) v.asleep = most->asleep;
  }

  static std::string name_of(const question& q) {
    const verdict_entry& v = q.v;
    if (!q.unmarked) {
      const std::string code = code_text(v.where);
      return code.empty() ? v.block : base::joined({v.block, " (", code, ")"});
    }
    if (q.b.after && v.from)
      return (v.from->call == "omp parallel" ? "the code in " : "the code after ") + base::brief_call_text(*v.from);
    if (q.b.before) return "the code before " + base::brief_call_text(v.where);
    return q.b.pieces > 1 ? "unmarked code, above all " + between_text(v) : "the code " + between_text(v);
  }
  static std::string claim_of(const question& q) {
    const explain::balance_answer& b = q.b;
    const verdict_entry& v = q.v;
    const std::string name = name_of(q), thread = base::rank_text(v.rank, v.thread);
    if (q.by_item)
      return base::joined({q.divided ? "only " : "", thread, q.divided ? " runs " : " spends most time in ",
                           q.whole ? "the code " + between_text(v) : name,
                           q.divided ? ": dividing it between two threads" : ": dividing it among more threads"});
    if (q.divided) return base::joined({"only ", thread, " runs ", name, ": dividing it among all ", base::rank_nouns()});
    if (q.in_turn)
      return base::joined({"now one ", base::rank_noun(), ", now another takes longer in ", name, ": evening that out"});
    if (q.ranks_in_turn) {
      const char* const when =
          b.several || b.slow_ranks > 1 ? " longer now and then in " : " longer at times, others at other times, in ";
      return base::joined({slow_words(b, "takes", "take"), when, name, ": evening that out"});
    }
    if (v.ratio <= 0 || v.ratio >= 20)
      return base::joined({slow_words(b, "does", "do"), " nearly all of ", name, ": balancing it"});
    return base::joined({slow_words(b, "takes", "take"), " ", base::fixed(v.ratio, v.ratio < 10 ? 1 : 0),
                         " times as long as the ", other_threads(b) == 1 ? "other in " : "others in ", name,
                         q.by_threads ? ": balancing it over all ranks' threads" : ": balancing it"});
  }

  // Adds the verdict, or its saving to those about the same code, which the compiler has in several places, such as an inlined function.
  void put(question& q) {
    verdict_entry& v = q.v;
    if (!q.again) {
      if (base::any_of(moving, [&v](const verdict_entry& x) { return x.claim == v.claim; })) return;
      (q.in_turn && !q.alternates ? moving : all).push_back(std::move(v));
      return;
    }
    for (verdict_entry& x : all) {
      if (x.claim != v.claim && !are_of_one_call(x, v)) continue;
      const std::int64_t divided_ns = base::ranks_are_threads() ? said_.most_divided_ns : most_divided_ns(found_, said_);
      const double most = q.divided ? base::seconds_of(divided_ns) : run_;
      x.saving_seconds = std::min({run_, most, x.saving_seconds + v.saving_seconds});
      x.predicted = false;
    }
  }

  const explain::outcome& found_;
  const name_resolver& resolve_;
  const rules::evaluation& said_;
  std::int64_t dealt_;
  double run_;  ///< seconds
  base::vector<explain::balance_answer> balances_;  ///< largest saving first
  bool together_, ends_with_tasks_;
};

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
