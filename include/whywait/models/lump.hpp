#ifndef WHYWAIT_MODELS_LUMP_HPP
#define WHYWAIT_MODELS_LUMP_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/models/chain.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Assignment of states to blocks.
struct partition {
  std::vector<std::uint32_t> block;
  std::uint32_t blocks = 0;
};

namespace detail {

class lumper {
 public:
  explicit lumper(const chain& c) : c_(c) {}

  partition find() {
    partition p = by_population();
    std::vector<std::uint32_t> order;
    if (reverse_topological(order)) {
      // without loops one backward pass suffices, because successors are final
      refine(p, order, true);
      return p;
    }
    order.resize(c_.states());
    for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i;
    for (std::uint32_t before = 0; before != p.blocks;) {
      before = p.blocks;
      refine(p, order, false);
    }
    return p;
  }

 private:
  using item = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // customer, block, weight

  partition by_population() const {
    partition p;
    p.block = c_.population;
    p.blocks = static_cast<std::uint32_t>(c_.population_rows());
    return p;
  }

  bool reverse_topological(std::vector<std::uint32_t>& order) const {
    std::vector<std::uint32_t> incoming(c_.states(), 0);
    for (const chain_arc& a : c_.arcs)
      if (a.target < chain::capped) ++incoming[a.target];
    for (std::uint32_t s = 0; s != c_.states(); ++s)
      if (incoming[s] == 0) order.push_back(s);
    for (std::size_t i = 0; i != order.size(); ++i)
      for (std::uint64_t k = c_.first_arc[order[i]]; k != c_.first_arc[order[i] + 1]; ++k)
        if (c_.arcs[k].target < chain::capped && --incoming[c_.arcs[k].target] == 0) order.push_back(c_.arcs[k].target);
    std::reverse(order.begin(), order.end());
    return order.size() == c_.states();
  }

  // Splits blocks by (old block, arcs into old blocks). With `final_blocks`, arcs refer to the blocks of this pass.
  void refine(partition& p, const std::vector<std::uint32_t>& order, bool final_blocks) {
    partition next;
    next.block.resize(c_.states());
    boost::unordered_flat_map<std::uint64_t, std::vector<std::uint32_t>> by_hash;  // representatives
    std::vector<std::vector<item>> of_block;
    std::vector<std::uint32_t> old_of_block;
    const partition& ends = final_blocks ? next : p;
    for (const std::uint32_t s : order) {
      std::vector<item> now = signature(s, ends);
      std::uint64_t h = core::spread(p.block[s]);
      for (const item& i : now) {
        const std::uint64_t parts[3] = {std::get<0>(i), std::get<1>(i), static_cast<std::uint64_t>(std::get<2>(i))};
        h = (h ^ hash_units(parts, 3)) * 0xff51afd7ed558ccdu;
      }
      std::vector<std::uint32_t>& same = by_hash[h];
      std::uint32_t mine = chain::done;
      for (const std::uint32_t b : same)
        if (old_of_block[b] == p.block[s] && of_block[b] == now) mine = b;
      if (mine == chain::done) {
        mine = static_cast<std::uint32_t>(of_block.size());
        same.push_back(mine);
        of_block.push_back(std::move(now));
        old_of_block.push_back(p.block[s]);
      }
      next.block[s] = mine;
    }
    next.blocks = static_cast<std::uint32_t>(of_block.size());
    p = std::move(next);
  }

  std::vector<item> signature(std::uint32_t s, const partition& ends) {
    sums_.clear();
    for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
      const chain_arc& a = c_.arcs[k];
      const arc_label& l = c_.labels[a.label];
      const std::uint32_t to = a.target >= chain::leftover ? chain::done
                               : a.target == chain::capped ? a.target
                                                           : ends.block[a.target];
      sums_.emplace_back(std::make_pair(l.customer, to), l.weight);
    }
    std::sort(sums_.begin(), sums_.end());
    std::vector<item> result;
    for (std::size_t i = 0; i != sums_.size();) {
      double weight_sum = 0.0;
      const auto key = sums_[i].first;
      for (; i != sums_.size() && sums_[i].first == key; ++i) weight_sum += sums_[i].second;
      result.emplace_back(key.first, key.second, rounded(weight_sum));
    }
    return result;
  }

  // Rounds to 44 bits of the mantissa, because sums of the same weights in a different order differ in the last bits.
  static std::int64_t rounded(double w) noexcept {
    constexpr std::int64_t one = std::int64_t(1) << 44;
    int exponent = 0;
    std::int64_t mantissa = std::llround(std::ldexp(std::frexp(w, &exponent), 44));
    if (mantissa == one) {
      mantissa /= 2;
      ++exponent;
    }
    return mantissa + exponent * 4 * one;
  }

  const chain& c_;
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, double>> sums_;
};

}  // namespace detail

/// The coarsest partition into states that no machine can distinguish. They have equal populations and, per kind of
/// customer, equal total weight into every block (an exact form of Kapelnikov et al. 1987, 4.2.2). One pass without
/// loops; otherwise repeats until nothing splits.
inline partition find_equivalent_states(const chain& c) { return detail::lumper(c).find(); }

/// The chain of the blocks. Its solution equals that of `c`, except that leftover operand sets are no longer
/// identified.
inline chain lump(const chain& c, const partition& p) {
  chain r;
  r.classes = c.classes;
  r.modules = c.modules;
  r.populations = c.populations;
  r.population.resize(p.blocks);
  auto block_of = [&](std::uint32_t target) {
    return target >= chain::leftover ? chain::done : target == chain::capped ? target : p.block[target];
  };
  std::vector<std::uint32_t> representative(p.blocks, chain::done);
  for (std::uint32_t s = 0; s != c.states(); ++s)
    if (representative[p.block[s]] == chain::done) representative[p.block[s]] = s;
  for (const auto& b : c.begin) {
    const std::uint32_t target = block_of(b.first);
    auto same = std::find_if(r.begin.begin(), r.begin.end(), [&](const auto& x) { return x.first == target; });
    if (same != r.begin.end()) same->second += b.second;
    else r.begin.emplace_back(target, b.second);
  }
  detail::label_table labels;
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, double>> sums;
  for (std::uint32_t b = 0; b != p.blocks; ++b) {
    const std::uint32_t s = representative[b];
    r.population[b] = c.population[s];
    r.first_arc.push_back(r.arcs.size());
    sums.clear();
    for (std::uint64_t k = c.first_arc[s]; k != c.first_arc[s + 1]; ++k)
      sums.emplace_back(std::make_pair(c.labels[c.arcs[k].label].customer, block_of(c.arcs[k].target)),
                        c.labels[c.arcs[k].label].weight);
    std::sort(sums.begin(), sums.end());
    for (std::size_t i = 0; i != sums.size();) {
      const auto key = sums[i].first;
      double weight_sum = 0.0;
      for (; i != sums.size() && sums[i].first == key; ++i) weight_sum += sums[i].second;
      r.arcs.push_back({key.second, labels.number(key.first, weight_sum, r.labels)});
    }
  }
  r.first_arc.push_back(r.arcs.size());
  return r;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
