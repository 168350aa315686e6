#ifndef WHYWAIT_EXPLAIN_OUTCOME_KEYS_HPP
#define WHYWAIT_EXPLAIN_OUTCOME_KEYS_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>

namespace whywait {
inline namespace v0 {
namespace explain {
/// Returns `keys` and every key of the outcome that the report has to name, sorted and unique.
inline base::vector<core::stable_key> keys_to_name(const explain::outcome& found, base::vector<core::stable_key> keys = {}) {
  for (const explain::block_meaning& m : found.meanings) {
    keys.push_back(m.first);
    keys.push_back(m.second);
  }
  for (const explain::explanation& e : found.waits) {
    keys.push_back(e.operation);
    keys.push_back(e.cause);
    for (const explain::residual_term& t : e.residual) {
      keys.push_back(t.block);
      keys.push_back(t.within);
    }
    for (const explain::picture_side* side : {&e.picture.waiter, &e.picture.causer})
      for (const explain::picture_node& n : side->nodes) keys.push_back(n.key);
  }
  const auto listed = [](std::size_t all) { return std::min(all, explain::most_listed_blocks); };
  for (std::size_t i = 0; i != listed(found.critical_path.size()); ++i) keys.push_back(found.critical_path[i].block);
  for (std::size_t i = 0; i != listed(found.costs.blocks.size()); ++i) keys.push_back(found.costs.blocks[i].block);
  for (const explain::what_if_answer& a : found.savings) keys.push_back(a.question.changes[0].block);
  for (const explain::what_if_answer& a : found.factors) keys.push_back(a.question.changes[0].block);
  for (const core::stable_key block : found.maps.blocks) keys.push_back(block);
  base::sort_and_unique(keys);
  return keys;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
