#ifndef WHYWAIT_EXPLAIN_BLOCKS_HPP
#define WHYWAIT_EXPLAIN_BLOCKS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Key of the unmarked code between two calls; 0 stands for the begin or the end of recording.
constexpr core::stable_key between_key(core::stable_key first, core::stable_key second) noexcept {
  return core::combine(core::combine(first, second), 0x6265747765656eu);
}
/// Key of all unmarked code of main threads together, for balancing.
constexpr core::stable_key unmarked_key() noexcept { return core::combine(1, 0x756e6d61726b65u); }
/// Unmarked code of main threads that is joined, for balancing: all after a call, to whatever call comes next; all before one; all from an
/// operation of all ranks to the next one.
enum class joined_by : core::stable_key { none, after, before, phase };
/// Key of the code that is joined by the call at `site`.
constexpr core::stable_key joined_key(core::stable_key site, joined_by how) noexcept {
  return core::combine(site, 0x6a6f696e6564u + static_cast<core::stable_key>(how));
}
/// Key of the time inside a call that is not waiting for others.
constexpr core::stable_key call_key(core::stable_key site) noexcept { return core::combine(site, 0x63616c6cu); }
/// Key of the time before MPI_Init returned, relative to the first rank that left it.
constexpr core::stable_key startup_key() noexcept { return core::combine(1, 0x7374617274u); }

/// The entry for `block` in a list in the order of blocks; null: there is none. O(log n).
template <class List>
auto find_block(const List& list, core::stable_key block) noexcept -> decltype(&list[0]) {
  std::size_t first = 0;
  for (std::size_t count = list.size(); count != 0;) {
    const std::size_t half = count / 2;
    const bool later = list[first + half].block < block;
    first += later ? half + 1 : 0;
    count = later ? count - half - 1 : half;
  }
  return first != list.size() && list[first].block == block ? &list[first] : nullptr;
}

/// The blocks of one rank and of the paths it took over, numbered from 0 in the order of first use. Keys are the same
/// on all ranks, numbers only within one rank. Not thread safe.
class block_table {
 public:
  struct name {
    core::stable_key block;
    core::stable_key within;  ///< not 0: the region around an untimed step

    bool before(const name& o) const noexcept { return block != o.block ? block < o.block : within < o.within; }
  };

  std::uint32_t intern(core::stable_key block, core::stable_key within = 0) {
    const core::stable_key key = within == 0 ? block : core::combine(block, within);
    const auto fresh = static_cast<std::uint32_t>(names_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) names_.push_back({block, within});
    return number;
  }

  /// The number of a known block, or key_map::none.
  std::uint32_t find(core::stable_key block, core::stable_key within) const noexcept {
    return numbers_.find(within == 0 ? block : core::combine(block, within));
  }

  std::uint32_t between(core::stable_key first, core::stable_key second) {
    return derived(between_key(first, second), block_kind::between, first, second);
  }
  std::uint32_t call(core::stable_key site) { return derived(call_key(site), block_kind::call, site, 0); }
  std::uint32_t startup() { return derived(startup_key(), block_kind::startup, 0, 0); }

  const name& operator[](std::uint32_t number) const noexcept { return names_[number]; }
  std::size_t size() const noexcept { return names_.size(); }
  const base::vector<block_meaning>& meanings() const noexcept { return meanings_; }

 private:
  std::uint32_t derived(core::stable_key key, block_kind kind, core::stable_key first, core::stable_key second) {
    const auto fresh = static_cast<std::uint32_t>(meanings_.size());
    if (explained_.intern(key, fresh) == fresh) meanings_.push_back({key, kind, first, second});
    return intern(key);
  }

  base::key_map numbers_;
  base::key_map explained_;
  base::pod_vector<name> names_;
  base::vector<block_meaning> meanings_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
