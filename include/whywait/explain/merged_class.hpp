#ifndef WHYWAIT_EXPLAIN_MERGED_CLASS_HPP
#define WHYWAIT_EXPLAIN_MERGED_CLASS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the virtual clocks say about one class.
struct class_clock {
  core::stable_key key = 0;
  std::uint32_t slot = 0;
  quality trust = quality::exact;
  std::int64_t ns = 0;  ///< its waits without measurement overhead
};

/// A class of the whole run, on rank 0.
struct merged_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< number of its leader; then the rest, then those without a shape
  explanation sum;         ///< residual sorted by (block, within)

  merged_class() = default;
  /// The one that `in` stands at.
  explicit merged_class(const class_reader& in)
      : key(in.head().key), slot(in.head().slot), sum(in.head().sums.whole()) {
    sum.residual.reserve(in.head().terms);
    for (std::uint32_t i = 0; i != in.head().terms; ++i) {
      const packed_term t = in.term(i);
      sum.residual.push_back(t.sums.whole({t.block, t.within}));
    }
    in.waiters(sum.waiters);
    in.causers(sum.causers);
  }

  bool same(const merged_class& o) const noexcept { return key == o.key && slot == o.slot; }
  bool operator<(const merged_class& o) const noexcept { return std::tie(key, slot) < std::tie(o.key, o.slot); }

  void merge(const explanation& from) {
    if (sum.count == 0) {
      sum.why = from.why;
      sum.operation = from.operation;
      sum.cause = from.cause;
      sum.first_ns = from.first_ns;
    }
    sum.trust = std::max(sum.trust, from.trust);
    sum.count += from.count;
    sum.wait_ns += from.wait_ns;
    sum.longest_ns = std::max(sum.longest_ns, from.longest_ns);
    sum.wrong_order_count += from.wrong_order_count;
    sum.wrong_order_ns += from.wrong_order_ns;
    sum.indirect_ns += from.indirect_ns;
    sum.unexplained_ns += from.unexplained_ns;
    sum.compensated_ns += from.compensated_ns;
    sum.compensated_trust = std::max(sum.compensated_trust, from.compensated_trust);
    sum.first_ns = std::min(sum.first_ns, from.first_ns);
    if (from.longest.outweighs(sum.longest)) sum.longest = from.longest;
    add_shares(sum.waiters, from.waiters);
    add_shares(sum.causers, from.causers);
    add_residual(from.residual);
  }

 private:
  static void accumulate(residual_term& into, const residual_term& from) noexcept {
    into.total_ns += from.total_ns;
    into.visits_ns += from.visits_ns;
    into.speed_ns += from.speed_ns;
    into.inherited_ns += from.inherited_ns;
    into.causer_visits += from.causer_visits;
    into.waiter_visits += from.waiter_visits;
    into.causer_work += from.causer_work;
    into.waiter_work += from.waiter_work;
    into.causer_ns += from.causer_ns;
    into.waiter_ns += from.waiter_ns;
  }

  // Both by name. Mostly all blocks are known already; only the others have to be put in.
  void add_residual(const base::vector<residual_term>& from) {
    const auto name = [](const residual_term& t) { return std::tie(t.block, t.within); };
    base::vector<residual_term>& list = sum.residual;
    std::size_t at = 0, fresh = 0;
    for (const residual_term& t : from) {
      while (at != list.size() && name(list[at]) < name(t)) ++at;
      if (at != list.size() && name(list[at]) == name(t)) {
        accumulate(list[at], t);
      } else {
        ++fresh;
      }
    }
    at = list.size();
    list.resize(at + fresh);
    for (std::size_t f = from.size(); fresh != 0; --f) {  // from behind: nothing is overwritten before it has moved
      while (at != 0 && name(from[f - 1]) < name(list[at - 1])) {
        list[at + fresh - 1] = list[at - 1];
        --at;
      }
      if (at != 0 && name(from[f - 1]) == name(list[at - 1])) continue;
      list[at + --fresh] = from[f - 1];
    }
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
