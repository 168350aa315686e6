#ifndef WHYWAIT_FINALIZE_TIME_NOT_UNDERSTOOD_HPP
#define WHYWAIT_FINALIZE_TIME_NOT_UNDERSTOOD_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/file_time.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/plausible_time.hpp>
#include <whywait/explain/wait_list.hpp>
#include <whywait/finalize/mpi_time_sums.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/finalize/processor_time.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/not_understood.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// MPI time of this rank that is neither an explained wait nor plausible transfer: all time in calls without a model, in
/// completions of requests that no wrapper created, and what other calls took beyond their explained waits and a bound that is
/// measured in the run (explain/plausible_time.hpp). What calls on files and calls with processes of another world took beyond
/// that is named apart. Kept from epoch to epoch.
class time_not_understood {
 public:
  /// What one call site contributes. `ns`: certainly; `beyond_ns`: beyond the bound; of `seen` calls `beyond` were longer.
  struct site_sum {
    core::stable_key key;
    std::int64_t ns, count;
    std::int64_t beyond_ns, beyond, seen;
  };

  /// The observer of the waits of one epoch. `next`: another one, or null; borrowed, like `history`.
  explain::observer* begin(const core::rank_history& history, explain::observer* next) {
    waits_.reset(new both(history, next));
    return waits_.get();
  }

  /// Adds the explained epoch. `ranks_here`: on this machine. Collective.
  void fold(const core::rank_history& history, std::int64_t ranks_here, const finalize::team& all) {
    ranks_here_ = ranks_here;
    explain::plausible_time now;
    const completed done(history);
    each(history, done, [&](const core::sync_record& r, std::uint64_t bytes, std::int64_t ns, reason why, std::size_t) {
      if (why != reason::file) now.add(r.call, bytes, ns);
    });
    auto& counts = now.counts();
    all.all_reduce(counts.data(), static_cast<int>(counts.size()), MPI_UINT32_T, MPI_SUM);
    for (std::size_t i = 0; i != counts.size(); ++i) plausible_.counts()[i] += counts[i];
    const std::int64_t slice_ns = time_slice_ns(ranks_here_);
    std::int64_t steps = 1;
    for (std::int32_t n = 1; n < history.ranks; n *= 2) ++steps;
    base::pod_vector<site_sum> sums;  // by place: the call sites of each location, and its calls without one
    for (const core::location_history& l : history.locations) {
      for (const core::stable_key key : l.call_sites) sums.push_back({key, 0, 0, 0, 0, 0});
      sums.push_back({0, 0, 0, 0, 0, 0});
    }
    struct bound_of {
      core::mpi_call call = core::mpi_call::count_;
      std::uint64_t bytes = 0;
      std::int64_t ns = 0;
    } bounds[8];  // of the last calls: most are like one of these
    each(history, done, [&](const core::sync_record& r, std::uint64_t bytes, std::int64_t ns, reason why, std::size_t place) {
      site_sum& sum = sums[place];
      if (why == reason::file) return files_.add(sum.key, ns);
      if (core::of_other_worlds(r.call)) return other_worlds_.add(sum.key, ns);
      if (why == reason::unknown) {
        if (core::role_of(r.call) == core::call_role::test) polled_ns_ += ns;
        sum.ns += ns;
        ++sum.count;
        return;
      }
      bound_of& bound = bounds[(static_cast<std::size_t>(r.call) + bytes) % 8];
      if (r.call != bound.call || bytes != bound.bytes)
        bound = {r.call, bytes, plausible_.bound_ns(r.call, bytes, core::is_collective(r.call) ? steps : 1, slice_ns)};
      const std::int64_t beyond = ns - bound.ns;
      if (why == reason::other_world) return other_worlds_.add(sum.key, beyond);
      sum.beyond_ns += std::max<std::int64_t>(beyond, 0);
      sum.beyond += beyond > 0 ? 1 : 0;
      ++sum.seen;
    });
    between_polls(history, [&](std::size_t place, std::int64_t ns) {
      between_polls_ns_ += ns;
      sums[place].ns += ns;
      ++sums[place].count;
    });
    for (const site_sum& s : sums)
      if (s.count != 0 || s.seen != 0) found_.push_back(s);
    waiting_ns_ += waits_->list.counted_ns();
    add_up(found_);
    files_.fold();
    other_worlds_.fold();
    waits_.reset();
  }

  /// All ranks together, complete on rank 0; names are set by `name`. `own`: of the last epoch, for the totals of call sites.
  /// `use`: what the scheduler did to this rank. Collective.
  reports::not_understood gather(const process_records& own, const rules::processor_use& use, const finalize::team& all) {
    // A site of which few calls take too long may have been interrupted: the scheduler gets the benefit of the doubt.
    std::int64_t mine = 0, sporadic_ns = 0;
    for (const site_sum& s : found_) sporadic_ns += 2 * s.beyond < s.seen ? s.beyond_ns : 0;
    const std::int64_t taken = std::min(sporadic_ns, use.delay_ns - use.own_delay_ns);
    const double kept = sporadic_ns > 0 ? static_cast<double>(sporadic_ns - taken) / static_cast<double>(sporadic_ns) : 0;
    sums_ = {};
    for (site_sum s : found_) {
      s.ns += 2 * s.beyond < s.seen ? static_cast<std::int64_t>(kept * static_cast<double>(s.beyond_ns)) : s.beyond_ns;
      s.count += s.beyond;
      mine += s.ns;
      if (s.ns != 0) sums_.push_back(s);
    }
    for (std::size_t l = 0; l != own.threads.size(); ++l) {
      const record::call_site_table* const sites = own.threads[l].sites;
      const auto& keys = own.history.locations[l].call_sites;
      for (std::uint32_t i = 1; sites != nullptr && i < sites->size() && i < keys.size(); ++i) {
        const record::call_site& site = (*sites)[i];
        const core::call_role role = core::role_of(site.call);
        const bool unknown = role == core::call_role::unexplained || role == core::call_role::initialise;
        if (!unknown || site.ticks == 0) continue;  // an MPI_Init that begins the recording takes none of its time
        const auto ns = static_cast<std::int64_t>(static_cast<double>(site.ticks) * own.history.clock.ns_per_tick);
        sums_.push_back({keys[i], ns, static_cast<std::int64_t>(site.count), 0, 0, 0});
        mine += ns;
      }
    }
    add_up(sums_);
    reports::not_understood result;
    double seconds[7] = {static_cast<double>(mine) * 1e-9,
                         static_cast<double>(taken) * 1e-9,
                         static_cast<double>(polled_ns_) * 1e-9,
                         static_cast<double>(use.held_up_ns()) * 1e-9,
                         static_cast<double>(use.own_delay_ns) * 1e-9,
                         static_cast<double>(between_polls_ns_) * 1e-9,
                         static_cast<double>(processors_of_machine()) / static_cast<double>(ranks_here_)};
    struct of_rank {
      double seconds;
      std::int64_t ranks, processors;  // of its machine
    };
    const of_rank here{seconds[0], ranks_here_, processors_of_machine()};
    reports::processor_sharing& sharing = result.sharing;
    const auto take = [&](const of_rank& r) {
      result.ranks.push_back({static_cast<std::int32_t>(result.ranks.size()), 0, r.seconds});
      if (sharing.processors != 0 && r.ranks * sharing.processors <= sharing.ranks * r.processors) return;
      sharing.ranks = r.ranks;
      sharing.processors = r.processors;
    };
    take(here);
    all.gather(all.rank() != 0 ? &here : nullptr, all.rank() != 0 ? sizeof here : 0,
               [&](const unsigned char* data, std::size_t) {
                 of_rank theirs;
                 std::memcpy(&theirs, data, sizeof theirs);
                 take(theirs);
               });
    all.all_reduce(seconds, 7, MPI_DOUBLE, MPI_SUM);
    result.seconds = seconds[0];
    result.scheduler_seconds = seconds[1];
    result.polling_seconds = seconds[2];
    sharing.seconds = seconds[3];
    sharing.code_seconds = seconds[4];
    result.between_polls_seconds = seconds[5];
    sharing.all_processors = seconds[6];
    all.reduce_list(sums_, [this] { add_up(sums_); });
    base::small_stable_sort(sums_, [](const site_sum& a, const site_sum& b) { return a.ns > b.ns; });
    sums_.resize(std::min(sums_.size(), most_listed));
    return result;
  }

  /// Input and output.
  mpi_time_sums& files() noexcept { return files_; }
  /// Time in which ranks waited for processes outside of their MPI_COMM_WORLD.
  mpi_time_sums& other_worlds() noexcept { return other_worlds_; }
  /// What this rank waited so far, without pauses by MPI_Pcontrol(0): its part of run.waiting_seconds.
  std::int64_t waiting_ns() const noexcept { return waiting_ns_; }

  /// After `gather`, on rank 0: the call sites with the most time.
  const base::pod_vector<site_sum>& sites() const noexcept { return sums_; }
  void name(reports::not_understood& result, const base::names& names) const {
    for (const site_sum& s : sums_)
      if (const base::place* const where = names.find(s.key))
        result.calls.push_back({*where, s.count, static_cast<double>(s.ns) * 1e-9, 0});
  }

 private:
  static constexpr std::size_t most_listed = 16;

  /// What a call may have spent its time with.
  enum class reason : std::uint8_t {
    transfer,  ///< messages of this world
    unknown,  ///< requests that no wrapper created
    file,  ///< input and output
    other_world  ///< messages of another world
  };

  // Passes waits on to another observer.
  class both final : public explain::observer {
   public:
    both(const core::rank_history& history, explain::observer* next) : list(history), next_(next) {}
    void wait(const explain::wait_instance& w) override {
      list.wait(w);
      if (next_ != nullptr) next_->wait(w);
    }
    void path(const explain::path_instance& p) override {
      if (next_ != nullptr) next_->path(p);
    }
    explain::wait_list list;

   private:
    explain::observer* next_;
  };

  // Whether the call returned only when requests were complete, or was only about requests that no wrapper created.
  static bool completes(const core::sync_record& r) noexcept {
    const core::call_role role = core::role_of(r);
    if (core::polled_in_vain(r)) return r.has(core::sync_flag::of_others) || core::polls_window(r);
    return role == core::call_role::complete_all || role == core::call_role::complete_any;
  }
  // The place of a call site among those of all locations, after `before` places of earlier locations.
  static std::size_t place_of(const core::location_history& here, const core::sync_record& r, std::size_t before) noexcept {
    return before + std::min<std::size_t>(r.site, here.call_sites.size());
  }
  /// Calls use(place of the call site, ns) for unmarked code between two polls of one call site of which the first found nothing.
  /// It may be work, or a pause of a loop that waits.
  template <class Use>
  static void between_polls(const core::rank_history& history, Use&& use) {
    std::size_t place = 0;
    for (const core::location_history& here : history.locations) {
      for (std::uint64_t i = here.carried + 1; i < here.records.size(); ++i) {
        const core::sync_record &before = here.records[i - 1], &r = here.records[i];
        if (!core::polls_on(before, r) || before.has(core::sync_flag::of_others)) continue;
        std::uint64_t ticks = r.begin - (before.begin + before.duration);
        bool marked = ticks > r.begin;
        for (std::uint64_t s = before.steps; s < std::min<std::uint64_t>(r.steps, here.steps.size()) && !marked; ++s) {
          const core::path_step& step = here.steps[s];
          if (step.block == 0 || core::counted_step::is(step)) continue;
          marked = step.ticks == 0 || step.ticks >= ticks;  // blocks without a clock are work of an unknown time
          ticks -= std::min(ticks, step.ticks);
        }
        const auto ns = static_cast<std::int64_t>(static_cast<double>(ticks) * history.clock.ns_per_tick);
        if (!marked && ns > 0) use(place_of(here, r, place), ns);
      }
      place += here.call_sites.size() + 1;
    }
  }

  static void add_up(base::pod_vector<site_sum>& all) {
    base::sort_and_join(
        all, [](const site_sum& a, const site_sum& b) { return a.key < b.key; },
        [](site_sum& to, const site_sum& s) {
          to.ns += s.ns;
          to.count += s.count;
          to.beyond_ns += s.beyond_ns;
          to.beyond += s.beyond;
          to.seen += s.seen;
        });
  }

  /// Whether a call needs a process of another world: the partner of a message is one, or a member of a collective.
  static bool leaves_world(const core::rank_history& history, const core::sync_record& r) noexcept {
    if (r.comm >= history.communicators.size() || !history.communicators[r.comm].outside) return false;
    const core::communicator& comm = history.communicators[r.comm];
    return comm.inter || core::is_collective(r.call) || explain::world_rank(comm, r.peer) < 0;
  }

  /// What the calls completed that others began, by location and record.
  struct completed {
    static constexpr std::uint64_t none = ~std::uint64_t(0);

    explicit completed(const core::rank_history& history)
        : of_files(explain::calls_on_files(history)), bytes(history.locations.size()), outside(history.locations.size()) {
      for (const core::communicator& c : history.communicators) worlds = worlds || c.outside;
      for (std::size_t l = 0; l != bytes.size(); ++l) {
        const auto records = static_cast<std::size_t>(history.locations[l].records.size());
        if (worlds) outside[l].assign(records, false);
        bytes[l].assign(records, none);
      }
      for (const core::location_history& from : history.locations)
        for (std::uint64_t i = 0; i != from.records.size(); ++i) {
          const core::sync_record& r = from.records[i];
          const bool posts = r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive) || core::initiates(r.call) ||
                             core::role_of(r.call) == core::call_role::transfer || core::is_of_files(r.call);
          if (!posts || !r.has(core::sync_flag::complete)) continue;
          if (r.completed_by >= bytes.size() || r.completion >= bytes[r.completed_by].size()) continue;
          std::uint64_t& sum = bytes[r.completed_by][r.completion];
          sum = (sum == none ? 0 : sum) + r.bytes;
          if (worlds && leaves_world(history, r)) outside[r.completed_by][r.completion] = true;
        }
    }

    base::vector<base::vector<bool>> of_files;
    base::vector<base::pod_vector<std::uint64_t>> bytes;
    base::vector<base::pod_vector<bool>> outside;  ///< messages of another world
    bool worlds = false;
  };

  /// Calls use(record, bytes, ns beyond its explained wait, reason, place of its call site) for each call that can block and
  /// has a role.
  template <class Use>
  void each(const core::rank_history& history, const completed& done, Use&& use) const {
    constexpr std::uint64_t none = completed::none;
    const auto& of_files = done.of_files;
    const auto& bytes = done.bytes;
    const auto& outside = done.outside;
    const bool worlds = done.worlds;
    std::size_t place = 0;
    for (std::size_t l = 0; l != bytes.size(); ++l) {
      const core::location_history& here = history.locations[l];
      for (std::uint64_t i = here.carried; i < here.records.size(); ++i) {
        const core::sync_record& r = here.records[i];
        const core::call_role role = core::role_of(r.call);
        if (r.duration == 0 || role == core::call_role::local || role == core::call_role::initialise ||
            role == core::call_role::unexplained || r.call == core::mpi_call::thread_begin)
          continue;  // before its begin there was no thread
        const auto at = static_cast<std::size_t>(i);
        const reason why = !of_files.empty() && of_files[l][at]                     ? reason::file
                           : completes(r) && bytes[l][at] == none                   ? reason::unknown
                           : worlds && (outside[l][at] || leaves_world(history, r)) ? reason::other_world
                                                                                    : reason::transfer;
        const std::uint64_t size = std::max(r.bytes, bytes[l][at] == none ? 0 : bytes[l][at]);
        const std::uint64_t late = core::usual_sleep(r);  // a thread that sleeps notices late what it waits for
        const auto ns = static_cast<std::int64_t>(static_cast<double>(r.duration - late) * history.clock.ns_per_tick);
        use(r, size, std::max<std::int64_t>(0, ns - waits_->list.of(l, at)), why, place_of(here, r, place));
      }
      place += here.call_sites.size() + 1;
    }
  }

  explain::plausible_time plausible_;
  std::unique_ptr<both> waits_;
  std::int64_t ranks_here_ = 1;  ///< on this machine
  std::int64_t between_polls_ns_ = 0;
  std::int64_t waiting_ns_ = 0;
  std::int64_t polled_ns_ = 0;  ///< polling of requests that no wrapper created
  base::pod_vector<site_sum> found_, sums_;
  mpi_time_sums files_, other_worlds_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
