#ifndef WHYWAIT_REPORT_VERDICT_HPP
#define WHYWAIT_REPORT_VERDICT_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

/// One sentence about what makes the run long, in wall time.
struct verdict_entry : named_block {
  std::string text;
  std::int32_t rank = 0;      ///< the rank that spends most time in the block
  double ratio = 0;           ///< its time relative to the mean of the other ranks that run the block
  double saving_seconds = 0;  ///< the run would be shorter by this if the block were balanced; wall time
};

namespace detail {

/// The blocks whose balancing would shorten the run by at least `least_share`, largest saving first. Time inside MPI and
/// start-up cannot be balanced. Of unmarked code all of it is named if balancing that saves clearly more than any part, else
/// the parts, each once.
inline base::vector<verdict_entry> verdict_of(const explain::outcome& found, const name_resolver& resolve) {
  constexpr double least_share = 0.02, least_ratio = 1.05, clearly_more = 1.1;
  constexpr std::size_t most = 3;
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
    if (all.size() == most || b.ranks < 2 || saving < least_share * run) break;
    verdict_entry v;
    resolve.describe(b.piece, 0, v);
    const bool unmarked = v.kind == "between", whole = b.block == explain::unmarked_key();
    if (unmarked ? whole != together : v.kind != "region") continue;
    const auto same = [&v](const verdict_entry& x) { return x.block == v.block && x.where.line == v.where.line; };
    if (std::any_of(all.begin(), all.end(), same)) continue;
    const double others = base::seconds_of(b.sum_ns - b.most_ns) / (b.ranks - 1);
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
    v.text = "rank " + std::to_string(v.rank) + " " + how_much + name + ": balancing it would shorten the run by about " +
             base::duration(saving, 2) + " of " + base::duration(run, 2);
    all.push_back(std::move(v));
  }
  return all;
}

}  // namespace detail
}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
