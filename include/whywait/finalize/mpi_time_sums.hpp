#ifndef WHYWAIT_FINALIZE_MPI_TIME_SUMS_HPP
#define WHYWAIT_FINALIZE_MPI_TIME_SUMS_HPP

#include <whywait/base/places.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/finalize/site_times.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/mpi_time.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Time of one kind by rank, complete on rank 0, without calls; empty where `any` holds on no rank. Collective.
inline reports::mpi_time gather_seconds(bool any, double own, const finalize::team& all) {
  reports::mpi_time result;
  if (all.lowest_of(any) < 0) return result;
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
  return result;
}

/// Adds up MPI time of one kind by call site, over all epochs of this rank and then over all ranks.
class mpi_time_sums {
 public:
  /// One call of a call site.
  void add(core::stable_key key, std::int64_t ns) { sums_.add(key, ns, 1); }
  /// After each epoch: one entry per call site remains.
  void fold() { sums_.fold(); }

  /// All ranks together, complete on rank 0; names are set by `name`. Collective; costs one agreement if there is none.
  reports::mpi_time gather(const finalize::team& all) {
    double own = 0;
    for (const site_times::entry& e : sums_.entries()) own += static_cast<double>(e.ns) * 1e-9;
    reports::mpi_time result = gather_seconds(!sums_.entries().empty(), own, all);
    if (result.ranks.empty()) return result;
    listed_ = sums_;
    all.reduce_list(listed_.entries(), [this] { listed_.fold(); });
    listed_.keep_most();
    return result;
  }

  /// After `gather`, on rank 0: calls use(key) for the call sites with the most time.
  template <class Use>
  void keys(Use&& use) const {
    for (const site_times::entry& e : listed_.entries()) use(e.key);
  }
  void name(reports::mpi_time& result, const base::names& names) const { listed_.name(result.calls, names); }

 private:
  site_times sums_, listed_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
