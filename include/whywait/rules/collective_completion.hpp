#ifndef WHYWAIT_RULES_COLLECTIVE_COMPLETION_HPP
#define WHYWAIT_RULES_COLLECTIVE_COMPLETION_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/rules/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace rules {

/// One rank's call of a collective operation that synchronises all ranks. Trivially copyable: sent as bytes.
struct collective_visit {
  core::stable_key communicator;
  std::int64_t instance;  ///< number of the operation on its communicator
  std::int64_t begin_ns, end_ns;
  core::stable_key site;
};
static_assert(std::is_trivially_copyable<collective_visit>::value, "sent between ranks as bytes");

/// Completion as Scalasca defines it for barriers and N x N operations: time in the operation after all ranks have
/// arrived and the first has left. One rank evaluates each instance and receives all its visits. Near-linear, in the
/// memory of a rank's own visits. Call `announce` until nothing is left, `receive` for each packet, then `add_to`.
class completion {
 public:
  /// Completions shorter than `least_ns` are within the clock error and ignored.
  completion(const explain::rank_history& rank, std::int64_t least_ns) : ranks_(rank.ranks), least_ns_(least_ns) {
    base::key_map known;
    base::pod_vector<std::int64_t> instances;  // by communicator
    for (const explain::location_history& location : rank.locations)
      for (std::uint64_t i = location.carried; i < location.records.size(); ++i) {
        const core::sync_record& r = location.records[i];
        if (!holds_all_ranks(r) || r.has(core::sync_flag::failed) || r.comm >= rank.communicators.size()) continue;
        const explain::communicator& comm = rank.communicators[r.comm];
        if (comm.id == 0 || comm.inter || comm.size < 2) continue;
        const core::stable_key site = r.site < location.call_sites.size() ? location.call_sites[r.site] : 0;
        const std::uint32_t number = known.intern(comm.id, static_cast<std::uint32_t>(instances.size()));
        if (number == instances.size()) instances.push_back(0);
        own_.push_back({comm.id, ++instances[number], rank.clock(r.begin), rank.clock(r.begin + r.duration), site});
      }
  }

  /// Appends pending visits to the packets `to(rank)`, about `room` bytes each per round.
  template <class To>
  void announce(To&& to, std::size_t room) {
    for (std::size_t budget = room / sizeof(collective_visit) + 1; sent_ < own_.size() && budget > 0; --budget, ++sent_) {
      const collective_visit& v = own_[sent_];
      const core::stable_key owner = core::combine(v.communicator, static_cast<std::uint64_t>(v.instance));
      auto& packet = to(static_cast<std::int32_t>(owner % static_cast<std::uint64_t>(ranks_)));
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&v);
      packet.insert(packet.end(), bytes, bytes + sizeof v);
    }
  }
  void receive(const unsigned char* data, std::size_t size) {
    const std::size_t count = size / sizeof(collective_visit), before = received_.size();
    received_.resize(before + count);
    if (count != 0) std::memcpy(&received_[before], data, count * sizeof(collective_visit));
  }

  /// Adds the late exits that this rank evaluated to its uses, which stay sorted by site.
  void add_to(base::pod_vector<site_use>& uses) {
    base::small_stable_sort(received_, [](const collective_visit& a, const collective_visit& b) {
      return a.communicator != b.communicator ? a.communicator < b.communicator : a.instance < b.instance;
    });
    base::pod_vector<site_use> found;
    for (std::size_t begin = 0, end = 0; begin < received_.size(); begin = end) {
      std::int64_t last_begin = received_[begin].begin_ns, first_end = received_[begin].end_ns;
      for (end = begin; end < received_.size() && received_[end].communicator == received_[begin].communicator &&
                        received_[end].instance == received_[begin].instance;
           ++end) {
        last_begin = std::max(last_begin, received_[end].begin_ns);
        first_end = std::min(first_end, received_[end].end_ns);
      }
      const std::int64_t complete = std::max(last_begin, first_end);
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t late = received_[i].end_ns - complete;
        if (late < least_ns_) continue;
        site_use& use = of(found, received_[i].site);
        ++use.late_exits;
        use.late_exit_ns += late;
        use.longest_late_exit_ns = std::max(use.longest_late_exit_ns, late);
      }
    }
    merge_uses(uses, found);
  }

 private:
  // Visits of one instance come from few sites, so a linear pass per site suffices.
  static site_use& of(base::pod_vector<site_use>& found, core::stable_key site) {
    const auto at =
        std::lower_bound(found.begin(), found.end(), site, [](const site_use& a, core::stable_key k) { return a.site < k; });
    if (at != found.end() && at->site == site) return *at;
    site_use fresh;
    fresh.site = site;
    fresh.ranks = 0;  // counted by the calling rank
    fresh.what = site_use::kind::collective;
    return *found.insert(at, fresh);
  }

  std::int32_t ranks_;
  std::int64_t least_ns_;
  base::pod_vector<collective_visit> own_, received_;
  std::size_t sent_ = 0;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
