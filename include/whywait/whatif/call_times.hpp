#ifndef WHYWAIT_WHATIF_CALL_TIMES_HPP
#define WHYWAIT_WHATIF_CALL_TIMES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/plausible_time.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace whatif {
namespace detail {

/// The middle of a vector that is not empty; sorts it.
[[gnu::noinline]] inline double median(base::pod_vector<double>& v) {
  base::small_stable_sort(v);
  return v[v.size() / 2];
}

/// Whether the ranks of a communicator meet in the call, or in those that complete it.
inline bool is_meeting(const traced_call& c) {
  return c.communicator != 0 && c.members > 1 && core::is_ordered_collective(c.call) && (c.flags & core::sync_flag::met) == 0;
}

/// The time at which the data of a message began to move.
inline std::int64_t departure(const base::vector<traced_line>& lines, const models::message_edge& m) {
  const auto enter_ns = [&lines](const models::place& p) { return lines[p.line].calls[p.index].enter_ns; };
  const std::int64_t sent = enter_ns(m.from);
  return m.rendezvous ? std::max(sent, enter_ns(m.posted)) : sent;
}

/// Finds what the calls of a log took beside their waits. All edges of the log must be known.
class call_times {
 public:
  call_times(const base::vector<traced_line>& lines, models::run_log& log) : t_(lines), log_(log) {}

  void operator()() {
    attribute_calls();
    find_unexplained();
  }

 private:
  const traced_call& call(const models::place& p) const { return t_[p.line].calls[p.index]; }

  // Computes the time that each call took after all its inputs were available.
  void attribute_calls() {
    base::pod_vector<std::int64_t> ready;
    base::pod_vector<std::size_t> first;  // index in `ready` of the first call of each line
    for (const traced_line& line : t_) {
      first.push_back(ready.size());
      for (const traced_call& c : line.calls) ready.push_back(c.enter_ns);
    }
    auto arrive = [&](const models::place& p, std::int64_t begin, double seconds) {
      std::int64_t& r = ready[first[p.line] + p.index];
      r = std::max(r, begin + static_cast<std::int64_t>(seconds * 1e9));
    };
    for (const models::message_edge& m : log_.messages) {
      arrive(m.to, departure(t_, m), m.seconds);
      if (m.rendezvous) arrive(m.done, departure(t_, m), m.seconds);
    }
    for (const models::entry_edge& e : log_.entries) arrive(e.to, call(e.from).enter_ns, 0.0);
    for (const models::sync_edge& s : log_.syncs) {
      std::int64_t last = INT64_MIN;
      if (!s.prefix)
        for (const models::place& p : s.in) last = std::max(last, call(p).enter_ns);
      for (const models::place& p : s.out) {
        if (s.prefix) last = std::max(last, call(p).enter_ns);
        arrive(p, last, s.seconds);
      }
    }
    // Calls that did not wait give the usual duration. Any excess of other calls is the delay until they noticed
    // completion.
    base::vector<base::pod_vector<double>> usual(log_.labels.size());
    for (const bool waited : {false, true})
      for (std::size_t l = 0; l != t_.size(); ++l)
        for (std::size_t i = 0; i != t_[l].calls.size(); ++i) {
          const traced_call& c = t_[l].calls[i];
          models::activity& a = log_.lines[l][i];
          const std::int64_t can = ready[first[l] + i];
          if (waited != (can > c.enter_ns)) continue;
          a.call_seconds = static_cast<double>(std::max<std::int64_t>(0, c.leave_ns - can)) * 1e-9;
          base::pod_vector<double>& of = usual[a.label];
          if (!waited) {
            if (of.size() < 1000) of.push_back(a.call_seconds);
            continue;
          }
          if (of.size() > 1) of.assign(1, median(of));
          a.waited_seconds = static_cast<double>(can - c.enter_ns) * 1e-9;
          a.wake_seconds = std::max(0.0, a.call_seconds - (of.empty() ? 0.0 : of[0]));
          a.call_seconds -= a.wake_seconds;
        }
  }

  // Finds what calls took beyond their waits and what is plausible for their kind: a wait that the log does not contain.
  void find_unexplained() {
    base::vector<base::pod_vector<double>> bytes;
    for (const traced_line& line : t_) {
      bytes.emplace_back();
      for (const traced_call& c : line.calls)
        bytes.back().push_back(core::is_collective(c.call) ? static_cast<double>(c.bytes) : 0.0);
    }
    for (const models::message_edge& m : log_.messages)
      for (const models::place& p : {m.to, m.done}) bytes[p.line][p.index] += m.bytes;
    constexpr double of_file = -1.0;  // input and output takes any time
    for (std::size_t l = 0; l != t_.size(); ++l)
      for (std::size_t i = 0; i != t_[l].calls.size(); ++i) {
        const traced_call& c = t_[l].calls[i];
        if (!core::is_of_files(c.call)) continue;
        bytes[l][i] = of_file;
        const bool here = c.completed_by == static_cast<std::uint32_t>(t_[l].thread);
        if (here && (c.flags & core::sync_flag::complete) != 0 && c.completion < t_[l].calls.size())
          bytes[l][c.completion] = of_file;
      }
    explain::plausible_time plausible;
    std::int64_t steps = 1;
    for (std::size_t n = 1; n < t_.size(); n *= 2) ++steps;
    for (const bool bounds : {false, true})
      for (std::size_t l = 0; l != t_.size(); ++l)
        for (std::size_t i = 0; i != t_[l].calls.size(); ++i) {
          const traced_call& c = t_[l].calls[i];
          models::activity& a = log_.lines[l][i];
          if (bytes[l][i] < 0.0) continue;
          const auto size = static_cast<std::uint64_t>(bytes[l][i]);
          const double took = a.call_seconds + a.wake_seconds;
          if (!bounds) plausible.add(c.call, size, static_cast<std::int64_t>(took * 1e9));
          else
            a.unexplained_seconds = std::max(
                0.0,
                took - static_cast<double>(plausible.bound_ns(c.call, size, core::is_collective(c.call) ? steps : 1)) * 1e-9);
        }
  }

  const base::vector<traced_line>& t_;
  models::run_log& log_;
};

}  // namespace detail
}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
