#ifndef WHYWAIT_EXPLAIN_RANK_MAPS_HPP
#define WHYWAIT_EXPLAIN_RANK_MAPS_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/active_time.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/location_steps.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/run_maps.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What one rank contributes to the maps of the run (run_maps.hpp). The forward pass adds waits as it explains them, and the
/// time in each block of code; all ranks agree on the blocks with the most time. Then the maps are read from the records. With
/// several locations, which do not count from their beginnings, they are read for the time in blocks as well. O(records), 1 KB and
/// 8 bytes per block until then.
class rank_maps {
 public:
  /// Time in one block.
  struct block_sum {
    core::stable_key block;
    std::int64_t ns;
  };
  using block_sums = base::pod_vector<block_sum>;

  /// `origin_ns`: the beginning of the run in shared time. Borrows the rank and its blocks.
  rank_maps(const rank_history& rank, block_table& blocks, std::int64_t origin_ns)
      : rank_(&rank), blocks_(&blocks), rows_(rank.ranks), origin_ns_(origin_ns) {}

  /// Adds a wait of this rank that counts.
  void add_wait(const wait_instance& wait) {
    waiting_.add(wait.begin_ns - origin_ns_, wait.begin_ns + wait.wait_ns - origin_ns_);
    const std::int32_t to = rows_.of(wait.causer_rank);
    for (row_pair& p : waits_)
      if (p.to == to) return row_pair::join(p, {0, 0, 1, wait.wait_ns});
    waits_.push_back({rows_.of(rank_->rank), to, 1, wait.wait_ns});
  }
  /// Adds the inherited part of a wait of the class `wait`, which came through a wait of the class `through`.
  void add_link(core::stable_key wait, core::stable_key through, std::int64_t ns) {
    if (ns <= 0 || through == 0) return;
    for (class_link& l : links_)
      if (l.wait == wait && l.through == through) return class_link::join(l, {0, 0, 1, ns});
    if (links_.size() < most_links) links_.push_back({wait, through, 1, ns});
  }

  /// Adds time of one location in a block of code.
  [[gnu::noinline]] void add_code(std::uint32_t block, std::int64_t ns) {
    if (block >= code_.size()) code_.resize(block + 1, 0);
    code_[block] += std::max<std::int64_t>(ns, 0);
  }
  /// Adds the blocks of code in which this rank spent most time to `all`; after the forward pass.
  void add_blocks(block_sums& all, base::memory_pool& memory) {
    if (rank_->locations.size() != 1 || !rank_->locations[0].whole) {
      code_.clear();
      read(
          memory, [this](std::uint32_t block, std::int64_t, std::int64_t ns) { add_code(block, ns); },
          [](std::int64_t, std::int64_t) {}, [](const core::sync_record&) {});
    }
    for (std::uint32_t b = 0; b != code_.size(); ++b)
      if (code_[b] > 0 && (*blocks_)[b].within == 0) all.push_back({(*blocks_)[b].block, code_[b]});
    join_blocks(all);
  }
  /// Joins equal blocks, keeps those with the most time.
  static void join_blocks(block_sums& all) {
    base::sort_and_join(
        all, [](const block_sum& a, const block_sum& b) { return a.block < b.block; },
        [](block_sum& to, const block_sum& b) { to.ns += b.ns; });
    small_stable_sort(all, [](const block_sum& a, const block_sum& b) { return a.ns > b.ns; });
    if (all.size() > most_candidates) all.resize(most_candidates);
  }
  /// The blocks that get a series: those of earlier epochs, then those with the most time and at least 1 % of all of it.
  static base::pod_vector<core::stable_key> choose(base::pod_vector<core::stable_key> known, const block_sums& all) {
    std::int64_t sum_ns = 0;
    for (const block_sum& b : all) sum_ns += b.ns;
    for (const block_sum& b : all) {
      if (known.size() == run_maps::most_blocks || 100 * b.ns < sum_ns) break;
      if (std::find(known.begin(), known.end(), b.block) == known.end()) known.push_back(b.block);
    }
    return known;
  }

  /// The maps of this rank alone. Call once.
  run_maps take(const base::pod_vector<core::stable_key>& blocks, base::memory_pool& memory) {
    run_maps out;
    out.ranks = rows_.ranks();
    out.blocks = blocks;
    out.first_row = rows_.of(rank_->rank);
    out.bins.resize(out.series_count());
    base::pod_vector<std::uint32_t> series;  // by number of the block
    const auto code = [&](std::uint32_t block, std::int64_t from_ns, std::int64_t ns) {
      for (auto b = static_cast<std::uint32_t>(series.size()); b <= block; ++b) {
        const auto* const at = std::find(blocks.begin(), blocks.end(), (*blocks_)[b].block);
        const bool listed = at != blocks.end() && (*blocks_)[b].within == 0;
        series.push_back(static_cast<std::uint32_t>(
            listed ? run_maps::first_block + static_cast<std::size_t>(at - blocks.begin()) : run_maps::other));
      }
      out.bins[series[block]].add(from_ns, from_ns + ns);
    };
    const auto rows = static_cast<std::size_t>(rows_.count());
    base::pod_vector<row_pair> pairs(2 * rows, {0, 0, 0, 0});  // sent to each row, then fetched from each
    read(
        memory, code, [&](std::int64_t from_ns, std::int64_t until_ns) { out.bins[run_maps::calls].add(from_ns, until_ns); },
        [&](const core::sync_record& r) {
          const std::int32_t peer = peer_of(r);
          if (peer < 0) return;
          const auto row = static_cast<std::size_t>(rows_.of(peer));
          row_pair::join(pairs[fetches(r) ? rows + row : row], {0, 0, 1, amount(r)});
        });
    out.bins[run_maps::calls].add(waiting_, -1);
    out.bins[run_maps::waiting] = std::move(waiting_);
    for (std::size_t i = 0; i != pairs.size(); ++i) {
      const auto row = static_cast<std::int32_t>(i % rows);
      const bool fetched = i >= rows;
      if (pairs[i].count != 0)
        out.messages.push_back({fetched ? row : out.first_row, fetched ? out.first_row : row, pairs[i].count, pairs[i].amount});
    }
    out.waits = std::move(waits_);
    out.links = std::move(links_);
    out.join();
    return out;
  }

 private:
  static constexpr std::size_t most_candidates = 64, most_links = 64;

  static std::int64_t amount(const core::sync_record& r) noexcept {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(r.bytes, INT64_MAX));
  }
  static bool fetches(const core::sync_record& r) noexcept {
    return r.call == core::mpi_call::Get || r.call == core::mpi_call::Get_c || r.call == core::mpi_call::Rget ||
           r.call == core::mpi_call::Rget_c;
  }
  // The world rank that a record sends a message to, or moves data to or from; -1: none.
  std::int32_t peer_of(const core::sync_record& r) const noexcept {
    constexpr unsigned moves_nothing = core::sync_flag::proc_null | core::sync_flag::cancelled | core::sync_flag::failed;
    const core::call_role role = core::role_of(r.call);
    if (r.has(moves_nothing) || r.comm >= rank_->communicators.size()) return -1;
    if (role != core::call_role::transfer && (role == core::call_role::epoch || !r.has(core::sync_flag::posts_send))) return -1;
    const std::int32_t rank = world_rank(rank_->communicators[r.comm], r.peer);
    return rank < rows_.ranks() ? rank : -1;
  }

  // Calls code(number of the block, begin, ns) and call(begin, end) for all time that counts, since the beginning of the run,
  // and seen(record) for each record that is not of an earlier epoch.
  void read(base::memory_pool& memory, borrowed<void(std::uint32_t, std::int64_t, std::int64_t)> code,
            borrowed<void(std::int64_t, std::int64_t)> call, borrowed<void(const core::sync_record&)> seen) const {
    for (std::size_t l = 0; l != rank_->locations.size(); ++l) {
      const location_history& here = rank_->locations[l];
      location_steps steps(*rank_, static_cast<std::uint16_t>(l), *blocks_, memory);
      steps.begin();
      location_steps::place at{location_walk(*rank_), rank_->begin_ns};
      bool counts = here.whole;  // a further thread counts from its first call on
      bool absent = false;  // before it began there was no thread
      const auto add_code = [&](std::uint32_t block, std::int64_t, std::int64_t ns, std::int64_t) {
        if (counts && ns > 0) code(block, at.now_ns - origin_ns_, ns);
      };
      const auto add_call = [&](std::uint32_t, std::int64_t, std::int64_t ns, std::int64_t) {
        if (ns > 0 && !absent) call(at.now_ns - origin_ns_, at.now_ns + ns - origin_ns_);
      };
      const location_steps::spend_call enter(add_code), inside(add_call);
      for (std::uint64_t i = 0; i != steps.size(); ++i) {
        absent = steps[i].call == core::mpi_call::thread_begin;
        steps.begin_record(at, enter);
        counts = counts || i >= here.carried;
        if (i >= here.carried) seen(steps[i]);
        steps.end_record(at, inside);
      }
      if (here.whole) steps.end(at, enter);
    }
  }

  const rank_history* rank_;
  block_table* blocks_;
  rank_rows rows_;
  std::int64_t origin_ns_;
  base::pod_vector<std::int64_t> code_;  ///< time by number of the block
  time_bins waiting_;
  base::pod_vector<row_pair> waits_;
  base::pod_vector<class_link> links_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
