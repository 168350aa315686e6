#ifndef WHYWAIT_REPORT_VERDICT_HPP
#define WHYWAIT_REPORT_VERDICT_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/rules/finding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

/// One sentence about what makes the run long, in wall time: about a block, by the virtual clocks, or by a rule.
struct verdict_entry : named_block {
  std::string claim;  ///< "rank 1 takes 3.0 times as long as the others in sweep: balancing it", which `sentence` ends
  std::string problem;  ///< the rule; empty: by the virtual clocks, then `block`, `rank` and `ratio` hold
  std::int32_t rank = 0;  ///< the rank that spends most time in the block
  double ratio = 0;  ///< its time relative to the mean of the other ranks that run the block; 0: no others, or unknown
  double saving_seconds = 0;  ///< the run would be shorter by this if the cause were removed; wall time
};

namespace detail {

constexpr double least_share = 0.02;  ///< of the run, that a verdict saves
constexpr std::size_t most_verdicts = 3;

/// The verdicts of rules, each once.
inline void add_verdicts(base::vector<verdict_entry>& all, const base::vector<rules::finding>& findings, double run) {
  for (const rules::finding& f : findings) {
    if (f.verdict.empty() || !f.matters || f.saving < least_share * run) continue;
    if (std::any_of(all.begin(), all.end(), [&f](const verdict_entry& v) { return v.claim == f.verdict; })) continue;
    verdict_entry v;
    v.problem = f.problem;
    v.saving_seconds = std::min(f.saving, run);
    v.claim = f.verdict;
    all.push_back(std::move(v));
  }
}

/// The blocks whose balancing would shorten the run by at least `least_share`, and what rules say, largest saving first. Time
/// inside MPI and start-up cannot be balanced. Of unmarked code all of it is named if balancing that saves clearly more than
/// any part, else the parts, each once.
inline base::vector<verdict_entry> verdict_of(const explain::outcome& found, const name_resolver& resolve,
                                              const rules::evaluation& said) {
  constexpr double least_ratio = 1.05, clearly_more = 1.1;
  base::vector<verdict_entry> all;
  const double run = base::seconds_of(found.total_ns);
  std::int64_t all_ns = 0, part_ns = 0;
  for (const explain::balance_answer& b : found.balances) {
    verdict_entry v;
    resolve.describe(b.piece, 0, v);
    if (v.kind != "between") continue;
    std::int64_t& largest_ns = b.block == explain::unmarked_key() ? all_ns : part_ns;
    largest_ns = std::max(largest_ns, b.saving_ns);
  }
  const bool together = static_cast<double>(all_ns) > clearly_more * static_cast<double>(part_ns);
  for (const explain::balance_answer& b : found.balances) {
    const double saving = base::seconds_of(b.saving_ns);
    if (all.size() == most_verdicts || b.among < 2 || saving < least_share * run) break;
    verdict_entry v;
    resolve.describe(b.piece, 0, v);
    const bool divided = b.among > b.ranks;
    const bool unmarked = v.kind == "between", whole = b.block == explain::unmarked_key();
    if (unmarked ? whole != together : v.kind != "region") continue;
    const auto same = [&v](const verdict_entry& x) { return x.block == v.block && x.where.line == v.where.line; };
    if (std::any_of(all.begin(), all.end(), same)) continue;
    const double others = divided ? 0 : base::seconds_of(b.sum_ns - b.most_ns) / (b.ranks - 1);
    v.rank = b.rank;
    v.ratio = others > 0 ? base::seconds_of(b.most_ns) / others : 0;
    if (others > 0 && v.ratio < least_ratio) continue;
    v.saving_seconds = saving;
    const std::string code = code_text(v.where);
    const std::string name = !unmarked      ? v.block + (code.empty() ? "" : " (" + code + ")")
                             : b.pieces > 1 ? "unmarked code, above all " + v.block
                                            : "the code " + v.block;
    const std::string how_much = v.ratio <= 0 || v.ratio >= 100
                                     ? "does nearly all of "
                                     : "takes " + base::fixed(v.ratio, v.ratio < 10 ? 1 : 0) + " times as long as the " +
                                           (b.ranks == 2 ? "other in " : "others in ");
    v.claim = !divided ? "rank " + std::to_string(v.rank) + " " + how_much + name + ": balancing it"
                       : "only rank " + std::to_string(v.rank) + " runs " + name + ": dividing it among all ranks";
    all.push_back(std::move(v));
  }
  for (const rules::wait_advice& w : said.waits) add_verdicts(all, w.list, run);
  add_verdicts(all, said.problems, run);
  base::small_stable_sort(all,
                          [](const verdict_entry& a, const verdict_entry& b) { return a.saving_seconds > b.saving_seconds; });
  if (all.size() > most_verdicts) all.resize(most_verdicts);
  return all;
}

}  // namespace detail
}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
