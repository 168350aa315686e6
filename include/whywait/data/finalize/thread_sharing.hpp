#ifndef WHYWAIT_DATA_FINALIZE_THREAD_SHARING_HPP
#define WHYWAIT_DATA_FINALIZE_THREAD_SHARING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/data/analysis/page_book.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/analysis/sharing_book.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/data/marks/page_lookup.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// Which threads of this process share registered arrays, and which use them from another NUMA node, part by part of the run. Not
/// thread safe.
class thread_sharing {
 public:
  explicit thread_sharing(const sharing_options& options) : options_(options) {}

  /// Adds the part of the run at hand. `over`: it is the last one. `data` must outlive this object. Throws std::bad_alloc.
  void take(const core::registry& registry, const rank_data& data, bool over) {
    look_at_pages(registry, data);
    pages_.take_all(data, nodes_of_pages_);
    fold(data, over);
  }

  /// What they share so far; nothing if fewer than two threads have records of data.
  sharing_report result() const { return shared_by_ > 1 && sharing_ != nullptr ? sharing_->result() : sharing_report(); }
  /// Uses of arrays on another NUMA node, as those of rank `rank`.
  base::pod_vector<far_use> far(std::int32_t rank) const { return pages_.far(rank); }
  /// Whether the kernel refused to say where pages are.
  bool pages_refused() const noexcept { return pages_refused_ != 0; }

 private:
  static constexpr std::uint64_t least_bytes = 256 << 10;  // smaller arrays are in a cache
  static constexpr std::size_t most_arrays = 256;  // whose pages are looked at in a part

  void fold(const rank_data& data, bool over) {
    records_.resize(data.locations.size(), 0);
    for (std::size_t l = 0; l != data.locations.size(); ++l) {
      const bool any = data.locations[l].records.size() != data.locations[l].first;
      shared_by_ += any && records_[l] == 0 ? 1 : 0;
      records_[l] = records_[l] != 0 || any ? 1 : 0;
    }
    // A thread without records of data may have some in a later part; sharing needs at least two threads with records.
    if (sharing_ == nullptr && (over ? shared_by_ : data.locations.size()) < 2) return;
    if (sharing_ == nullptr) sharing_ = std::make_unique<sharing_book>(data, options_);
    sharing_->begin_part();
    sharing_->take_all();
  }

  // Where the pages of arrays are now. What is no longer registered stays where it was seen last.
  void look_at_pages(const core::registry& registry, const rank_data& data) {
    static_assert(page_nodes::most >= page_lookup::most_pages, "room for what is read");
    const data_state* const known = state_of(registry);
    if (known == nullptr || !page_lookup::is_possible()) return;
    const data_objects& objects = known->objects;
    nodes_of_pages_.resize(data.objects.size(), page_nodes());
    std::size_t looked_at = 0;
    for (std::uint32_t i = 1; i < nodes_of_pages_.size() && looked_at != most_arrays; ++i) {
      const known_object& o = objects[i];
      if (!o.active || o.end - o.begin < least_bytes) continue;
      ++looked_at;
      page_nodes known_nodes;
      known_nodes.count = page_lookup::nodes_of(o.begin, o.end, known_nodes.nodes, pages_refused_);
      if (pages_refused_ != 0) return;
      nodes_of_pages_[i] = known_nodes;
    }
  }

  const sharing_options options_;
  std::unique_ptr<sharing_book> sharing_;
  base::pod_vector<std::uint8_t> records_;  // by location: it ever had any
  std::size_t shared_by_ = 0;  // number of threads with records
  page_book pages_;
  base::pod_vector<page_nodes> nodes_of_pages_;  // by object
  int pages_refused_ = 0;  // errno
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
