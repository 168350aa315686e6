#ifndef WHYWAIT_RULES_PATH_BLOCKS_HPP
#define WHYWAIT_RULES_PATH_BLOCKS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The blocks of the critical path. Borrows its arguments.
class path_blocks {
 public:
  path_blocks(const explain::outcome& found, const explain::block_names& names) : path_(found.critical_path), names_(names) {
    for (const explain::critical_block& c : path_) numbers_.intern(c.block, static_cast<std::uint32_t>(&c - path_.begin()));
  }

  std::int64_t ns(core::stable_key block) const noexcept { return find(block) != nullptr ? find(block)->ns : 0; }
  /// The part of what a block has on the path above the mean of all ranks that its visits there take longer than the mean visit, 0 to 1.
  /// The rest are more visits: of several ranks, one after the other. `use`: of the block; null: 0.
  double longer(const code_use* use) const noexcept {
    const explain::critical_block* const path = use != nullptr ? find(use->block) : nullptr;
    if (path == nullptr || use->visits <= 0 || path->imbalance_ns <= 0) return 0;
    const double usual_ns = static_cast<double>(use->ns) / static_cast<double>(use->visits) * static_cast<double>(path->visits);
    return std::clamp((static_cast<double>(path->ns) - usual_ns) / static_cast<double>(path->imbalance_ns), 0.0, 1.0);
  }
  /// What a block has on the path above the mean; -1: it is not listed. `joined`: with all unmarked code from the same call to calls in
  /// one function, as ranks with other neighbours end it in other lines.
  [[gnu::noinline]] std::int64_t imbalance_ns(core::stable_key block, bool joined) const {
    const explain::critical_block* const path = find(block);
    if (path == nullptr) return -1;
    const explain::block_description top = names_.describe(block, false);
    if (!joined || top.from == nullptr || top.where == nullptr || top.where->function.empty()) return path->imbalance_ns;
    std::int64_t ns = 0;
    for (const explain::critical_block& c : path_) {
      const explain::block_description other = names_.describe(c.block, false);
      if (other.from == nullptr || other.where == nullptr || !(*other.from == *top.from)) continue;
      if (c.block == block || other.where->function == top.where->function) ns += c.imbalance_ns;
    }
    return ns;
  }

 private:
  const explain::critical_block* find(core::stable_key block) const noexcept {
    const std::uint32_t at = numbers_.find(block);
    return at == base::key_map::none ? nullptr : &path_[at];
  }

  const base::vector<explain::critical_block>& path_;
  const explain::block_names& names_;
  base::key_map numbers_;  ///< indices in the path by block
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
