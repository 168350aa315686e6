#ifndef WHYWAIT_COVERAGE_NAMES_FLOW_GRAPH_HPP
#define WHYWAIT_COVERAGE_NAMES_FLOW_GRAPH_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace coverage {

/// A term of a linear form of counters. Forms are sorted by counter and have no zero factors.
struct counter_term {
  std::uint32_t counter;
  std::int64_t factor;
};
using counter_form = base::pod_vector<counter_term>;

/// The control-flow graph of a function as its compiler recorded it. Block 0 is the entry, block 1 the exit. Arcs with
/// `counted` have counters, in this order; the flow over the others (a spanning tree) is derived.
struct flow_graph {
  struct block {
    base::pod_vector<int> lines;
  };
  struct arc {
    std::uint32_t from, to;
    bool counted;
    bool fake;  ///< taken when a call does not return or has not returned yet
  };
  base::vector<block> blocks;
  base::pod_vector<arc> arcs;
};

/// Lines that are always executed equally often.
struct line_group {
  int first_line = 0, last_line = 0;  ///< the longest consecutive run
  bool loop = false;                  ///< inside a loop of the function
  counter_form visits;
};

namespace detail {

using number_list = base::pod_vector<std::uint32_t>;

inline counter_form add(const counter_form& a, const counter_form& b, std::int64_t factor) {
  counter_form sum;
  const counter_term* i = a.begin();
  const counter_term* j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->counter < j->counter)) {
      sum.push_back(*i++);
    } else if (i == a.end() || j->counter < i->counter) {
      sum.push_back({j->counter, factor * j->factor});
      ++j;
    } else {
      if (const std::int64_t both = i->factor + factor * j->factor) sum.push_back({i->counter, both});
      ++i;
      ++j;
    }
  }
  return sum;
}

/// Expresses the execution count of each block in terms of the counters, by conservation of flow. A call that has not
/// returned uses a fake arc, so that the equations hold at every moment, including inside open functions.
class flow_solver {
 public:
  explicit flow_solver(const flow_graph& flow)
      : in_(flow.blocks.size()),
        out_(flow.blocks.size()),
        forms_(flow.arcs.size()),
        counts_(flow.blocks.size()),
        known_(flow.arcs.size()),
        solved_(flow.blocks.size()) {
    std::uint32_t counter = 0;
    for (std::uint32_t a = 0; a != flow.arcs.size(); ++a) {
      out_[flow.arcs[a].from].push_back(a);
      in_[flow.arcs[a].to].push_back(a);
      if (!flow.arcs[a].counted) continue;
      known_[a] = true;
      forms_[a].push_back({counter++, 1});
    }
    number_list work;
    for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) work.push_back(b);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (!solved_[b] && !solve_block(b)) continue;
      for (const number_list* side : {&in_[b], &out_[b]}) {
        if ((side == &in_[b] && b == 0) || (side == &out_[b] && b == 1)) continue;
        const std::uint32_t arc = only_unknown(*side);
        if (arc == none) continue;
        forms_[arc] = counts_[b];
        for (const std::uint32_t other : *side)
          if (other != arc) forms_[arc] = add(forms_[arc], forms_[other], -1);
        known_[arc] = true;
        work.push_back(flow.arcs[arc].from);
        work.push_back(flow.arcs[arc].to);
      }
    }
  }

  bool solved(std::uint32_t block) const { return solved_[block]; }
  const counter_form& count(std::uint32_t block) const { return counts_[block]; }
  const number_list& out(std::uint32_t block) const { return out_[block]; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t(0);

  std::uint32_t only_unknown(const number_list& arcs) const {
    std::uint32_t found = none;
    for (const std::uint32_t a : arcs) {
      if (known_[a]) continue;
      if (found != none) return none;
      found = a;
    }
    return found;
  }

  bool solve_block(std::uint32_t b) {
    for (const number_list* side : {&in_[b], &out_[b]}) {
      if ((side == &in_[b] && b == 0) || (side == &out_[b] && (b == 1 || side->empty()))) continue;
      bool all = true;  // true for a block without incoming arcs, which never runs
      for (const std::uint32_t a : *side) all = all && known_[a];
      if (!all) continue;
      for (const std::uint32_t a : *side) counts_[b] = add(counts_[b], forms_[a], 1);
      return solved_[b] = true;
    }
    return false;
  }

  base::vector<number_list> in_, out_;
  base::vector<counter_form> forms_, counts_;
  base::pod_vector<bool> known_, solved_;
};

/// The loop depth of each block. Computes strongly connected components, removes the head of each and repeats within
/// it.
class loop_depths {
 public:
  explicit loop_depths(const flow_graph& flow) : flow_(flow), out_(flow.blocks.size()), depth(flow.blocks.size(), 0) {
    for (const flow_graph::arc& a : flow.arcs)
      if (!a.fake) out_[a.from].push_back(a.to);
    part_.assign(flow.blocks.size(), 1);
    // `work` is a stack of components to be split, each as its members followed by their number.
    number_list members, work;
    for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) work.push_back(b);
    work.push_back(static_cast<std::uint32_t>(flow.blocks.size()));
    while (!work.empty()) {
      const std::uint32_t count = work.back();
      work.pop_back();
      members.assign(work.end() - count, work.end());
      work.resize(work.size() - count);
      split(members, work);
    }
  }

 private:
  // Tarjan's algorithm without recursion, on the blocks of one component.
  void split(const number_list& members, number_list& work) {
    const std::uint32_t own = part_[members.front()];
    index_.assign(flow_.blocks.size(), 0);
    low_.assign(flow_.blocks.size(), 0);
    done_.assign(flow_.blocks.size(), false);
    std::uint32_t counter = 0;
    struct call {
      std::uint32_t block;
      std::size_t next;  // index of the next arc
    };
    number_list stack, found;  // `found` holds the loops one after another
    base::pod_vector<call> calls;
    base::pod_vector<std::size_t> ends;  // ends of the loops in `found`
    for (const std::uint32_t root : members) {
      if (index_[root] != 0) continue;
      calls.push_back({root, 0});
      while (!calls.empty()) {
        const std::uint32_t b = calls.back().block;
        if (calls.back().next == 0) {
          index_[b] = low_[b] = ++counter;
          stack.push_back(b);
        }
        if (calls.back().next < out_[b].size()) {
          const std::uint32_t to = out_[b][calls.back().next++];
          if (part_[to] != own || done_[to]) continue;
          if (index_[to] == 0) calls.push_back({to, 0});
          else low_[b] = std::min(low_[b], index_[to]);
          continue;
        }
        calls.pop_back();
        if (!calls.empty()) low_[calls.back().block] = std::min(low_[calls.back().block], low_[b]);
        if (low_[b] != index_[b]) continue;
        const std::size_t before = found.size();
        std::uint32_t member = 0;
        do {
          member = stack.back();
          stack.pop_back();
          done_[member] = true;
          found.push_back(member);
        } while (member != b);
        const bool itself = std::find(out_[b].begin(), out_[b].end(), b) != out_[b].end();
        if (found.size() > before + 1 || itself) ends.push_back(found.size());
        else found.resize(before);
      }
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      ++parts_;
      for (std::size_t i = begin; i != end; ++i) {
        ++depth[found[i]];
        part_[found[i]] = parts_;
      }
      const std::uint32_t head = head_of(parts_, found[end - 1]);
      part_[head] = 0;
      for (std::size_t i = begin; i != end; ++i)
        if (found[i] != head) work.push_back(found[i]);
      if (end - begin > 1) work.push_back(static_cast<std::uint32_t>(end - begin - 1));
      begin = end;
    }
  }

  // The block at which the loop is entered from outside, or `any` if there is none.
  std::uint32_t head_of(std::uint32_t own, std::uint32_t any) const {
    for (const flow_graph::arc& a : flow_.arcs)
      if (!a.fake && part_[a.to] == own && part_[a.from] != own) return a.to;
    return any;
  }

  const flow_graph& flow_;
  base::vector<number_list> out_;
  number_list part_, index_, low_;
  base::pod_vector<bool> done_;
  std::uint32_t parts_ = 1;

 public:
  number_list depth;
};

}  // namespace detail

/// Groups the lines of a function that are always executed equally often, by first line. A line with several blocks
/// counts as the body of its innermost loop (for a `for`, its iterations), otherwise as its first block. O(n * form).
inline base::vector<line_group> lines_of(const flow_graph& flow) {
  if (flow.blocks.size() < 2) return {};
  const detail::flow_solver solver(flow);
  const detail::number_list depth = detail::loop_depths(flow).depth;
  const auto leaves_loop = [&](std::uint32_t b) {
    for (const std::uint32_t a : solver.out(b))
      if (!flow.arcs[a].fake && depth[flow.arcs[a].to] < depth[b]) return true;
    return false;
  };
  struct line_block {
    int line;
    std::uint32_t block;
  };
  base::pod_vector<line_block> block_of;
  for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) {
    if (!solver.solved(b) || solver.count(b).empty()) continue;
    for (const int line : flow.blocks[b].lines) block_of.push_back({line, b});
  }
  base::small_stable_sort(block_of, [](const line_block& a, const line_block& b) {
    return a.line != b.line ? a.line < b.line : a.block < b.block;
  });
  base::vector<line_group> result;
  base::key_map numbers;  // hash of a form to its group
  std::uint32_t before = base::key_map::none;
  int run = 0;  // the first line of the current run
  for (std::size_t i = 0; i != block_of.size();) {
    const int line = block_of[i].line;
    std::uint32_t block = block_of[i].block;
    for (; i != block_of.size() && block_of[i].line == line; ++i) {
      const std::uint32_t b = block_of[i].block;
      if (depth[b] > depth[block] || (depth[b] == depth[block] && leaves_loop(block) && !leaves_loop(b))) block = b;
    }
    core::stable_key hash = 1;
    for (const auto& [counter, factor] : solver.count(block))
      hash = core::combine(core::combine(hash, counter), static_cast<std::uint64_t>(factor));
    const auto fresh = static_cast<std::uint32_t>(result.size());
    const std::uint32_t number = numbers.intern(hash, fresh);
    if (number == fresh) {
      result.emplace_back();
      result.back().visits = solver.count(block);
    }
    line_group& g = result[number];
    if (before != number) run = line;
    if (number == fresh || line - run > g.last_line - g.first_line) {
      g.first_line = run;
      g.last_line = line;
    }
    g.loop = g.loop || depth[block] > 0;
    before = number;
  }
  base::small_stable_sort(result, [](const line_group& a, const line_group& b) { return a.first_line < b.first_line; });
  return result;
}

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif
