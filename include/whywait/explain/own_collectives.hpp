#ifndef WHYWAIT_EXPLAIN_OWN_COLLECTIVES_HPP
#define WHYWAIT_EXPLAIN_OWN_COLLECTIVES_HPP

#include <whywait/base/packed_list.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/postings.hpp>
#include <whywait/explain/walk.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The calls of collectives of one rank, in the order in which the process called MPI. 1 to 17 bytes per call, and 16 more for
/// calls that begin before the record ahead of them ended. Not thread safe.
class own_collectives {
 public:
  struct call {
    std::uint32_t comm;  ///< number of the communicator in the collective_book
    std::uint32_t record;
    std::uint32_t shifted;  ///< its times in shifted_; `none`: those of the record alone
    std::uint32_t location;
  };
  using reader = base::packed_list::reader;  ///< of call
  /// When a call was in MPI, in shared time.
  struct interval {
    std::int64_t enter_ns, leave_ns;
  };

  /// Borrows all arguments.
  own_collectives(const rank_history& rank, base::memory_pool& pool) : rank_(&rank), all_(pool), shifted_(pool) {}

  /// `walk` stands at the record `r`.
  void add(std::uint32_t comm, record_place here, const core::sync_record& r, const location_walk& walk) {
    in_order_ = in_order_ && latest_ <= r.posting;
    latest_ = r.posting;
    const interval walked{walk.begin_ns(), walk.leave_ns()}, alone = times_of(r);
    const bool same = walked.enter_ns == alone.enter_ns && walked.leave_ns == alone.leave_ns;
    if (!same) shifted_.push_back(walked);
    if (counts_.size() <= here.location) counts_.resize(here.location + std::size_t{1}, 0);
    ++counts_[here.location];
    all_.push_back(call{comm, here.record, same ? none : static_cast<std::uint32_t>(shifted_.size() - 1), here.location});
  }
  /// Sorts the calls of several threads by their postings. Call once, after the last `add`.
  void sort() {
    if (in_order_) return;
    const auto posting = [this](const call& c) { return rank_->locations[c.location].records[c.record].posting; };
    base::pod_vector<call> sorted;
    for (reader c(all_); !c.empty(); c.pop()) sorted.push_back(c.front<call>());
    small_stable_sort(sorted, [&posting](const call& a, const call& b) { return posting(a) < posting(b); });
    all_.release();
    for (const call& c : sorted) all_.push_back(c);
  }
  /// Frees the memory.
  void release() noexcept {
    all_.release();
    shifted_.release();
  }

  reader begin() const noexcept { return reader(all_); }
  /// How many calls are of a location.
  std::size_t count(std::size_t location) const noexcept { return location < counts_.size() ? counts_[location] : 0; }
  /// `r`: the record of the call.
  interval times(const call& c, const core::sync_record& r) const noexcept {
    return c.shifted == none ? times_of(r) : shifted_[c.shifted];
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  interval times_of(const core::sync_record& r) const noexcept {
    location_walk alone(*rank_);
    alone.step(r);
    return {alone.begin_ns(), alone.leave_ns()};
  }

  const rank_history* rank_;
  base::packed_list all_;
  base::pod_vector<interval> shifted_;
  base::pod_vector<std::uint32_t> counts_;  ///< by location
  std::uint32_t latest_ = 0;  ///< posting of the last call
  bool in_order_ = true;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
