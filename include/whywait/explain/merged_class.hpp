#ifndef WHYWAIT_EXPLAIN_MERGED_CLASS_HPP
#define WHYWAIT_EXPLAIN_MERGED_CLASS_HPP

#include <whywait/explain/packet.hpp>
#include <whywait/explain/wait_class.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

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

/// A class of the whole run on its way up to rank 0. Sums only, so the order of merging does not matter.
struct merged_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< number of its leader; then the rest, then those without a shape
  explanation sum;         ///< residual sorted by (block, within)

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
    for (const location_share& s : from.waiters) add_share(sum.waiters, s);
    for (const location_share& s : from.causers) add_share(sum.causers, s);
    add_residual(from.residual);
  }

  void write(packet& out) const {
    put(out, key);
    put(out, slot);
    put(out, sum.why);
    put(out, sum.trust);
    for (const core::stable_key k : {sum.operation, sum.cause}) put(out, k);
    for (const std::int64_t v : {sum.count, sum.wait_ns, sum.longest_ns, sum.wrong_order_count, sum.wrong_order_ns,
                                 sum.indirect_ns, sum.unexplained_ns, sum.first_ns}) {
      put(out, v);
    }
    put(out, sum.longest);
    put_all(out, sum.residual);
    put_all(out, sum.waiters);
    put_all(out, sum.causers);
  }

  /// What another rank wrote, over what this holds.
  void read(packet_reader& in) {
    key = in.get<core::stable_key>();
    slot = in.get<std::uint32_t>();
    sum.why = in.get<pattern>();
    sum.trust = in.get<quality>();
    for (core::stable_key* k : {&sum.operation, &sum.cause}) *k = in.get<core::stable_key>();
    for (std::int64_t* v : {&sum.count, &sum.wait_ns, &sum.longest_ns, &sum.wrong_order_count, &sum.wrong_order_ns,
                            &sum.indirect_ns, &sum.unexplained_ns, &sum.first_ns}) {
      *v = in.get<std::int64_t>();
    }
    sum.longest = in.get<wait_sample>();
    get_all(in, sum.residual);
    get_all(in, sum.waiters);
    get_all(in, sum.causers);
  }

 private:
  // Both by name. Mostly all blocks are known already; only the others have to be put in.
  void add_residual(const std::vector<residual_term>& from) {
    const auto name = [](const residual_term& t) { return std::tie(t.block, t.within); };
    std::vector<residual_term>& list = sum.residual;
    std::size_t at = 0, fresh = 0;
    for (const residual_term& t : from) {
      while (at != list.size() && name(list[at]) < name(t)) ++at;
      if (at != list.size() && name(list[at]) == name(t)) {
        class_book::accumulate(list[at], t);
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
