#ifndef WHYWAIT_DATA_ANALYSIS_PAGE_BOOK_HPP
#define WHYWAIT_DATA_ANALYSIS_PAGE_BOOK_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/analysis/rank_data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace data {

/// NUMA nodes of pages at equal distances in an array; -1: not known.
struct page_nodes {
  static constexpr std::uint32_t most = 64;

  std::uint32_t count = 0;
  std::int16_t nodes[most] = {};
};

/// A thread that uses an array in a block while more than half of the bytes that it uses are on another node than its own.
struct far_use {
  core::stable_key array = 0, block = 0;
  std::int32_t rank = 0, thread = 0;
  std::int32_t node = 0, pages_node = 0;  ///< where the thread ran, and where most of the far bytes are
  double bytes = 0, far_bytes = 0;        ///< that it used, with repetitions; of these, on another node

  double share() const noexcept { return bytes > 0 ? far_bytes / bytes : 0; }
};
static_assert(std::is_trivially_copyable<far_use>::value, "sent between ranks as bytes");

inline void most_bytes_first(base::pod_vector<far_use>& all) {
  base::small_stable_sort(all, [](const far_use& a, const far_use& b) { return a.far_bytes > b.far_bytes; });
}

/// Adds up from which node threads use the pages of arrays, record by record (docs/method.md 2.5). Each page that was looked at
/// stands for those around it. Not thread safe.
class page_book {
 public:
  static constexpr std::size_t most_far = 16;  ///< of one rank in the result

  /// Adds the records of a part of the run. O(records * pages looked at of an array).
  void take_all(const rank_data& rank, const base::pod_vector<page_nodes>& pages) {
    for (std::size_t l = 0; l != rank.locations.size(); ++l) {
      const location_data& here = rank.locations[l];
      for (std::uint64_t i = here.first; i < here.records.size(); ++i) {
        const core::data_record& r = here.records[i];
        if ((r.op != core::data_op::read && r.op != core::data_op::write) || r.tag == 0) continue;
        if (r.object >= pages.size() || r.site >= rank.sites.size() || pages[r.object].count == 0) continue;
        take(static_cast<std::int32_t>(l), rank.sites[r.site], rank.objects[r.object], pages[r.object], r);
      }
    }
  }

  /// The uses of this rank that are far, at most `most_far`, most bytes first.
  base::pod_vector<far_use> far(std::int32_t rank) const {
    base::pod_vector<far_use> all;
    base::pod_vector<double> most_far_bytes;  // between the two nodes that `all` has
    base::key_map numbers;
    for (const sum& s : sums_) {
      const auto fresh = static_cast<std::uint32_t>(all.size());
      const std::uint32_t n = numbers.intern(key_of(s.array, s.block, s.thread, 0, 0), fresh);
      if (n == fresh) {
        all.push_back({s.array, s.block, rank, s.thread, s.node, s.page_node, 0, 0});
        most_far_bytes.push_back(0);
      }
      far_use& u = all[n];
      u.bytes += s.bytes;
      if (s.node == s.page_node) continue;
      u.far_bytes += s.bytes;
      if (s.bytes <= most_far_bytes[n]) continue;
      most_far_bytes[n] = s.bytes;
      u.node = s.node;
      u.pages_node = s.page_node;
    }
    base::pod_vector<far_use> out;
    for (const far_use& u : all)
      if (2 * u.far_bytes > u.bytes) out.push_back(u);
    most_bytes_first(out);
    if (out.size() > most_far) out.resize(most_far);
    return out;
  }

 private:
  struct sum {
    core::stable_key array, block;
    std::int32_t thread, node, page_node;
    double bytes;
  };

  static core::stable_key key_of(core::stable_key array, core::stable_key block, std::int32_t thread, std::int32_t node,
                                 std::int32_t page_node) noexcept {
    const auto place = static_cast<std::uint64_t>(thread) << 32 | static_cast<std::uint64_t>(node) << 16;
    return core::combine(core::combine(array, block), place | static_cast<std::uint64_t>(page_node));
  }

  void take(std::int32_t thread, core::stable_key block, const core::data_object& array, const page_nodes& pages,
            const core::data_record& r) {
    const auto all = static_cast<double>(array.bytes()), count = static_cast<double>(pages.count);
    const double dense = r.stride != 0 && r.piece < r.stride ? static_cast<double>(r.piece) / static_cast<double>(r.stride) : 1;
    const auto begin = static_cast<double>(r.begin), end = std::min(static_cast<double>(r.end), all);
    for (std::size_t i = static_cast<std::size_t>(begin / all * count); i < pages.count; ++i) {
      const double from = static_cast<double>(i) / count * all, to = static_cast<double>(i + 1) / count * all;
      if (from >= end) return;
      const double bytes = dense * (std::min(to, end) - std::max(from, begin));
      if (pages.nodes[i] < 0 || bytes <= 0) continue;
      const std::int32_t node = r.tag - 1;
      const auto fresh = static_cast<std::uint32_t>(sums_.size());
      const std::uint32_t n = numbers_.intern(key_of(array.key, block, thread, node, pages.nodes[i]), fresh);
      if (n == fresh) sums_.push_back({array.key, block, thread, node, pages.nodes[i], 0});
      sums_[n].bytes += bytes;
    }
  }

  base::pod_vector<sum> sums_;
  base::key_map numbers_;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
