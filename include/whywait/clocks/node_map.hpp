#ifndef WHYWAIT_CLOCKS_NODE_MAP_HPP
#define WHYWAIT_CLOCKS_NODE_MAP_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/file_time.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The node of each rank, and whether any rank calls MPI on files. Consecutive ranks of one node are one entry, so the map is small for block placement; at
/// worst 12 bytes per rank. Not thread safe.
class node_map {
 public:
  void add(const explain::rank_history& rank) {
    runs_.push_back({rank.rank, rank.rank + 1, rank.node});
    files_ = files_ || !explain::calls_on_files(rank).empty();
  }
  void write(base::packet& out) const {
    put_all(out, runs_);
    put(out, files_);
  }
  /// Joins what another map wrote; no rank may be in both.
  void join(base::packet_reader& in) {
    base::vector<run> more;
    get_all(in, more);
    files_ = in.get<bool>() || files_;
    runs_.insert(runs_.end(), more.begin(), more.end());
    base::small_stable_sort(runs_, [](const run& a, const run& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (const run& r : runs_) {
      if (kept != 0 && runs_[kept - 1].last == r.first && runs_[kept - 1].node == r.node) {
        runs_[kept - 1].last = r.last;
      } else {
        runs_[kept++] = r;
      }
    }
    runs_.resize(kept);
  }

  bool any_files() const noexcept { return files_; }
  /// Whether the node of every rank is known and there are several nodes.
  bool several() const noexcept {
    bool known = true, differ = false;
    for (const run& r : runs_) {
      known = known && r.node >= 0;
      differ = differ || r.node != runs_[0].node;
    }
    return known && differ;
  }

  /// The node of a world rank; -1: unknown. O(log entries).
  std::int32_t operator[](std::int32_t rank) const noexcept {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), rank, [](std::int32_t r, const run& x) { return r < x.first; });
    return after == runs_.begin() || rank >= (after - 1)->last ? -1 : (after - 1)->node;
  }

  /// By location and record: whether the call's messages, or its communicator, leave the node of the rank; for a call
  /// that completes requests, whether one of their messages does. Without a known node everything leaves it. O(records
  /// log entries).
  base::vector<base::vector<bool>> leaving(const explain::rank_history& rank) const {
    base::vector<base::vector<bool>> result;
    for (const explain::location_history& l : rank.locations) result.emplace_back(l.records.size(), rank.node < 0);
    base::vector<bool> spans;
    for (const explain::communicator& c : rank.communicators) spans.push_back(leaves(rank, c));
    for (std::size_t l = 0; l != rank.locations.size(); ++l) {
      const explain::location_history& here = rank.locations[l];
      for (std::uint64_t i = 0; i != here.records.size(); ++i) {
        const core::sync_record& r = here.records[i];
        if (r.comm >= spans.size() || r.has(core::sync_flag::proc_null)) continue;
        const core::call_role role = core::role_of(r.call);
        const bool message = r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive) ||
                             role == core::call_role::probe || role == core::call_role::test_probe;
        const std::int32_t peer = message ? explain::world_rank(rank.communicators[r.comm], r.peer) : -1;
        if (!(core::is_collective(r.call) ? spans[r.comm] : peer >= 0 && (*this)[peer] != rank.node)) continue;
        result[l][i] = true;
        if (role == core::call_role::send || role == core::call_role::receive) continue;  // complete in their own call
        if (r.has(core::sync_flag::complete) && r.completed_by < result.size() &&
            r.completion < result[r.completed_by].size()) {
          result[r.completed_by][r.completion] = true;
        }
      }
    }
    return result;
  }

 private:
  struct run {
    std::int32_t first, last, node;  ///< ranks from first up to, excluding, last
  };

  bool leaves(const explain::rank_history& rank, const explain::communicator& comm) const noexcept {
    if (comm.world.empty() && comm.size == rank.ranks) return runs_.size() > 1;
    for (std::int32_t i = 0; i < comm.size; ++i) {
      if ((*this)[explain::world_rank(comm, i)] != rank.node) return true;
    }
    return false;
  }

  base::vector<run> runs_;  ///< by rank
  bool files_ = false;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
