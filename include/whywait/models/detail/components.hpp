#ifndef WHYWAIT_MODELS_DETAIL_COMPONENTS_HPP
#define WHYWAIT_MODELS_DETAIL_COMPONENTS_HPP

#include <whywait/models/chain.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {
namespace detail {

/// The strongly connected components of a chain in topological order (Tarjan 1972). Within a component, states are
/// ordered so that only arcs into marked states lead back.
struct components {
  std::vector<std::uint32_t> order;  ///< states
  std::vector<std::uint32_t> first;  ///< index in `order` of the first state of each component, and one more
  std::vector<std::uint32_t> of;     ///< component of each state
  std::vector<char> feedback;        ///< whether a state is the target of an arc that leads back
};

inline components find_components(const chain& c) {
  const std::uint32_t n = static_cast<std::uint32_t>(c.states());
  constexpr std::uint32_t none = 0xffffffffu;
  components r;
  r.of.assign(n, none);
  r.feedback.assign(n, 0);
  std::vector<std::uint32_t> index(n, none), low(n, 0), open, finished;
  std::vector<char> on_path(n, 0);
  struct frame {
    std::uint32_t state;
    std::uint64_t arc;
  };
  std::vector<frame> path;
  std::uint32_t next = 0, found = 0;
  finished.reserve(n);
  auto enter = [&](std::uint32_t s) {
    index[s] = low[s] = next++;
    on_path[s] = 1;
    open.push_back(s);
    path.push_back({s, c.first_arc[s]});
  };
  for (std::uint32_t root = 0; root != n; ++root) {
    if (index[root] != none) continue;
    enter(root);
    while (!path.empty()) {
      frame& f = path.back();
      const std::uint32_t s = f.state;
      if (f.arc != c.first_arc[s + 1]) {
        const std::uint32_t t = c.arcs[f.arc++].target;
        if (t >= chain::capped || t == s) continue;
        if (index[t] == none) {
          enter(t);
        } else if (r.of[t] == none) {
          low[s] = low[s] < index[t] ? low[s] : index[t];
          if (on_path[t] != 0) r.feedback[t] = 1;
        }
        continue;
      }
      on_path[s] = 0;
      finished.push_back(s);
      path.pop_back();
      if (!path.empty()) {
        const std::uint32_t above = path.back().state;
        low[above] = low[above] < low[s] ? low[above] : low[s];
      }
      if (low[s] != index[s]) continue;
      for (std::uint32_t t = none; t != s;) {
        t = open.back();
        open.pop_back();
        r.of[t] = found;
      }
      ++found;
    }
  }
  // Tarjan's algorithm finds the last component first. Within a component, reverse finishing order is topological.
  r.first.assign(found + 1, 0);
  for (std::uint32_t s = 0; s != n; ++s) {
    r.of[s] = found - 1 - r.of[s];
    ++r.first[r.of[s] + 1];
  }
  for (std::uint32_t k = 0; k != found; ++k) r.first[k + 1] += r.first[k];
  std::vector<std::uint32_t> at(r.first.begin(), r.first.end() - 1);
  r.order.resize(n);
  for (std::size_t i = finished.size(); i-- > 0;) r.order[at[r.of[finished[i]]]++] = finished[i];
  return r;
}

}  // namespace detail
}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
