#ifndef WHYWAIT_EXPLAIN_NAME_ORDER_HPP
#define WHYWAIT_EXPLAIN_NAME_ORDER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/blocks.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The order of the blocks of a table by name; kept until it is asked for those of another table, or of a longer one.
class name_order {
 public:
  void of(const block_table& blocks) {
    if (&blocks == table_ && blocks.size() == blocks_.size()) return;
    table_ = &blocks;
    blocks_.resize(blocks.size());
    places_.resize(blocks.size());
    for (std::uint32_t b = 0; b != blocks_.size(); ++b) blocks_[b] = b;
    sort_short(blocks_, [&blocks](std::uint32_t a, std::uint32_t b) { return blocks[a].before(blocks[b]); });
    for (std::uint32_t i = 0; i != blocks_.size(); ++i) places_[blocks_[i]] = i;
  }

  std::size_t size() const noexcept { return blocks_.size(); }
  std::uint32_t block(std::size_t place) const noexcept { return blocks_[place]; }
  std::uint32_t place(std::uint32_t block) const noexcept { return places_[block]; }

 private:
  const block_table* table_ = nullptr;
  base::pod_vector<std::uint32_t> blocks_, places_;  ///< by place, by block
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
