#ifndef WHYWAIT_RULES_COLLECTIVE_COMPLETION_HPP
#define WHYWAIT_RULES_COLLECTIVE_COMPLETION_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/rules/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
  std::int64_t members;  ///< of the communicator; negative: a rank may leave this call before all have arrived
};
static_assert(std::is_trivially_copyable<collective_visit>::value, "sent between ranks as bytes");

/// Completion as Scalasca defines it for barriers and N x N operations: time in the operation after all ranks have
/// arrived and the first has left. One rank evaluates each instance, once it has all its visits. Near-linear, in the memory of
/// the visits to incomplete instances. Call `announce` until nothing is left, `receive` for each packet, then `add_to`.
class completion {
 public:
  /// Completions shorter than `least_ns` are within the clock error and ignored. `rank` is borrowed.
  completion(const explain::rank_history& rank, std::int64_t least_ns) : rank_(&rank), least_ns_(least_ns) {}

  /// Appends pending visits to the packets `to(rank)`, about `room` bytes each per round.
  template <class To>
  void announce(To&& to, std::size_t room) {
    if (rank_->locations.size() > 1 && users_.empty()) find_users();
    const auto ranks = static_cast<std::uint64_t>(rank_->ranks);
    std::size_t budget = room / sizeof(collective_visit) + 1;
    for (; location_ != rank_->locations.size(); ++location_, next_ = 0) {
      const explain::location_history& here = rank_->locations[location_];
      for (next_ = std::max(next_, here.carried); next_ < here.records.size(); ++next_) {
        const core::sync_record& r = here.records[next_];
        if (!may_hold(r) || r.comm >= rank_->communicators.size()) continue;
        const explain::communicator& comm = rank_->communicators[r.comm];
        if (comm.id == 0 || comm.inter || comm.size < 2) continue;
        if (!users_.empty() && users_[user_of_.find(comm.id)] == several) continue;
        if (budget-- == 0) return;
        const std::uint32_t number = numbers_.intern(comm.id, static_cast<std::uint32_t>(passed_.size()));
        if (number == passed_.size()) passed_.push_back(0);
        const core::stable_key site = r.site < here.call_sites.size() ? here.call_sites[r.site] : 0;
        const collective_visit v{comm.id,
                                 ++passed_[number],
                                 rank_->clock(r.begin),
                                 rank_->clock(r.begin + r.duration),
                                 site,
                                 holds_all_ranks(r) && !r.has(core::sync_flag::failed) ? comm.size : -comm.size};
        const core::stable_key owner = core::combine(v.communicator, static_cast<std::uint64_t>(v.instance));
        auto& packet = to(static_cast<std::int32_t>(owner % ranks));
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&v);
        packet.insert(packet.end(), bytes, bytes + sizeof v);
      }
    }
  }
  void receive(const unsigned char* data, std::size_t size) {
    for (std::size_t at = 0; size - at >= sizeof(collective_visit); at += sizeof(collective_visit)) {
      collective_visit v;
      std::memcpy(&v, data + at, sizeof v);
      const core::stable_key key = core::combine(v.communicator, static_cast<std::uint64_t>(v.instance));
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(visits_.size()));
        visits_.emplace_back();
      }
      const std::uint32_t place = free_.back();
      free_.pop_back();
      std::uint32_t first = open_.intern(key, place);
      visits_[place] = {v, first == place ? place : visits_[first].next, 1};
      if (first != place) {
        visits_[first].next = place;
        ++visits_[first].count;
      }
      if (visits_[first].count < std::abs(v.members)) continue;
      open_.erase(key);
      evaluate(first);
    }
  }

  /// Adds the late exits that this rank evaluated to its uses, which stay sorted by site. Operations of which the visit of a member is
  /// missing have none.
  void add_to(base::pod_vector<site_use>& uses) { merge_uses(uses, found_); }

 private:
  // The visits of an instance form a ring; `count` of its first one is their number, that of free ones 0.
  struct visit {
    collective_visit what;
    std::uint32_t next;
    std::int64_t count;
  };

  // Visits are numbered in the order of one location: where several threads of a rank use a communicator, its operations are not evaluated.
  void find_users() {
    for (std::uint32_t l = 0; l != rank_->locations.size(); ++l) {
      const auto& records = rank_->locations[l].records;
      for (std::size_t i = 0; i != records.size(); ++i) {
        const core::sync_record& r = records[i];
        if (!may_hold(r) || r.comm >= rank_->communicators.size() || rank_->communicators[r.comm].id == 0) continue;
        const std::uint32_t number =
            user_of_.intern(rank_->communicators[r.comm].id, static_cast<std::uint32_t>(users_.size()));
        if (number == users_.size()) users_.push_back(l);
        else if (users_[number] != l) users_[number] = several;
      }
    }
  }

  // Whether an operation may hold all ranks. All of them are numbered: of those with counts of each rank one may have no data to get.
  static bool may_hold(const core::sync_record& r) noexcept {
    const core::call_role role = core::role_of(r.call);
    return role == core::call_role::barrier || role == core::call_role::all_to_all;
  }

  void evaluate(std::uint32_t first) {
    std::int64_t last_begin = visits_[first].what.begin_ns, first_end = visits_[first].what.end_ns;
    bool holds = visits_[first].what.members > 0;
    for (std::uint32_t i = visits_[first].next; i != first; i = visits_[i].next) {
      holds = holds && visits_[i].what.members > 0;
      last_begin = std::max(last_begin, visits_[i].what.begin_ns);
      first_end = std::min(first_end, visits_[i].what.end_ns);
    }
    const std::int64_t complete = std::max(last_begin, first_end);
    for (std::uint32_t i = first, left = 1; left != 0; left = i != first ? 1 : 0) {
      visit& v = visits_[i];
      const std::int64_t late = v.what.end_ns - complete;
      if (holds && late >= least_ns_) {
        site_use& use = of(found_, v.what.site);
        ++use.late_exits;
        use.late_exit_ns += late;
        use.longest_late_exit_ns = std::max(use.longest_late_exit_ns, late);
      }
      v.count = 0;
      free_.push_back(i);
      i = v.next;
    }
  }

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

  static constexpr std::uint32_t several = UINT32_MAX;

  const explain::rank_history* rank_;
  base::key_map user_of_;  // by communicator: index in `users_`
  base::pod_vector<std::uint32_t> users_;  // the location that calls its operations, or `several`; empty: there is only one
  std::int64_t least_ns_;
  std::size_t location_ = 0;  // the next visit to announce
  std::uint64_t next_ = 0;
  base::key_map numbers_;  // of communicators
  base::pod_vector<std::int64_t> passed_;  // by communicator: operations announced
  base::key_map open_;  // the first visit of an instance whose visits have not all arrived
  base::pod_vector<visit> visits_;
  base::pod_vector<std::uint32_t> free_;
  base::pod_vector<site_use> found_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
