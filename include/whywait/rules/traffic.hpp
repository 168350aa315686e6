#ifndef WHYWAIT_RULES_TRAFFIC_HPP
#define WHYWAIT_RULES_TRAFFIC_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/epoch_postings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/fact_rows.hpp>
#include <whywait/rules/place_columns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Of site_use::batched: the most code between two sends, and the longest time of one without its bytes.
constexpr double at_once_ns = 5000;
constexpr std::int64_t longest_send_ns = 20000;

/// Totals of one call site on one rank: messages sent, uses of a barrier, late exits from a collective, waits for notifications. Trivially
/// copyable, so that ranks can send it as bytes.
struct site_use {
  core::stable_key site = 0;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t largest_bytes = 0;
  std::int64_t duration_ns = 0;
  std::int64_t own_before_ns = 0;  ///< own work between a send and the completing call before it
  std::int64_t batched = 0;  ///< sends directly after another send to the same rank, with at most `at_once_ns` of code between
  std::int64_t batched_ns = 0;  ///< of them, without those that took longer than sending does: they waited for the receiver
  std::int64_t runs = 0;  ///< sequences of such sends
  std::int64_t after_data = 0;  ///< sends that may need data which came after the last send of the same site
  std::int64_t before_collective = 0;  ///< barriers followed by a call that synchronises the same ranks
  std::int64_t after_collective = 0;  ///< barriers preceded by such a call
  std::int64_t idle = 0;  ///< barriers without communication since the previous one
  std::int64_t ranks = 1;
  std::uint32_t call = 0;  ///< core::mpi_call
  std::int64_t late_exits = 0;  ///< exits from a collective after the first rank left and all had arrived
  std::int64_t late_exit_ns = 0;
  std::int64_t longest_late_exit_ns = 0;
  std::int64_t in_vain = 0;  ///< waits for a notification that follow one after which the condition was still false
  std::int64_t in_vain_ns = 0;  ///< from the end of that one to the wait
  std::int64_t missed = 0;  ///< such waits that timed out although the condition had become true
  std::int64_t missed_ns = 0;
  std::int64_t most_missed_ns = 0;  ///< of one rank
  std::int64_t overtaken = 0;  ///< waits for a read-write lock: how often a thread that came later held it meanwhile
  std::int64_t overtaken_ns = 0;
  std::int64_t most_overtaken_ns = 0;  ///< of one rank
  enum class kind : std::uint32_t { send, barrier, collective, notified, read_write } what = kind::send;
};
static_assert(std::is_trivially_copyable<site_use>::value, "sent between ranks as bytes");

/// Whether no rank leaves this call before all have arrived.
inline bool holds_all_ranks(const core::sync_record& r) noexcept {
  const core::call_role role = core::role_of(r.call);
  return role == core::call_role::barrier ||
         (role == core::call_role::all_to_all && r.bytes > 0 && !r.has(core::sync_flag::sparse));
}

namespace detail {

// `notified`: when the last wait of the thread for a notification ended; what follows is a wait for the lock.
inline void add_notified(site_use& use, const core::sync_record& r, std::uint64_t notified, double ns_per_tick) {
  const auto ns_of = [ns_per_tick](std::uint64_t ticks) {
    return static_cast<std::int64_t>(static_cast<double>(ticks) * ns_per_tick);
  };
  use.call = static_cast<std::uint32_t>(r.call);
  use.what = site_use::kind::notified;
  ++use.calls;
  use.duration_ns += ns_of(r.duration);
  if (r.has(core::thread_flag::in_vain)) {
    ++use.in_vain;
    if (notified != 0 && r.begin > notified) use.in_vain_ns += ns_of(r.begin - notified);
  }
  if (!r.has(core::thread_flag::missed)) return;
  ++use.missed;
  use.missed_ns += ns_of(r.duration);
  use.most_missed_ns += ns_of(r.duration);
}

// `goes_on`: a further part of the wait before it.
inline void add_read_write(site_use& use, const core::sync_record& r, std::int64_t ns, bool goes_on) {
  use.call = static_cast<std::uint32_t>(r.call);
  use.what = site_use::kind::read_write;
  use.calls += goes_on ? 0 : 1;
  use.duration_ns += ns;
  if (!r.has(core::thread_flag::overtaken)) return;
  ++use.overtaken;
  use.overtaken_ns += ns;
  use.most_overtaken_ns += ns;
}

}  // namespace detail

/// The uses of all send sites and barriers of one rank, sorted by site. O(records). A barrier counts under its first
/// applicable reason only, so that the three counts add up to at most its calls.
inline base::pod_vector<site_use> uses_of(const explain::rank_history& rank) {
  base::pod_vector<site_use> sites;
  base::key_map numbers;
  base::pod_vector<std::uint32_t> known;  // numbers of the call sites of one location
  base::pod_vector<std::uint32_t> with_data_before;  // by call site: calls_with_data at its last send, 0 before the first
  const double ns_per_tick = rank.clock.ns_per_tick;
  for (const explain::location_history& location : rank.locations) {
    const auto& records = location.records;
    known.assign(location.call_sites.size() + 1, base::key_map::none);
    with_data_before.assign(location.call_sites.size() + 1, 0);
    std::uint32_t calls_with_data = 1;  // explain::may_bring_data so far, plus 1
    const auto at = [&](std::uint32_t index) -> site_use& {
      std::uint32_t& number = known[std::min<std::size_t>(index, location.call_sites.size())];
      if (number == base::key_map::none) {
        const core::stable_key site = index < location.call_sites.size() ? location.call_sites[index] : 0;
        number = numbers.intern(core::combine(site, 1), static_cast<std::uint32_t>(sites.size()));
        if (number == sites.size()) sites.push_back(site_use());
        sites[number].site = site;
      }
      return sites[number];
    };
    bool communicated = true;
    std::int64_t own_ns = 0;  // since the last call that completed something
    std::uint64_t left = 0, notified = 0;
    const core::sync_record none{};
    const core::sync_record* before = &none;  // the record before, without polls that found nothing
    const auto follows = [&](const core::sync_record& r) {
      const std::uint64_t ended = before->begin + before->duration;
      return before->has(core::sync_flag::posts_send) && before->peer == r.peer && before->comm == r.comm &&
             before->site == r.site && (r.begin < ended || static_cast<double>(r.begin - ended) * ns_per_tick <= at_once_ns);
    };
    bool in_run = false;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(location.carried, records.size()); ++i) {
      in_run = follows(records[i]);
      before = &records[i];
    }
    for (std::uint64_t i = location.carried; i < records.size(); ++i) {
      const core::sync_record& r = records[i];
      const auto ns = static_cast<std::int64_t>(static_cast<double>(r.duration) * ns_per_tick);
      if (left != 0 && r.begin > left) own_ns += static_cast<std::int64_t>(static_cast<double>(r.begin - left) * ns_per_tick);
      left = r.begin + r.duration;
      if (r.has(core::sync_flag::posts_send) && !r.has(core::sync_flag::proc_null) && !explain::is_posting_of_epoch(r)) {
        site_use& use = at(r.site);
        use.call = static_cast<std::uint32_t>(r.call);
        ++use.calls;
        use.bytes += static_cast<std::int64_t>(r.bytes);
        use.largest_bytes = std::max(use.largest_bytes, static_cast<std::int64_t>(r.bytes));
        use.duration_ns += ns;
        use.own_before_ns += own_ns;
        std::uint32_t& before_last = with_data_before[std::min<std::size_t>(r.site, location.call_sites.size())];
        use.after_data += before_last != 0 && before_last != calls_with_data ? 1 : 0;
        before_last = calls_with_data;
        const bool goes_on = follows(r);
        if (goes_on) {
          ++use.batched;
          use.batched_ns += ns <= longest_send_ns + static_cast<std::int64_t>(r.bytes) ? ns : 0;  // 1 ns for each byte
          if (!in_run) ++use.runs;
        }
        in_run = goes_on;
        communicated = true;
      } else if (core::is_of_threads(r.call) && core::action_of(r.call).op == core::thread_op::await_notify) {
        site_use& use = at(r.site);
        detail::add_notified(use, r, notified, ns_per_tick);
        notified = r.begin + r.duration;
      } else if (core::is_read_write_lock(r.call) && r.duration > 0) {
        detail::add_read_write(at(r.site), r, ns, before->site == r.site && before->begin + before->duration == r.begin);
      } else if (core::role_of(r.call) == core::call_role::barrier) {
        site_use& use = at(r.site);
        use.call = static_cast<std::uint32_t>(r.call);
        use.what = site_use::kind::barrier;
        ++use.calls;
        use.duration_ns += ns;
        std::uint64_t n = i + 1;
        while (n < records.size() && core::polled_in_vain(records[n])) ++n;
        const bool next = n < records.size() && records[n].comm == r.comm && holds_all_ranks(records[n]);
        const bool previous = before->comm == r.comm && holds_all_ranks(*before);
        // Of two consecutive barriers only the first is needless.
        const bool after_barrier = core::role_of(before->call) == core::call_role::barrier;
        if (next) ++use.before_collective;
        else if (previous && !after_barrier) ++use.after_collective;
        else if (!communicated && !after_barrier) ++use.idle;
        communicated = false;
      } else if (!core::polled_in_vain(r)) {
        const core::call_role role = core::role_of(r.call);
        communicated = communicated ||
                       (role != core::call_role::local && role != core::call_role::release && role != core::call_role::prepare);
      }
      if (explain::may_bring_data(r)) {
        own_ns = 0;
        ++calls_with_data;
      }
      if (!core::polled_in_vain(r)) before = &r;
    }
  }
  base::small_stable_sort(sites, [](const site_use& a, const site_use& b) { return a.site < b.site; });
  return sites;
}

/// Merges the uses of some ranks into those of others. Both are sorted by site; linear.
inline void merge_uses(base::pod_vector<site_use>& into, const base::pod_vector<site_use>& from) {
  const base::pod_vector<site_use> old = std::move(into);
  into.clear();
  into.reserve(old.size() + from.size());
  for (std::size_t i = 0, j = 0; i < old.size() || j < from.size();) {
    if (j == from.size() || (i < old.size() && old[i].site < from[j].site)) {
      into.push_back(old[i++]);
      continue;
    }
    into.push_back(from[j++]);
    if (i == old.size() || old[i].site != into.back().site) continue;
    site_use& sum = into.back();
    const site_use& more = old[i++];
    sum.calls += more.calls;
    sum.bytes += more.bytes;
    sum.largest_bytes = std::max(sum.largest_bytes, more.largest_bytes);
    sum.duration_ns += more.duration_ns;
    sum.own_before_ns += more.own_before_ns;
    sum.batched += more.batched;
    sum.batched_ns += more.batched_ns;
    sum.runs += more.runs;
    sum.after_data += more.after_data;
    sum.before_collective += more.before_collective;
    sum.after_collective += more.after_collective;
    sum.idle += more.idle;
    sum.ranks += more.ranks;
    sum.late_exits += more.late_exits;
    sum.late_exit_ns += more.late_exit_ns;
    sum.longest_late_exit_ns = std::max(sum.longest_late_exit_ns, more.longest_late_exit_ns);
    sum.in_vain += more.in_vain;
    sum.in_vain_ns += more.in_vain_ns;
    sum.missed += more.missed;
    sum.missed_ns += more.missed_ns;
    sum.most_missed_ns = std::max(sum.most_missed_ns, more.most_missed_ns);
    sum.overtaken += more.overtaken;
    sum.overtaken_ns += more.overtaken_ns;
    sum.most_overtaken_ns = std::max(sum.most_overtaken_ns, more.most_overtaken_ns);
    sum.what = std::min(sum.what, more.what);  // a receiving rank may lack the kind
  }
}

/// Keeps the `most` call sites with the largest times, because each remaining one must be named.
inline void keep_most_costly(base::pod_vector<site_use>& uses, std::size_t most) {
  if (uses.size() <= most) return;
  base::pod_vector<std::int64_t> times;
  for (const site_use& u : uses) times.push_back(u.duration_ns + u.late_exit_ns);
  base::small_stable_sort(times);
  const std::int64_t least = times[times.size() - 1 - most];
  std::size_t kept = 0;
  for (const site_use& u : uses)
    if (u.duration_ns + u.late_exit_ns > least) uses[kept++] = u;
  uses.resize(kept);
}

/// Adds `traffic`, `barrier_use`, `completion`, `notified` and `read_write` facts; `facts` is the fact_maker of the same store and
/// numbers call sites.
inline void add_uses(event_store& store, const base::pod_vector<site_use>& uses, const base::names& names, fact_maker& facts) {
  // What a message costs beyond its sending is known of all together only. It depends on their number if most are small.
  double messages = 0, all_bytes = 0;
  for (const site_use& u : uses)
    if (u.what == site_use::kind::send) {
      messages += static_cast<double>(u.calls);
      all_bytes += static_cast<double>(u.bytes);
    }
  const double each = messages > 0 && all_bytes < 4096 * messages ? facts.transfer_seconds() / messages : 0;
  for (const site_use& u : uses) {
    const base::place* const p = names.find(u.site);
    const std::uint32_t place = store.add_action(detail::action_at(p));
    if (u.late_exits > 0)
      row_writer(store, "completion")
          .set("site", detail::call_of(p))
          .set("call", store.action_of(place).call)
          .set("region", store.action_of(place).region)
          .set("late_exits", u.late_exits)
          .set("ranks", facts.ranks())
          .time("duration", u.late_exit_ns)
          .time("longest", u.longest_late_exit_ns)
          .set("mean", static_cast<double>(u.late_exit_ns) / 1e9 / static_cast<double>(u.late_exits))
          .actions(place);
    if (u.what == site_use::kind::barrier) {
      row_writer(store, "barrier_use")
          .set("site", facts.site_number(u.site))
          .set("calls", u.calls)
          .set("before_collective", u.before_collective)
          .set("after_collective", u.after_collective)
          .set("idle", u.idle)
          .time("duration", u.duration_ns)
          .set("place", detail::call_of(p))
          .set("region", store.action_of(place).region)
          .actions(place);
      continue;
    }
    if (u.calls == 0) continue;
    if (u.what == site_use::kind::notified) {
      row_writer(store, "notified")
          .set("site", detail::call_of(p))
          .set("call", store.action_of(place).call)
          .set("region", store.action_of(place).region)
          .set("waits", u.calls)
          .set("ranks", u.ranks)
          .set("in_vain", u.in_vain)
          .time("in_vain_duration", u.in_vain_ns)
          .set("missed", u.missed)
          .time("missed_duration", u.missed_ns)
          .time("most_missed", u.most_missed_ns)
          .time("duration", u.duration_ns)
          .actions(place);
      continue;
    }
    if (u.what == site_use::kind::read_write) {
      const core::thread_op op = core::action_of(static_cast<core::mpi_call>(u.call)).op;
      row_writer(store, "read_write")
          .set("site", detail::call_of(p))
          .set("call", store.action_of(place).call)
          .set("region", store.action_of(place).region)
          .set("side", op == core::thread_op::take ? "writer" : "reader")
          .set("waits", u.calls)
          .set("ranks", u.ranks)
          .set("overtaken", u.overtaken)
          .time("overtaken_duration", u.overtaken_ns)
          .time("most_overtaken", u.most_overtaken_ns)
          .time("duration", u.duration_ns)
          .actions(place);
      continue;
    }
    const auto calls = static_cast<double>(u.calls);
    row_writer(store, "traffic")
        .set("site", detail::call_of(p))
        .set("call", store.action_of(place).call)
        .set("region", store.action_of(place).region)
        .set("calls", u.calls)
        .set("ranks", u.ranks)
        .set("bytes", static_cast<double>(u.bytes))
        .set("mean_bytes", static_cast<double>(u.bytes) / calls)
        .set("largest", static_cast<double>(u.largest_bytes))
        .time("duration", u.duration_ns)
        .set("after_data", u.after_data)
        .set("batched", u.batched + u.runs)
        // The first message of a sequence is also part of the batch.
        .set("batched_duration",
             static_cast<double>(u.batched_ns) / 1e9 *
                 (u.batched > 0 ? static_cast<double>(u.batched + u.runs) / static_cast<double>(u.batched) : 0))
        .set("batched_transfer", each * static_cast<double>(u.batched + u.runs))
        .set("messages_per_batch", (u.batched + u.runs + u.runs / 2) / std::max<std::int64_t>(1, u.runs))
        .actions(place);
  }
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
