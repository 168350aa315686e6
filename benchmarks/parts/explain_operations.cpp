// A second copy of the engine, compiled to count its basic blocks, which is a measure of work without cache effects. It
// has a different namespace, because the first copy is timed in the same program.
#define v0 v0_counted

#include "explain_programs.hpp"

#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/simulated_transport.hpp>

extern std::uint64_t basic_blocks;  // incremented by __sanitizer_cov_trace_pc in explain.cpp

/// The number of basic blocks that the engine executes to explain such a program.
std::uint64_t operations_of(bool is_tree, std::int32_t ranks, bool with_clocks) {
  std::vector<rank_store> stores = is_tree ? tree(ranks) : stencil(ranks);
  const std::vector<explain::rank_history> histories = views(stores);
  explain::simulated_transport transport(ranks);
  explain::options settings;
  if (with_clocks) settings.clocks = &clocks::virtual_clocks;
  const std::uint64_t before = basic_blocks;
  const explain::outcome out = explain::explain(transport, histories, settings);
  return out.records == 0 ? 0 : basic_blocks - before;
}
