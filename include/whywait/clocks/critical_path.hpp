#ifndef WHYWAIT_CLOCKS_CRITICAL_PATH_HPP
#define WHYWAIT_CLOCKS_CRITICAL_PATH_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/joining.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The causal path profile of the location that ended last, which is the critical path of the run, and the time of all
/// locations in each block (docs/method.md 1.5). Merged up the reduction tree; memory grows with distinct blocks.
struct critical_path {
  using entry = explain::block_time;
  std::int64_t end_ns = INT64_MIN;
  base::pod_vector<entry> path;   ///< in any order
  base::pod_vector<entry> spent;  ///< by block

  /// Adds one location; `own`: what it did itself, ascending.
  void add(std::int64_t own_end_ns, base::pod_vector<entry>&& own_path, const base::pod_vector<entry>& own) {
    if (own_end_ns > end_ns) {  // on a tie the lower rank stays
      end_ns = own_end_ns;
      path = std::move(own_path);
    }
    join_ascending(spent, own, before, add_entry);
  }
  /// The path by block: steps of one block in several regions are added up.
  static base::pod_vector<entry> joined(base::pod_vector<entry> path) {
    base::sort_and_join(path, before, add_entry);
    return path;
  }

  void write(base::packet& out) const {
    put(out, end_ns);
    put_all(out, path);
    put_all(out, spent);
  }
  /// Merges what another rank's `write` wrote.
  void merge(base::packet_reader& in) {
    const auto end = in.get<std::int64_t>();
    if (end > end_ns) {
      end_ns = end;
      get_all(in, path);
    } else {
      in.skip(in.get_count(sizeof(entry)) * sizeof(entry));
    }
    join_ascending(spent, in, before, add_entry);
  }

  /// Largest first. `imbalance_ns`: the part of a block's time on the path above the mean of all locations.
  base::vector<explain::critical_block> present(std::int64_t locations) const {
    base::vector<explain::critical_block> result;
    for (const entry& e : joined(path)) {
      const auto at = std::lower_bound(spent.begin(), spent.end(), e.block,
                                       [](const entry& s, core::stable_key block) { return s.block < block; });
      const std::int64_t all = at != spent.end() && at->block == e.block ? at->ns : 0;
      const std::int64_t mean = locations > 0 ? all / locations : 0;
      result.push_back({e.block, e.ns, std::max<std::int64_t>(0, e.ns - mean), e.visits});
    }
    base::small_stable_sort(result, [](const explain::critical_block& a, const explain::critical_block& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.block < b.block;
    });
    return result;
  }

 private:
  static bool before(const entry& a, const entry& b) noexcept { return a.block < b.block; }
  static void add_entry(entry& to, const entry& e) noexcept {
    to.ns += e.ns;
    to.visits += e.visits;
  }
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
