// Any text is a graph or an error with a number. A graph can be solved within its limits, or the solver throws an
// error.
// One line per node: name; E; D. A name that ends in '@' is immediate.
//
// corpus: models_graph.corpus
// options: -max_len=400 -timeout=20
// compiled with: -O0
#include <whywait/models.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

using namespace whywait::models;

namespace {

control_graph graph_of_text(const std::string& text) {
  control_graph g;
  std::size_t at = 0;
  while (at < text.size() && g.nodes.size() < 12) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::vector<std::string> parts(1);
    for (std::size_t i = at; i != end; ++i) {
      if (text[i] == ';') parts.emplace_back();
      else parts.back() += text[i];
    }
    at = end + 1;
    parts.resize(3);
    g.add(parts[0], parts[1], parts[2]);
    g.nodes.back().immediate = !parts[0].empty() && parts[0].back() == '@';
  }
  return g;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 400) return 0;
  const control_graph g = graph_of_text(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const program p = compile(g);
    for (const program_task& t : p.tasks) {
      double sum = 0.0;
      for (const task_outcome& o : t.outcomes) sum += o.probability;
      require(std::fabs(sum - 1.0) < 1e-9);
      if (t.outcomes.size() > 64) return 0;
    }
    chain_options small;
    small.most_states = 2000;
    small.most_tasks = 6;
    const chain c = generate(p, small);
    const environment e{machine::servers_for_all({1.0}), {}};
    const solution s = solve(c, e);
    require(std::isfinite(s.mean) && s.mean >= 0.0);
    require(s.capped >= 0.0 && s.capped < 1.0 + 1e-9 && s.leftover >= 0.0 && s.leftover < 1.0 + 1e-9);
    if (s.mean > 0.0) require(std::fabs(s.gradient[0] - s.mean) <= 1e-6 * s.mean);
    const solution lumped = solve(lump(c, find_equivalent_states(c)), e);
    require(std::fabs(lumped.mean - s.mean) <= 1e-6 * s.mean + 1e-12);
    // where the algebra reduces the whole graph, it counts the same tasks
    const reduction r = reduce(g, e.tasks);
    if (r.complete && !(s.capped > 0.0)) require(std::fabs(r.whole.tasks - s.tasks[0]) <= 1e-6 * s.tasks[0] + 1e-9);
  } catch (const prediction_error& x) {
    require(std::string(x.what()).compare(0, 10, "whywait-P0") == 0);
  }
  return 0;
}
