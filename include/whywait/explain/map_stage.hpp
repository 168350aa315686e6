#ifndef WHYWAIT_EXPLAIN_MAP_STAGE_HPP
#define WHYWAIT_EXPLAIN_MAP_STAGE_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/rank_maps.hpp>
#include <whywait/explain/run_maps.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The maps of one rank on their way up the reduction tree. Those of a rank are made when it is their turn, so that a process
/// that hosts thousands of ranks holds few of them at a time.
class map_stage {
 public:
  /// Begins an epoch; borrows the rank and its blocks. Waits are added to the result.
  rank_maps* begin(const rank_history& rank, block_table& blocks, std::int64_t origin_ns) {
    own_.reset(new rank_maps(rank, blocks, origin_ns));
    return own_.get();
  }
  void add_blocks(rank_maps::block_sums& all, base::memory_pool& memory) { own_->add_blocks(all, memory); }

  base::packet pack(const base::pod_vector<core::stable_key>& blocks, base::memory_pool& memory) {
    take(blocks, memory);
    base::packet out;
    sum_.write(out);
    sum_ = {};
    return out;
  }
  void merge(const base::pod_vector<core::stable_key>& blocks, base::memory_pool& memory, const unsigned char* data,
             std::size_t size) {
    take(blocks, memory);
    base::packet_reader in(data, size);
    run_maps more;
    more.read(in);
    sum_.merge(std::move(more));
  }
  void take(const base::pod_vector<core::stable_key>& blocks, base::memory_pool& memory) {
    if (own_ != nullptr) sum_ = own_->take(blocks, memory);
    own_.reset();
  }
  /// The maps of all ranks, on rank 0.
  run_maps result() { return std::move(sum_); }

 private:
  std::unique_ptr<rank_maps> own_;
  run_maps sum_;
};

/// Adds up the maps of all ranks, after they have agreed on the blocks that get a series of their own. `stage(i)`: of the
/// i-th hosted rank. `known`: the blocks of earlier epochs, on rank 0. Collective.
inline void reduce_maps(transport_calls& transport, std::size_t hosted, borrowed<map_stage&(std::size_t)> stage,
                        const base::pod_vector<core::stable_key>& known, base::memory_pool& memory) {
  const auto at = [&](std::int32_t i) -> map_stage& { return stage(static_cast<std::size_t>(i)); };
  rank_maps::block_sums sums;
  for (std::size_t i = 0; i != hosted; ++i) stage(i).add_blocks(sums, memory);
  transport.reduce(
      [&](std::int32_t i) {  // those of all hosted ranks
        base::packet out;
        if (i == 0) put_all(out, sums);
        return out;
      },
      [&](std::int32_t, const unsigned char* data, std::size_t size) {
        if (size == 0) return;
        rank_maps::block_sums more;
        base::packet_reader in(data, size);
        get_all(in, more);
        sums.append(more.data(), more.size());
        rank_maps::join_blocks(sums);
      });
  base::pod_vector<core::stable_key> blocks;
  transport.broadcast(
      [&](std::int32_t) {
        base::packet out;
        put_all(out, rank_maps::choose(known, sums));
        return out;
      },
      [&](std::int32_t, const unsigned char* data, std::size_t size) {
        base::packet_reader in(data, size);
        get_all(in, blocks);
      });
  transport.reduce(
      [&](std::int32_t i) { return at(i).pack(blocks, memory); },
      [&](std::int32_t i, const unsigned char* data, std::size_t size) { at(i).merge(blocks, memory, data, size); });
  if (hosted != 0) stage(0).take(blocks, memory);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
