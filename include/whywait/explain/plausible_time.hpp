#ifndef WHYWAIT_EXPLAIN_PLAUSIBLE_TIME_HPP
#define WHYWAIT_EXPLAIN_PLAUSIBLE_TIME_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/mpi_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// How long an MPI call may take without waiting, measured in the run itself (docs/method.md 4.13). Calls are grouped by
/// function and by size, in steps of four; each group is a histogram of the time that calls spent beyond their explained
/// waits. The bound is generous, so that only calls exceed it that waited for something that the model does not contain.
class plausible_time {
 public:
  static constexpr std::size_t sizes = 14, buckets = 40;
  static constexpr std::uint32_t enough = 8;  ///< fewest calls of a group that has a bound

  plausible_time() { counts_.assign(groups * sizes * buckets, 0); }

  /// Adds a call that spent `ns` inside MPI beyond its explained waits.
  void add(core::mpi_call call, std::uint64_t bytes, std::int64_t ns) noexcept {
    if (call < core::mpi_call::modelled_) ++counts_[group(call, bytes) + bucket_of(ns)];
  }

  /// The most that such a call plausibly takes: four times a low quantile (10 %) of its group, but at least 20 us plus the
  /// transfer at 1 GB/s, and at most 1 ms (10 ms for calls that make communicators) plus the transfer at 100 MB/s. The upper
  /// limit bounds a group all of whose calls waited for something. `steps`: of a collective, how many transfers follow each
  /// other. `slice_ns`: for how long another rank may have the processor in each.
  std::int64_t bound_ns(core::mpi_call call, std::uint64_t bytes, std::int64_t steps = 1,
                        std::int64_t slice_ns = 0) const noexcept {
    const core::call_role role = core::role_of(call);
    const bool slow = role == core::call_role::create || role == core::call_role::release || role == core::call_role::finalise;
    const auto size = static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 40));
    const std::int64_t least = 20'000 + size, most = steps * ((slow ? 10'000'000 : 1'000'000) + 10 * size + slice_ns);
    const std::int64_t typical = typical_ns(call, bytes);
    return typical == 0 ? most : std::clamp(4 * typical, least, most);
  }

  /// The upper end of the bucket with the 10 % quantile; 0 if there are too few calls.
  std::int64_t typical_ns(core::mpi_call call, std::uint64_t bytes) const noexcept {
    if (call >= core::mpi_call::modelled_) return 0;
    const std::uint32_t* const of = &counts_[group(call, bytes)];
    std::uint64_t all = 0, up_to = 0;
    for (std::size_t b = 0; b != buckets; ++b) all += of[b];
    if (all < enough) return 0;
    for (std::size_t b = 0; b != buckets; ++b) {
      up_to += of[b];
      if (10 * up_to >= all) return std::int64_t{1} << b;
    }
    return 0;
  }

  /// The counts of all groups, to be added up over ranks.
  base::pod_vector<std::uint32_t>& counts() noexcept { return counts_; }

 private:
  // One for each function, and one for all that initiate collectives.
  static constexpr std::size_t groups = static_cast<std::size_t>(core::mpi_call::initiations_) + 1;

  // Bucket b holds times up to 2^b ns.
  static std::size_t bucket_of(std::int64_t ns) noexcept {
    const auto up = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 1)) - 1;
    return up == 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(64 - __builtin_clzll(up)), buckets - 1);
  }
  static std::size_t group(core::mpi_call call, std::uint64_t bytes) noexcept {
    const std::size_t digits = bytes == 0 ? 0 : static_cast<std::size_t>(64 - __builtin_clzll(bytes)) / 2 + 1;
    const std::size_t number = core::initiates(call) ? groups - 1 : static_cast<std::size_t>(call);
    return (number * sizes + std::min(digits, sizes - 1)) * buckets;
  }

  base::pod_vector<std::uint32_t> counts_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
