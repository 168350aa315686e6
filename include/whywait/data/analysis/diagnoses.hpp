#ifndef WHYWAIT_DATA_ANALYSIS_DIAGNOSES_HPP
#define WHYWAIT_DATA_ANALYSIS_DIAGNOSES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_names.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// What can be wrong with the transfers of a class (definitions 2.1).
enum class communication_problem : std::uint8_t { relay_chain, unchanged_data, large_halo, tiny_messages, gather_then_scatter };

inline const char* name_of(communication_problem p) noexcept {
  static const char* const names[] = {"relay_chain", "unchanged_data", "large_halo", "tiny_messages", "gather_then_scatter"};
  return names[static_cast<unsigned>(p)];
}

/// One thing that is wrong, with its numbers.
struct communication_finding {
  communication_problem problem = communication_problem::relay_chain;
  core::stable_key subject = 0;      ///< key of the class it is about
  std::int64_t transfers = 0;        ///< concerned
  std::int64_t bytes = 0;            ///< concerned
  std::int64_t needless_transfers = 0;
  std::int64_t needless_bytes = 0;
  std::int64_t saving_ns = 0;        ///< at most; of the time of the receiving calls; 0 if no times are known
  std::string text;                  ///< description of the problem
  std::string advice;                ///< what to do
};

/// From where something matters; counts are per run.
struct diagnosis_options {
  double least_share = 0.1;          ///< of the transfers (bytes) of a class that must be needless
  std::int64_t tiny_bytes = 1024;    ///< mean size up to which a message is mostly latency
  std::int64_t batch_bytes = 8192;   ///< size worth combining to
  std::int64_t tiny_count = 100;     ///< messages for each pair of ranks before their size matters
};

namespace detail {

inline std::int64_t tree_steps(std::int64_t ranks) noexcept {
  std::int64_t steps = 0;
  while ((std::int64_t{1} << steps) < ranks) ++steps;
  return steps;
}

/// The classes before a class: of a relay the previous one, of mixed data those it consists of (with their bytes).
class class_relations {
 public:
  explicit class_relations(const classified& all) : all_(&all) {
    for (std::uint32_t i = 0; i != all.classes.size(); ++i) by_key_.intern(all.classes[i].key(), i);
  }
  const transfer_class* find(core::stable_key key) const {
    const std::uint32_t at = by_key_.find(key);
    return at != base::key_map::none ? &all_->classes[at] : nullptr;
  }
  /// Whether `next` carries on what `c` brought. Cut chains agree as far as they go.
  static bool follows(const class_chain& next, const class_chain& c) noexcept {
    if (next.depth < 2) return false;
    for (unsigned i = 1; i < next.depth; ++i) {
      if (i - 1 >= c.depth) return c.end == origin_kind::deep;
      if (!(next.base[i] == c.base[i - 1])) return false;
    }
    return next.end == origin_kind::deep || (next.depth - 1 == c.depth && next.end == c.end && next.producer == c.producer);
  }
  /// The classes whose data `c` consists of; empty if part of it (over a tenth) came otherwise.
  base::pod_vector<const transfer_class*> before(const transfer_class& c) const {
    base::pod_vector<const transfer_class*> out;
    if (c.chain.depth >= 2) {
      for (const transfer_class& p : all_->classes) {
        if (follows(c.chain, p.chain)) out.push_back(&p);
      }
      return out;
    }
    if (c.chain.end != origin_kind::mixed) return out;
    std::int64_t relayed = 0, whole = 0;
    for (const mixed_share& m : all_->mixed) {
      if (m.data != c.chain.base[0].data || m.from != c.chain.base[0].from || m.region != c.chain.base[0].kind) continue;
      whole += m.bytes;
      const transfer_class* const p = m.kind == origin_kind::relay ? find(m.producer) : nullptr;
      if (p == nullptr) continue;
      relayed += m.bytes;
      out.push_back(p);
    }
    if (relayed * 10 < whole * 9) out.clear();
    return out;
  }

 private:
  const classified* all_;
  base::key_map by_key_;  // numbers in all_->classes
};

/// The one rank of a list, or -1.
inline std::int32_t only_rank(const rank_counts& ranks) { return ranks.list().size() == 1 ? ranks.list()[0].rank : -1; }

inline void relay_chain(const transfer_class& c, const classified& all, const naming& names,
                        base::vector<communication_finding>& out) {
  const std::int64_t hops = c.sums.most_hops;
  if (c.chain.depth < 2 || hops < 3 || hops > all.ranks) return;  // more: it goes to and fro, or round, on purpose
  std::int64_t chains = 0, first_senders = 0, reached = 0, transfers = 0, bytes = 0, duration = 0, wait = 0;
  for (const transfer_class& p : all.classes) {
    const bool same = p.key() == c.key();
    if (!same && class_relations::follows(p.chain, c.chain)) return;  // reported with the end of the chain
    bool earlier = same;
    for (unsigned skip = 1; !earlier && skip < c.chain.depth; ++skip) {
      earlier = p.chain.depth == c.chain.depth - skip && p.chain.end == c.chain.end && p.chain.producer == c.chain.producer &&
                std::equal(p.chain.base, p.chain.base + p.chain.depth, c.chain.base + skip);
    }
    if (!earlier) continue;
    if (p.chain.depth == 1) {
      chains += p.sums.count;
      first_senders += static_cast<std::int64_t>(p.senders.list().size());
    }
    reached = std::max(reached + (same ? 0 : p.sums.receivers), p.sums.receivers);
    transfers += p.sums.count;
    bytes += p.sums.bytes;
    duration += p.sums.duration_ns;
    wait += p.sums.wait_ns;
  }
  reached = std::min(std::max(reached + c.sums.receivers, hops), std::max<std::int64_t>(all.ranks - 1, 1));
  const std::int64_t steps = tree_steps(reached + 1);
  if (hops <= steps) return;  // a tree, by hand
  communication_finding f;
  f.problem = communication_problem::relay_chain;
  f.subject = c.key();
  f.transfers = transfers;
  f.bytes = bytes;
  // Every chain becomes shorter by hops - steps transfers; the saving is at most the waiting time.
  const std::int64_t mean = transfers != 0 ? duration / transfers : 0;
  f.saving_ns = std::min(wait, mean * (hops - steps) * std::max<std::int64_t>(chains, 1));
  const bool many = first_senders > 1;
  f.text = data_text(c.chain.base[0], names) + " is handed on from rank to rank, unchanged, up to " + base::count(hops) +
           " times (" + names.place(c.chain.base[0].from) + " -> " + names.place(c.chain.base[0].to) +
           "); the last rank gets it after " + base::count(hops) + " messages in a row";
  f.advice = std::string("use ") + (many ? "MPI_Allgather" : "MPI_Bcast") + ": " + base::counted(steps, "step", "steps") +
             " instead of " + base::count(hops);
  out.push_back(std::move(f));
}

inline void unchanged_data(const transfer_class& c, const diagnosis_options& o, const naming& names,
                           base::vector<communication_finding>& out) {
  const class_sums& s = c.sums;
  if (s.unchanged < 2 || static_cast<double>(s.unchanged) < o.least_share * static_cast<double>(s.count)) return;
  const bool unmarked = 2 * s.unwritten > s.unchanged;
  communication_finding f;
  f.problem = communication_problem::unchanged_data;
  f.subject = c.key();
  f.transfers = f.needless_transfers = s.unchanged;
  f.bytes = f.needless_bytes = s.unchanged_bytes;
  f.saving_ns = s.unchanged_ns;
  f.text = base::count(s.unchanged) + " of " + base::count(s.count) + " transfers of " + data_text(c.chain.base[0], names) +
           " (" + names.place(c.chain.base[0].from) + " -> " + names.place(c.chain.base[0].to) +
           ") repeated data that the sender had sent to the same rank before and " +
           (unmarked ? "of which no write is recorded: " : "that was not written since: ") + base::memory(s.unchanged_bytes);
  if (unmarked) {
    f.advice = "send it once if it never changes; if it does, mark what writes it (WHYWAIT_WRITES), or this line is wrong";
  } else if (s.held == s.unchanged) {
    f.advice = "send it only when it has changed: the receiver still has it";
  } else if (s.held == 0) {
    f.advice = "keep a copy at the receiver, whose buffer is used for something else in between";
  } else {
    f.advice = "send it only when it has changed, and keep a copy at the receiver (which still had it " +
               base::counted(s.held, "time", "times") + ")";
  }
  out.push_back(std::move(f));
}

inline void large_halo(const transfer_class& c, const diagnosis_options& o, const naming& names,
                       base::vector<communication_finding>& out) {
  const class_sums& s = c.sums;
  const std::int64_t idle = s.watched_bytes - s.read_bytes;
  if (s.watched_bytes <= 0 || static_cast<double>(idle) < std::max(o.least_share, 0.01) * static_cast<double>(s.watched_bytes))
    return;
  communication_finding f;
  f.problem = communication_problem::large_halo;
  f.subject = c.key();
  f.transfers = s.count;
  f.bytes = s.bytes;
  f.needless_bytes = idle;
  if (s.read_bytes == 0) f.needless_transfers = s.count;
  const double share = static_cast<double>(idle) / static_cast<double>(s.watched_bytes);
  f.saving_ns = static_cast<std::int64_t>(static_cast<double>(s.duration_ns - s.wait_ns) * share);
  f.text = base::percent(share) + " of what is received of " + data_text(c.chain.base[0], names) + " at " +
           names.place(c.chain.base[0].to) + " is overwritten or never read: " + base::memory(idle) + " of " +
           base::memory(s.watched_bytes);
  f.advice = s.read_bytes == 0 ? "do not send it" : "send only what is read";
  out.push_back(std::move(f));
}

inline void tiny_messages(const transfer_class& c, const diagnosis_options& o, const naming& names,
                          base::vector<communication_finding>& out) {
  const class_sums& s = c.sums;
  if (s.pairs == 0 || s.count < o.tiny_count * s.pairs || s.bytes > o.tiny_bytes * s.count) return;
  const std::int64_t enough = std::max(s.pairs, (s.bytes + o.batch_bytes - 1) / o.batch_bytes);
  communication_finding f;
  f.problem = communication_problem::tiny_messages;
  f.subject = c.key();
  f.transfers = s.count;
  f.bytes = s.bytes;
  f.needless_transfers = s.count - enough;
  if (f.needless_transfers <= 0) return;
  f.saving_ns = static_cast<std::int64_t>(static_cast<double>(s.duration_ns - s.wait_ns) *
                                          static_cast<double>(f.needless_transfers) / static_cast<double>(s.count));
  f.text = base::count(s.count) + " messages with " + base::memory(s.bytes / s.count) + " each carry " +
           data_text(c.chain.base[0], names) + " from " + names.place(c.chain.base[0].from) + " to " +
           names.place(c.chain.base[0].to) + " between " + base::counted(s.pairs, "pair", "pairs") + " of ranks";
  f.advice = "collect what goes to the same rank and send it at once: " + base::memory(o.batch_bytes) +
             " a message make at least " + base::count(enough) + " of them";
  out.push_back(std::move(f));
}

inline void gather_then_scatter(const transfer_class& c, const class_relations& relations, const naming& names,
                                base::vector<communication_finding>& out) {
  const std::int32_t root = only_rank(c.senders);
  if (root < 0 || c.sums.receivers < 2) return;
  const base::pod_vector<const transfer_class*> before = relations.before(c);
  rank_counts sources;
  std::int64_t gathered = 0, bytes = 0;
  for (const transfer_class* g : before) {
    if (only_rank(g->receivers) != root) return;
    sources.merge(g->senders);
    gathered += g->sums.count;
    bytes += g->sums.bytes;
  }
  if (sources.list().size() < 2) return;
  communication_finding f;
  f.problem = communication_problem::gather_then_scatter;
  f.subject = c.key();
  f.transfers = c.sums.count + gathered;
  f.bytes = c.sums.bytes + bytes;
  f.needless_transfers = std::min(c.sums.count, gathered);
  f.needless_bytes = std::min(c.sums.bytes, bytes);
  f.saving_ns = c.sums.duration_ns;
  const bool all_get_all = c.sums.fan_out > 1;
  f.text = data_text(c.chain.base[0], names) + " is gathered at rank " + std::to_string(root) + " from " +
           base::counted(static_cast<std::int64_t>(sources.list().size()), "rank", "ranks") + " (" +
           names.place(before[0]->chain.base[0].to) + ") and sent on from there, unchanged, to " +
           base::counted(c.sums.receivers, "rank", "ranks") + " (" + names.place(c.chain.base[0].from) +
           "): " + base::memory(c.sums.bytes) + " pass through one rank";
  f.advice = all_get_all ? "use MPI_Allgather" : "let the ranks exchange it directly (MPI_Alltoall, or messages)";
  out.push_back(std::move(f));
}

}  // namespace detail

/// What is wrong with the communication of a run, the largest saving first, then the most needless bytes, then
/// transfers. Savings are bounds, and of one class they do not add up. O(classes^2) comparisons of keys. Throws
/// std::bad_alloc.
inline base::vector<communication_finding> diagnose(const classified& all, const naming& names,
                                                    const diagnosis_options& options = {}) {
  base::vector<communication_finding> out;
  const detail::class_relations relations(all);
  for (const transfer_class& c : all.classes) {
    if (c.chain.depth == 0) continue;
    detail::relay_chain(c, all, names, out);
    detail::unchanged_data(c, options, names, out);
    detail::large_halo(c, options, names, out);
    detail::tiny_messages(c, options, names, out);
    detail::gather_then_scatter(c, relations, names, out);
  }
  base::small_stable_sort(out, [](const communication_finding& a, const communication_finding& b) {
    if (a.saving_ns != b.saving_ns) return a.saving_ns > b.saving_ns;
    if (a.needless_bytes != b.needless_bytes) return a.needless_bytes > b.needless_bytes;
    if (a.transfers != b.transfers) return a.transfers > b.transfers;
    return a.problem != b.problem ? a.problem < b.problem : a.subject < b.subject;
  });
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
