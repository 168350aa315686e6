#ifndef WHYWAIT_EXPLAIN_LEDGER_DELAY_COSTS_HPP
#define WHYWAIT_EXPLAIN_LEDGER_DELAY_COSTS_HPP

#include <whywait/explain/explanation.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/sorting.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The costs of the delays of some ranks, as they are summed up the tree. In double nanoseconds: a wait is divided
/// many times.
struct cost_sums {
  struct entry {
    core::stable_key block;
    double short_ns, long_ns;
  };
  std::vector<entry> blocks;  ///< by block once joined
  double direct_ns = 0, indirect_ns = 0, propagating_ns = 0, terminal_ns = 0, nobody_ns = 0;

  [[gnu::cold]] void merge(const cost_sums& o) {
    blocks.insert(blocks.end(), o.blocks.begin(), o.blocks.end());
    direct_ns += o.direct_ns;
    indirect_ns += o.indirect_ns;
    propagating_ns += o.propagating_ns;
    terminal_ns += o.terminal_ns;
    nobody_ns += o.nobody_ns;
    join();
  }
  [[gnu::cold]] void join() {
    sort_rarely(blocks, [](const entry& a, const entry& b) { return a.block < b.block; });
    std::size_t kept = 0;
    for (const entry& e : blocks) {
      if (kept != 0 && blocks[kept - 1].block == e.block) {
        blocks[kept - 1].short_ns += e.short_ns;
        blocks[kept - 1].long_ns += e.long_ns;
      } else {
        blocks[kept++] = e;
      }
    }
    blocks.resize(kept);
  }

  [[gnu::cold]] void write(packet& out) const {
    put_all(out, blocks);
    for (const double v : {direct_ns, indirect_ns, propagating_ns, terminal_ns, nobody_ns}) put(out, v);
  }
  [[gnu::cold]] static cost_sums read(packet_reader& in) {
    cost_sums c;
    get_all(in, c.blocks);
    for (double* v : {&c.direct_ns, &c.indirect_ns, &c.propagating_ns, &c.terminal_ns, &c.nobody_ns}) {
      *v = in.get<double>();
    }
    return c;
  }

  /// Most costly first.
  [[gnu::cold]] delay_costs present() const {
    delay_costs result;
    for (const entry& e : blocks) {
      result.blocks.push_back({e.block, std::llround(e.short_ns), std::llround(e.long_ns)});
    }
    sort_rarely(result.blocks, [](const delay_cost& a, const delay_cost& b) {
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
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
