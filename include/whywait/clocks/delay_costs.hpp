#ifndef WHYWAIT_CLOCKS_DELAY_COSTS_HPP
#define WHYWAIT_CLOCKS_DELAY_COSTS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/joining.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The delay costs of some ranks, merged up the reduction tree. In double nanoseconds, because a wait is divided many
/// times.
struct cost_sums {
  struct entry {
    core::stable_key block;
    double short_ns, long_ns;
  };
  base::pod_vector<entry> blocks;  ///< by block once joined
  double direct_ns = 0, indirect_ns = 0, propagating_ns = 0, terminal_ns = 0, nobody_ns = 0;

  /// Merges what another rank's `write` wrote; both sides must be joined.
  void merge(base::packet_reader& in) {
    join_ascending(blocks, in, before, add);
    for (double* v : {&direct_ns, &indirect_ns, &propagating_ns, &terminal_ns, &nobody_ns}) *v += in.get<double>();
  }
  /// Call after the costs of several locations were added.
  void join() { base::sort_and_join(blocks, before, add); }

  void write(base::packet& out) const {
    put_all(out, blocks);
    for (const double v : {direct_ns, indirect_ns, propagating_ns, terminal_ns, nobody_ns}) put(out, v);
  }

  /// Most costly first.
  explain::delay_costs present() const {
    explain::delay_costs result;
    for (const entry& e : blocks) {
      result.blocks.push_back({e.block, std::llround(e.short_ns), std::llround(e.long_ns)});
    }
    base::small_stable_sort(result.blocks, [](const explain::delay_cost& a, const explain::delay_cost& b) {
      const std::int64_t x = a.short_ns + a.long_ns, y = b.short_ns + b.long_ns;
      return x != y ? x > y : a.block < b.block;
    });
    result.direct_ns = std::llround(direct_ns);
    result.indirect_ns = std::llround(indirect_ns);
    result.propagating_ns = std::llround(propagating_ns);
    result.terminal_ns = std::llround(terminal_ns);
    result.nobody_ns = std::llround(nobody_ns);
    return result;
  }

 private:
  static bool before(const entry& a, const entry& b) noexcept { return a.block < b.block; }
  static void add(entry& to, const entry& e) noexcept {
    to.short_ns += e.short_ns;
    to.long_ns += e.long_ns;
  }
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
