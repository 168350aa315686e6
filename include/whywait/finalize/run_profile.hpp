#ifndef WHYWAIT_FINALIZE_RUN_PROFILE_HPP
#define WHYWAIT_FINALIZE_RUN_PROFILE_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/explain/active_time.hpp>
#include <whywait/explain/message_traffic.hpp>
#include <whywait/explain/walk.hpp>
#include <whywait/finalize/node.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/finalize/region_times.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/profile.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Regions, messages and totals of the ranks over the whole run. Messages are added up epoch by epoch; everything else is read
/// once, from sums that the recorder keeps.
class run_profile {
 public:
  /// Adds the messages of an epoch. `here`: the machine of this rank. Collective in the first epoch.
  void fold(const core::rank_history& history, const machine& here, const finalize::team& all) {
    if (!history.continued && (here.ranks < all.size() || here.number < 0)) {
      nodes_.assign(static_cast<std::size_t>(all.size()), -1);
      nodes_[static_cast<std::size_t>(all.rank())] = here.number;
      all.all_reduce(nodes_.data(), all.size(), MPI_INT32_T, MPI_MAX);
    }
    if (!history.continued) before_run_ = steps_before_run(history);
    traffic_.fold(history, nodes_);
    add_time(history);
  }

  /// Adds up all ranks, complete on rank 0. Of this rank: `waiting_ns`, the pauses of all epochs, which are no part of the
  /// run, and whether some time is in no epoch (`unseen`). Collective.
  void gather(core::registry& registry, const process_records& own, const machine& here, std::int64_t waiting_ns,
              std::int64_t paused_ns, bool unseen, const finalize::team& all) {
    regions_ = regions_of_process(registry, own, before_run_);
    all.reduce(
        [this] {
          base::packet out;
          base::put(out, regions_.omitted);
          base::put_all(out, regions_.all);
          return out;
        },
        [this](const unsigned char* data, std::size_t size) {
          base::packet_reader in(data, size);
          regions_.omitted += in.get<std::int64_t>();
          base::pod_vector<region_sum> more;
          base::get_all(in, more);
          regions_.all.append(more.data(), more.size());
          regions_.join();
        });
    messages_ = traffic_.sums();
    all.reduce_list(messages_, [this] { explain::join_traffic(messages_); });
    messages_ = explain::largest_traffic(std::move(messages_), most_messages, omitted_messages_);

    rank_sum mine;
    mine.rank = all.rank();
    mine.node = here.number;
    mine.ns = ns_;
    if (own.closed || unseen)  // the totals extend beyond the records, as those of the run do
      mine.ns = std::max(mine.ns, own.history.clock(own.last_ticks) - own.history.clock(own.begin_ticks) - paused_ns);
    // the call that ends an epoch counts as a whole, its rank only until all have reached it
    mine.mpi_ns = std::min(mpi_ns(own) + last_call_ns_, mine.ns);
    mine.waiting_ns = waiting_ns;
    ranks_.assign(1, mine);
    all.reduce_list(ranks_, [] {});
    base::small_stable_sort(ranks_, [](const rank_sum& a, const rank_sum& b) { return a.rank < b.rank; });
    gather_hosts(here, all);
  }

  /// After `gather`, on rank 0: what has to be named.
  void add_keys(base::vector<core::stable_key>& keys) const {
    for (const region_sum& r : regions_.all) keys.push_back(r.key);
    for (const explain::traffic_sum& t : messages_)
      if (t.size == explain::traffic_sum::all_sizes) keys.push_back(t.site);
  }

  /// After `gather`, on rank 0.
  reports::profile named(const base::names& names) const {
    reports::profile out;
    out.regions = finalize::named(regions_, names);
    out.omitted_regions = regions_.omitted + static_cast<std::int64_t>(regions_.all.size() - out.regions.size());
    for (std::size_t i = 0; i < messages_.size();) {
      const std::size_t first = i;
      while (i < messages_.size() && messages_[i].same_messages(messages_[first])) ++i;
      if (const base::place* const where = names.find(messages_[first].site)) out.messages.push_back(entry(first, i, *where));
    }
    base::small_stable_sort(out.messages, [](const reports::traffic_entry& a, const reports::traffic_entry& b) {
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.bytes > b.bytes;
    });
    out.omitted_messages = omitted_messages_;
    for (const host& h : hosts_) out.hosts.emplace_back(h.name);
    for (const rank_sum& r : ranks_) {
      std::int32_t node = 0;
      while (static_cast<std::size_t>(node) + 1 < hosts_.size() && hosts_[static_cast<std::size_t>(node)].node != r.node)
        ++node;
      out.ranks.push_back({node, base::seconds_of(r.ns), base::seconds_of(r.mpi_ns), base::seconds_of(r.waiting_ns)});
    }
    return out;
  }

 private:
  static constexpr std::size_t most_messages = 256;

  struct rank_sum {
    std::int32_t rank = 0, node = 0;
    std::int64_t ns = 0, mpi_ns = 0, waiting_ns = 0;
  };
  struct host {
    std::int32_t node;
    char name[60];
  };
  static_assert(std::is_trivially_copyable<rank_sum>::value && std::is_trivially_copyable<host>::value, "sent as bytes");

  // The time of this rank as the explanation counts it, so that the longest is that of the run: from the leave of MPI_Init until
  // all ranks have reached MPI_Finalize, or the explanation that ends the epoch.
  void add_time(const core::rank_history& history) {
    last_call_ns_ = 0;
    for (const core::location_history& l : history.locations) {
      if (!l.whole) continue;
      explain::location_walk walk(history);
      const bool any = l.records.size() > 0;
      if (any) walk.step(l.records[l.records.size() - 1]);
      const explain::active_time active = explain::active_time_of(history, l, walk.leave_ns());
      ns_ = std::max(ns_, history.before_ns + active.ns());
      if (any && l.records[l.records.size() - 1].call == core::mpi_call::Finalize)
        last_call_ns_ = active.end_ns - walk.begin_ns();
    }
  }

  // Time in MPI of the thread that called MPI_Init, without MPI_Finalize: only `last_call_ns_` of it is part of the run.
  static std::int64_t mpi_ns(const process_records& own) {
    double ticks = 0;
    for (std::size_t l = 0; l != own.threads.size(); ++l) {
      const record::call_site_table* const sites = own.threads[l].sites;
      if (sites == nullptr || !own.history.locations[l].whole) continue;
      for (std::uint32_t i = 0; i < sites->size(); ++i)
        if ((*sites)[i].call != core::mpi_call::Finalize) ticks += static_cast<double>((*sites)[i].ticks);
    }
    return static_cast<std::int64_t>(ticks * own.history.clock.ns_per_tick);
  }

  // The name of each machine, from its first rank.
  void gather_hosts(const machine& here, const finalize::team& all) {
    hosts_.clear();
    if (here.number == all.rank() || (here.number <= 0 && all.rank() == 0)) {
      host mine{here.number, {}};
      if (::gethostname(mine.name, sizeof mine.name - 1) != 0) std::strcpy(mine.name, "unknown");
      hosts_.push_back(mine);
    }
    all.reduce_list(hosts_, [] {});
    base::small_stable_sort(hosts_, [](const host& a, const host& b) { return a.node < b.node; });
  }

  reports::traffic_entry entry(std::size_t first, std::size_t end, const base::place& where) const {
    static constexpr const char* kinds[] = {"send", "receive", "collective", "transfer"};
    static constexpr const char* peers[] = {"self", "node", "network", "unknown"};
    const explain::traffic_sum& all = messages_[first];
    reports::traffic_entry out;
    out.where = where;
    out.operation = kinds[static_cast<std::size_t>(all.kind)];
    out.peers = peers[static_cast<std::size_t>(all.peers)];
    out.ranks = all.ranks;
    out.count = all.count;
    out.bytes = all.bytes;
    out.least_bytes = all.least_bytes;
    out.most_bytes = all.most_bytes;
    out.seconds = base::seconds_of(all.ns);
    for (std::size_t i = end; i-- > first + 1;) {
      const explain::traffic_sum& s = messages_[i];
      out.sizes.push_back({s.size == 0 ? 0 : std::int64_t(1) << (s.size - 1), s.count, s.bytes});
    }
    return out;
  }

  base::pod_vector<core::path_step> before_run_;
  std::int64_t ns_ = 0, last_call_ns_ = 0;  // of this rank
  explain::message_traffic traffic_;
  base::pod_vector<std::int32_t> nodes_;  // of each rank; empty: one machine
  region_sums regions_;
  base::pod_vector<explain::traffic_sum> messages_;
  std::int64_t omitted_messages_ = 0;
  base::pod_vector<rank_sum> ranks_;
  base::pod_vector<host> hosts_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
