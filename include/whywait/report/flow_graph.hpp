#ifndef WHYWAIT_REPORT_FLOW_GRAPH_HPP
#define WHYWAIT_REPORT_FLOW_GRAPH_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace report {

/// A count as a linear form of counters: (number of the counter, factor), sorted by number, no factor 0.
using counter_form = std::vector<std::pair<std::uint32_t, std::int64_t>>;

/// The control flow of a function as its compiler saw it: block 0 is the entry, block 1 the exit. Counters are on
/// the arcs with `counted`, in their order; what flows over the others (a spanning tree) follows from that.
struct flow_graph {
  struct block {
    std::vector<int> lines;
  };
  struct arc {
    std::uint32_t from, to;
    bool counted;
    bool fake;  ///< taken when a call does not return, or has not yet
  };
  std::vector<block> blocks;
  std::vector<arc> arcs;
};

/// Lines that are always executed equally often.
struct line_group {
  int first_line = 0, last_line = 0;  ///< the longest run of them
  bool loop = false;                  ///< inside of a loop of the function
  counter_form visits;
};

namespace detail {

[[gnu::cold]] inline counter_form add(const counter_form& a, const counter_form& b, std::int64_t factor) {
  counter_form sum;
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      sum.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      sum.emplace_back(j->first, factor * j->second);
      ++j;
    } else {
      if (const std::int64_t both = i->second + factor * j->second) sum.emplace_back(i->first, both);
      ++i;
      ++j;
    }
  }
  return sum;
}

/// The executions of every block as forms of the counters, by conservation of flow: what comes in goes out. Calls
/// that have not returned leave over their fake arc, so this holds at every moment, inside of open functions too.
class flow_solver {
 public:
  [[gnu::cold]] explicit flow_solver(const flow_graph& flow) : in_(flow.blocks.size()), out_(flow.blocks.size()) {
    forms_.resize(flow.arcs.size());
    known_.resize(flow.arcs.size());
    counts_.resize(flow.blocks.size());
    solved_.resize(flow.blocks.size());
    std::uint32_t counter = 0;
    for (std::uint32_t a = 0; a != flow.arcs.size(); ++a) {
      out_[flow.arcs[a].from].push_back(a);
      in_[flow.arcs[a].to].push_back(a);
      if (!flow.arcs[a].counted) continue;
      known_[a] = true;
      forms_[a] = {{counter++, 1}};
    }
    std::vector<std::uint32_t> work;
    for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) work.push_back(b);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (!solved_[b] && !solve_block(b)) continue;
      for (const std::vector<std::uint32_t>* side : {&in_[b], &out_[b]}) {
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
  const std::vector<std::uint32_t>& out(std::uint32_t block) const { return out_[block]; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t(0);

  [[gnu::cold]] std::uint32_t only_unknown(const std::vector<std::uint32_t>& arcs) const {
    std::uint32_t found = none;
    for (const std::uint32_t a : arcs) {
      if (known_[a]) continue;
      if (found != none) return none;
      found = a;
    }
    return found;
  }

  [[gnu::cold]] bool solve_block(std::uint32_t b) {
    for (const std::vector<std::uint32_t>* side : {&in_[b], &out_[b]}) {
      if ((side == &in_[b] && b == 0) || (side == &out_[b] && (b == 1 || side->empty()))) continue;
      bool all = true;  // nothing leads there: it never runs
      for (const std::uint32_t a : *side) all = all && known_[a];
      if (!all) continue;
      for (const std::uint32_t a : *side) counts_[b] = add(counts_[b], forms_[a], 1);
      return solved_[b] = true;
    }
    return false;
  }

  std::vector<std::vector<std::uint32_t>> in_, out_;
  std::vector<counter_form> forms_, counts_;
  std::vector<bool> known_, solved_;
};

/// How many loops each block is in: strongly connected parts, then those of the same without their head, and so on.
class loop_depths {
 public:
  [[gnu::cold]] explicit loop_depths(const flow_graph& flow) : flow_(flow), out_(flow.blocks.size()), depth(flow.blocks.size(), 0) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) all.push_back(b);
    for (const flow_graph::arc& a : flow.arcs)
      if (!a.fake) out_[a.from].push_back(a.to);
    part_.assign(flow.blocks.size(), 1);
    std::vector<std::vector<std::uint32_t>> work{all};
    while (!work.empty()) {
      const std::vector<std::uint32_t> members = std::move(work.back());
      work.pop_back();
      split(members, work);
    }
  }

 private:
  // Tarjan's algorithm without recursion, on the blocks of one part.
  [[gnu::cold]] void split(const std::vector<std::uint32_t>& members, std::vector<std::vector<std::uint32_t>>& work) {
    const std::uint32_t own = part_[members.front()];
    index_.assign(flow_.blocks.size(), 0);
    low_.assign(flow_.blocks.size(), 0);
    done_.assign(flow_.blocks.size(), false);
    std::uint32_t counter = 0;
    std::vector<std::uint32_t> stack;
    std::vector<std::pair<std::uint32_t, std::size_t>> calls;
    std::vector<std::vector<std::uint32_t>> found;
    for (const std::uint32_t root : members) {
      if (index_[root] != 0) continue;
      calls.emplace_back(root, 0);
      while (!calls.empty()) {
        const std::uint32_t b = calls.back().first;
        if (calls.back().second == 0) {
          index_[b] = low_[b] = ++counter;
          stack.push_back(b);
        }
        if (calls.back().second < out_[b].size()) {
          const std::uint32_t to = out_[b][calls.back().second++];
          if (part_[to] != own || done_[to]) continue;
          if (index_[to] == 0) calls.emplace_back(to, 0);
          else low_[b] = std::min(low_[b], index_[to]);
          continue;
        }
        calls.pop_back();
        if (!calls.empty()) low_[calls.back().first] = std::min(low_[calls.back().first], low_[b]);
        if (low_[b] != index_[b]) continue;
        std::vector<std::uint32_t> loop;
        std::uint32_t member = 0;
        do {
          member = stack.back();
          stack.pop_back();
          done_[member] = true;
          loop.push_back(member);
        } while (member != b);
        const bool itself = std::find(out_[b].begin(), out_[b].end(), b) != out_[b].end();
        if (loop.size() > 1 || itself) found.push_back(std::move(loop));
      }
    }
    for (std::vector<std::uint32_t>& loop : found) {
      ++parts_;
      for (const std::uint32_t b : loop) {
        ++depth[b];
        part_[b] = parts_;
      }
      const std::uint32_t head = head_of(loop);
      part_[head] = 0;
      loop.erase(std::find(loop.begin(), loop.end(), head));
      if (!loop.empty()) work.push_back(std::move(loop));
    }
  }

  // Where the loop is entered from outside.
  [[gnu::cold]] std::uint32_t head_of(const std::vector<std::uint32_t>& loop) const {
    const std::uint32_t own = part_[loop.front()];
    for (const flow_graph::arc& a : flow_.arcs)
      if (!a.fake && part_[a.to] == own && part_[a.from] != own) return a.to;
    return loop.back();
  }

  const flow_graph& flow_;
  std::vector<std::vector<std::uint32_t>> out_;
  std::vector<std::uint32_t> part_, index_, low_;
  std::vector<bool> done_;
  std::uint32_t parts_ = 1;

 public:
  std::vector<std::uint32_t> depth;
};

}  // namespace detail

/// The lines of a function, those together that are always executed equally often, by first line. A line with several
/// blocks counts as its innermost loop's body (a `for` counts its rounds), else as its first block. O(n * form).
[[gnu::cold]] inline std::vector<line_group> lines_of(const flow_graph& flow) {
  if (flow.blocks.size() < 2) return {};
  const detail::flow_solver solver(flow);
  const std::vector<std::uint32_t> depth = detail::loop_depths(flow).depth;
  const auto leaves_loop = [&](std::uint32_t b) {
    for (const std::uint32_t a : solver.out(b))
      if (!flow.arcs[a].fake && depth[flow.arcs[a].to] < depth[b]) return true;
    return false;
  };
  std::vector<std::pair<int, std::uint32_t>> block_of;  // line, and the block that stands for it
  for (std::uint32_t b = 0; b != flow.blocks.size(); ++b) {
    if (!solver.solved(b) || solver.count(b).empty()) continue;
    for (const int line : flow.blocks[b].lines) block_of.emplace_back(line, b);
  }
  explain::sort_rarely(block_of);
  std::vector<line_group> result;
  explain::key_map numbers;  // of a form's hash: the group
  std::uint32_t before = explain::key_map::none;
  int run = 0;  // the first line of the current run
  for (std::size_t i = 0; i != block_of.size();) {
    const int line = block_of[i].first;
    std::uint32_t block = block_of[i].second;
    for (; i != block_of.size() && block_of[i].first == line; ++i) {
      const std::uint32_t b = block_of[i].second;
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
  explain::sort_rarely(result, [](const line_group& a, const line_group& b) { return a.first_line < b.first_line; });
  return result;
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
