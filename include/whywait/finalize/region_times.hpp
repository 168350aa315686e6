#ifndef WHYWAIT_FINALIZE_REGION_TIMES_HPP
#define WHYWAIT_FINALIZE_REGION_TIMES_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/finalize/collect_location.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/totals.hpp>
#include <whywait/report/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// One region on some ranks. Sent between ranks as bytes.
struct region_sum {
  core::stable_key key = 0;
  std::int64_t visits = 0, work = 0;
  std::int64_t own_ns = 0, mpi_ns = 0;
  std::int64_t ns = 0, min_ns = 0, max_ns = 0;  ///< from begin to end, by rank
  std::int64_t useful_ns = 0, most_useful_ns = 0;  ///< part outside MPI
  std::int32_t min_rank = 0, max_rank = 0, ranks = 0, threads = 0;
  std::int32_t repeated = 0;  ///< ranks on which it was entered inside itself
  std::int32_t unused = 0;

  void add(const region_sum& o) noexcept {
    visits += o.visits;
    work += o.work;
    own_ns += o.own_ns;
    mpi_ns += o.mpi_ns;
    ns += o.ns;
    useful_ns += o.useful_ns;
    most_useful_ns = std::max(most_useful_ns, o.most_useful_ns);
    if (o.min_ns < min_ns || (o.min_ns == min_ns && o.min_rank < min_rank)) {
      min_ns = o.min_ns;
      min_rank = o.min_rank;
    }
    if (o.max_ns > max_ns || (o.max_ns == max_ns && o.max_rank < max_rank)) {
      max_ns = o.max_ns;
      max_rank = o.max_rank;
    }
    ranks += o.ranks;
    threads = std::max(threads, o.threads);
    repeated += o.repeated;
  }
};
static_assert(std::is_trivially_copyable<region_sum>::value, "sent between ranks as bytes");

/// The regions of one or several ranks: at most 4,096, those with the most time.
struct region_sums {
  static constexpr std::size_t most = 4096;
  base::pod_vector<region_sum> all;  ///< by key
  std::int64_t omitted = 0;

  /// Adds up entries of one key, and omits the shortest if there are too many.
  void join() {
    base::sort_and_join(
        all, [](const region_sum& a, const region_sum& b) { return a.key < b.key; },
        [](region_sum& to, const region_sum& from) { to.add(from); });
    if (all.size() <= most) return;
    base::small_stable_sort(all, [](const region_sum& a, const region_sum& b) { return a.ns > b.ns; });
    omitted += static_cast<std::int64_t>(all.size() - most);
    all.resize(most);
    base::small_stable_sort(all, [](const region_sum& a, const region_sum& b) { return a.key < b.key; });
  }
};

namespace detail {

/// What one process did in each region, by site number.
class own_regions {
 public:
  own_regions(core::registry& registry, const process_records& records, const base::pod_vector<core::path_step>& before_run)
      : sites_(registry.sites),
        size_(registry.sites.size()),
        clock_(records.history.clock),
        now_(records.last_ticks),
        totals_(size_),
        times_(size_) {
    sums_.use(totals_.data(), size_);
    const locked guard(registry.mutex);
    for (const core::location_base* l = registry.locations; l != nullptr; l = l->next)
      add(static_cast<const record::location&>(*l));
    sums_.add_ended(registry);
    for (const core::path_step& s : before_run)
      if (s.block < size_) totals_[s.block].ticks -= std::min(totals_[s.block].ticks, s.ticks);
  }

  region_sums of(std::int32_t rank) const {
    region_sums out;
    for (std::uint32_t site = 1; site < size_; ++site) {
      const core::site_kind kind = sites_[site].kind;
      const record::site_total& total = totals_[site];
      const times& t = times_[site];
      if ((kind != core::site_kind::region && kind != core::site_kind::waiting) || (total.visits | t.whole) == 0) continue;
      region_sum r;
      r.key = sites_[site].key;
      r.visits = static_cast<std::int64_t>(total.visits);
      r.work = static_cast<std::int64_t>(total.work);
      r.own_ns = ns(total.ticks);
      // A region inside itself: its own code, and the calls directly in it.
      const std::uint64_t mpi = t.repeated ? t.direct : t.mpi;
      r.ns = t.repeated ? ns(total.ticks + t.direct) : ns(t.whole);
      r.mpi_ns = std::min(ns(mpi), r.ns);
      r.min_ns = r.max_ns = r.ns;
      r.useful_ns = r.most_useful_ns = r.ns - r.mpi_ns;
      r.min_rank = r.max_rank = rank;
      r.ranks = 1;
      r.threads = std::max(t.threads, 1);
      r.repeated = t.repeated ? 1 : 0;
      out.all.push_back(r);
    }
    out.join();
    return out;
  }

 private:
  struct times {
    std::uint64_t whole = 0, mpi = 0, direct = 0;
    std::int32_t threads = 0;
    bool repeated = false;
  };

  std::int64_t ns(std::uint64_t ticks) const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(ticks) * clock_.ns_per_tick);
  }

  void add(const record::location& here) {
    sums_.add(here, now_);
    // A thread that ended is in the sums of the registry, but not its time with everything inside.
    const bool ended = __atomic_load_n(&here.finished, __ATOMIC_ACQUIRE) != 0;
    for (std::uint32_t site = 1; site < size_; ++site) {
      const std::uint64_t whole = here.path.whole_ticks(site, ended ? here.end_ticks : now_);
      if (whole == 0) continue;
      times_[site].whole += whole;
      ++times_[site].threads;
      times_[site].repeated = times_[site].repeated || here.path.is_repeated(site);
    }
    const record::thread_facts* const calls = __atomic_load_n(&here.calls, __ATOMIC_ACQUIRE);
    if (calls == nullptr) return;
    sums_.add(calls->folded);
    sums_.add(calls->earlier);
    for (std::uint32_t i = 0; i < calls->sites.size(); ++i) add(calls->sites, calls->sites[i]);
  }

  void add(const record::call_site_table& sites, const record::call_site& call) {
    if (call.call == core::mpi_call::Finalize) return;  // the run ends where it begins
    for (std::uint32_t level = 0; level < call.depth; ++level) {
      const std::uint32_t region = sites.region(call, level);
      bool again = region >= size_;
      for (std::uint32_t outer = 0; outer != level && !again; ++outer) again = sites.region(call, outer) == region;
      if (!again) times_[region].mpi += call.ticks;
      if (level + 1 == call.depth && region < size_) times_[region].direct += call.ticks;
    }
  }

  const core::site_table& sites_;
  std::uint32_t size_;
  core::shared_clock clock_;
  std::uint64_t now_;
  base::pod_vector<record::site_total> totals_;
  base::vector<times> times_;
  record::totals sums_;
};

}  // namespace detail

/// What ran until MPI_Init returned, from the records of the first epoch. The run begins there: what regions did before counts
/// as visits only.
inline base::pod_vector<core::path_step> steps_before_run(const core::rank_history& history) {
  base::pod_vector<core::path_step> out;
  for (const core::location_history& main : history.locations) {
    if (!main.whole || main.records.size() == 0) continue;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(main.records[0].steps, main.steps.size()); ++i)
      out.push_back(main.steps[i]);
  }
  return out;
}

/// The regions of this process up to now. `before_run`: of steps_before_run. O(call sites + places times threads).
inline region_sums regions_of_process(core::registry& registry, const process_records& records,
                                      const base::pod_vector<core::path_step>& before_run) {
  return detail::own_regions(registry, records, before_run).of(records.history.rank);
}

/// The regions with their names, most time first.
inline base::vector<reports::region_entry> named(const region_sums& sums, const base::names& names) {
  base::vector<reports::region_entry> out;
  for (const region_sum& r : sums.all) {
    const base::place* const where = names.find(r.key);
    if (where == nullptr) continue;
    reports::region_entry e;
    e.where = *where;
    e.visits = r.visits;
    e.ranks = r.ranks;
    e.threads = r.threads;
    e.seconds = base::seconds_of(r.ns);
    e.min_seconds = base::seconds_of(r.min_ns);
    e.max_seconds = base::seconds_of(r.max_ns);
    e.min_rank = r.min_rank;
    e.max_rank = r.max_rank;
    e.own_seconds = base::seconds_of(std::min(r.own_ns, r.ns));
    e.mpi_seconds = base::seconds_of(r.mpi_ns);
    e.work = r.work;
    e.recursive = r.repeated != 0;
    if (r.threads == 1 && r.repeated == 0 && where->kind != "waiting" && r.max_ns > 0) {
      const auto useful = static_cast<double>(r.useful_ns), most = static_cast<double>(r.most_useful_ns);
      const auto longest = static_cast<double>(r.max_ns), ranks = static_cast<double>(r.ranks);
      e.efficiency = {useful / (ranks * longest), most > 0 ? useful / (ranks * most) : 0, most / longest};
    }
    out.push_back(std::move(e));
  }
  base::small_stable_sort(out,
                          [](const reports::region_entry& a, const reports::region_entry& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
