#ifndef WHYWAIT_REPORT_RULE_VERDICTS_HPP
#define WHYWAIT_REPORT_RULE_VERDICTS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/report/waits_for_code.hpp>
#include <whywait/rules/finding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Whether the problem is that ranks are late in turn. That one of them is late more often may be nearly as much of it, and has priority.
[[gnu::noinline]] inline bool is_in_turn(const rules::finding& f) noexcept {
  return f.problem == "slow_block" || f.problem == "work_in_turn";
}
/// Whether that one rank takes longer in the same code has priority if it is nearly as much of the problem.
inline bool yields_to_one(const rules::finding& f) noexcept { return is_in_turn(f) || f.problem == "serialised_pipeline"; }
constexpr double far_from = 1.3, far_more = 3;  ///< times as much: more than nearly; so much that the other hardly counts

/// How many times as much as dividing the work a pattern of waits has to save beside it. Whatever the late rank runs, calls of MPI in
/// between let messages pass, and threads that are awaited to their end are known to run it; an earlier send may be impossible.
inline double more_than_known(const rules::finding& f) noexcept {
  if (f.problem == "join" || f.problem == "wait_for_progress") return far_from;
  return f.problem == "late_sender" || f.problem == "late_receiver" ? 1.5 : far_more;
}
/// Whether another order of calls helps without another division of the work.
[[gnu::noinline]] inline bool is_of_order(const std::string& problem) noexcept {
  return problem == "wait_for_progress" || problem == "late_sender" || problem == "late_receiver" ||
         problem == "send_after_work";
}

/// Whether the remedy is another one than to balance the code that made a rank late.
[[gnu::noinline]] inline bool is_other_remedy(const rules::finding& f) noexcept {
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
             ((of_pattern && !is_of_order(f.problem)) ||
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

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
