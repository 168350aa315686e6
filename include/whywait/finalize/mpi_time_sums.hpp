#ifndef WHYWAIT_FINALIZE_MPI_TIME_SUMS_HPP
#define WHYWAIT_FINALIZE_MPI_TIME_SUMS_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/mpi_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Adds up MPI time of one kind by call site, over all epochs of this rank and then over all ranks.
class mpi_time_sums {
 public:
  /// One call of a call site.
  void add(core::stable_key key, std::int64_t ns) {
    if (ns > 0) sums_.push_back({key, ns, 1});
  }
  /// After each epoch: one entry per call site remains.
  void fold() { add_up(sums_); }

  /// All ranks together, complete on rank 0; names are set by `name`. Collective; costs one agreement if there is none.
  reports::mpi_time gather(const finalize::team& all) {
    reports::mpi_time result;
    if (all.lowest_of(!sums_.empty()) < 0) return result;
    double own = 0;
    for (const site_sum& s : sums_) own += static_cast<double>(s.ns) * 1e-9;
    const auto take = [&](double seconds) {
      result.ranks.push_back({static_cast<std::int32_t>(result.ranks.size()), 0, seconds});
      result.seconds += seconds;
    };
    take(own);
    all.gather(all.rank() != 0 ? &own : nullptr, all.rank() != 0 ? sizeof own : 0, [&](const unsigned char* data, std::size_t) {
      double theirs = 0;
      std::memcpy(&theirs, data, sizeof theirs);
      take(theirs);
    });
    listed_ = sums_;
    all.reduce_list(listed_, [this] { add_up(listed_); });
    base::small_stable_sort(listed_, [](const site_sum& a, const site_sum& b) { return a.ns > b.ns; });
    listed_.resize(std::min(listed_.size(), most_listed));
    return result;
  }

  /// After `gather`, on rank 0: calls use(key) for the call sites with the most time.
  template <class Use>
  void keys(Use&& use) const {
    for (const site_sum& s : listed_) use(s.key);
  }
  void name(reports::mpi_time& result, const base::names& names) const {
    for (const site_sum& s : listed_)
      if (const base::place* const where = names.find(s.key))
        result.calls.push_back({*where, s.count, static_cast<double>(s.ns) * 1e-9, 0});
  }

 private:
  static constexpr std::size_t most_listed = 16;
  struct site_sum {
    core::stable_key key;
    std::int64_t ns, count;
  };
  static void add_up(base::pod_vector<site_sum>& all) {
    base::sort_and_join(
        all, [](const site_sum& a, const site_sum& b) { return a.key < b.key; },
        [](site_sum& to, const site_sum& s) {
          to.ns += s.ns;
          to.count += s.count;
        });
  }

  base::pod_vector<site_sum> sums_, listed_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
