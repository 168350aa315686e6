#ifndef WHYWAIT_WHATIF_RECORDS_HPP
#define WHYWAIT_WHATIF_RECORDS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/call_times.hpp>
#include <whywait/whatif/progress_edges.hpp>
#include <whywait/whatif/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace whatif {

namespace detail {

// Every program that includes mpi.hpp compiles this class, so that it is written for a short compile time.
class log_joiner {
 public:
  log_joiner(base::vector<traced_line> lines, const key_namer& name) : t_(std::move(lines)), name_(name) {}

  models::run_log join() {
    sort_lines();
    for (std::uint32_t l = 0; l != t_.size(); ++l) add_line(l);
    match_messages();
    find_late_receivers();
    fit_messages();
    match_collectives();
    progress_edges(t_, log_);
    call_times(t_, log_)();
    for (const traced_line& line : t_)
      log_.measured_seconds = std::max(log_.measured_seconds, static_cast<double>(line.end_ns - origin_) * 1e-9);
    if (polled_ > 0.02 * log_.measured_seconds)
      log_.open = "it asks again and again whether something has come (MPI_Test): waiting cannot be told from work";
    return std::move(log_);
  }

 private:
  // A posted send or receive, or a member of a collective. End points that belong together have the same key.
  struct end_point {
    std::uint64_t key;
    std::uint64_t order;
    models::place where;
    bool operator<(const end_point& o) const noexcept { return key != o.key ? key < o.key : order < o.order; }
  };
  struct transfer {
    double bytes, seconds;
    bool operator<(const transfer& o) const noexcept { return bytes != o.bytes ? bytes < o.bytes : seconds < o.seconds; }
  };
  static constexpr std::uint64_t receives = std::uint64_t(1) << 63;

  void sort_lines() {
    // threads without MPI calls have no waits
    std::size_t kept = 0;
    for (std::size_t l = 0; l != t_.size(); ++l)
      if (!t_[l].calls.empty()) {
        if (kept != l) t_[kept] = std::move(t_[l]);
        ++kept;
      }
    if (kept != t_.size()) log_.doubts.push_back("threads that called nothing of MPI are left out");
    t_.erase(t_.begin() + static_cast<std::ptrdiff_t>(kept), t_.end());
    base::small_stable_sort(t_, [](const traced_line& a, const traced_line& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.thread < b.thread;
    });
    origin_ = t_.empty() ? 0 : t_.front().begin_ns;
    std::uint64_t dropped = 0;
    for (std::uint32_t l = 0; l != t_.size(); ++l) {
      origin_ = std::min(origin_, t_[l].begin_ns);
      dropped += t_[l].dropped;
      log_.ranks.push_back(t_[l].rank);
    }
    if (dropped != 0) log_.doubts.push_back(std::to_string(dropped) + " calls were not kept: the answer is about the others");
    log_.lines.resize(t_.size());
  }

  // The line of thread `thread` on the rank of line `l`.
  std::uint32_t line_of(std::uint32_t l, std::uint32_t thread) const {
    for (std::uint32_t other = 0; other != t_.size(); ++other)
      if (t_[other].rank == t_[l].rank && t_[other].thread == static_cast<std::int32_t>(thread)) return other;
    return l;
  }

  std::uint32_t label_of(const traced_call& c) {
    const std::uint32_t fresh = static_cast<std::uint32_t>(log_.labels.size());
    const std::uint32_t label = labels_.intern(core::combine(c.site, static_cast<std::uint64_t>(c.call) + 1), fresh);
    if (label == fresh) log_.labels.push_back(name_(c.site));
    return label;
  }
  std::uint32_t block_of(core::stable_key key) {
    const std::uint32_t fresh = static_cast<std::uint32_t>(log_.blocks.size());
    const std::uint32_t block = blocks_.intern(key, fresh);
    if (block == fresh) log_.blocks.push_back(name_(key));
    return block;
  }

  void add_line(std::uint32_t l) {
    std::int64_t before = origin_, polls_since = -1;
    log_.lines[l].reserve(t_[l].calls.size() + 1);
    for (std::uint32_t i = 0; i != t_[l].calls.size(); ++i) {
      const traced_call& c = t_[l].calls[i];
      models::activity a;
      a.label = label_of(c);
      a.work_seconds = static_cast<double>(std::max<std::int64_t>(0, c.enter_ns - before)) * 1e-9;
      before = std::max(before, c.leave_ns);
      double parts = 0.0;
      if (c.blocks != 0) a.blocks.reserve(c.blocks);
      for (std::uint32_t b = c.first_block; b != c.first_block + c.blocks && b < t_[l].blocks.size(); ++b) {
        const traced_block& x = t_[l].blocks[b];
        a.blocks.push_back({block_of(x.block), x.seconds});
        parts += x.seconds;
      }
      // The time that a block has in excess of the gap between two calls was spent in calls.
      for (models::block_time& b : a.blocks) b.seconds *= std::min(1.0, a.work_seconds / std::max(parts, 1e-300));
      log_.lines[l].push_back(std::move(a));
      const core::call_role role = core::role_of(c.call);
      const bool asks = role == core::call_role::test || role == core::call_role::test_probe;
      if (asks && (c.flags & core::sync_flag::found_nothing) != 0) continue;
      if (asks && polls_since >= 0) polled_ += static_cast<double>(c.enter_ns - polls_since) * 1e-9;
      polls_since = asks ? c.enter_ns : -1;
    }
    models::activity rest;
    rest.label = end_label_ != base::key_map::none ? end_label_ : end_label_ = log_.label("the end");
    rest.work_seconds = static_cast<double>(std::max<std::int64_t>(0, t_[l].end_ns - before)) * 1e-9;
    log_.lines[l].push_back(std::move(rest));
  }

  const traced_call& call(const models::place& p) const { return t_[p.line].calls[p.index]; }

  // Matches the k-th send with the k-th posted receive, per communicator, pair of ranks and tag.
  void match_messages() {
    base::pod_vector<end_point> ends;
    for (std::uint32_t l = 0; l != t_.size(); ++l) {
      std::int32_t asked = -1;
      for (std::uint32_t i = 0; i != t_[l].calls.size(); ++i) {
        const traced_call& c = t_[l].calls[i];
        const bool sends = (c.flags & core::sync_flag::posts_send) != 0,
                   takes = (c.flags & core::sync_flag::posts_receive) != 0;
        constexpr unsigned out = core::sync_flag::proc_null | core::sync_flag::cancelled | core::sync_flag::failed;
        if (sends == takes || (c.flags & out) != 0 || c.communicator == 0 || c.peer < 0) continue;
        const std::int32_t from = sends ? t_[l].rank : c.peer, to = sends ? c.peer : t_[l].rank;
        const std::uint64_t key = core::combine(
            core::combine(core::combine(c.communicator, static_cast<std::uint32_t>(from)), static_cast<std::uint32_t>(to)),
            static_cast<std::uint32_t>(c.tag));
        ends.push_back({key, c.posting | (takes ? receives : 0), {l, i}});
        // A rank that answers requests in order of arrival does different work if the arrival order changes.
        if (takes) {
          asked = (c.flags & core::sync_flag::any_source) != 0 ? c.peer : -1;
        } else if (asked >= 0 && c.peer == asked) {
          log_.open = "rank " + std::to_string(t_[l].rank) +
                      " answers the first rank that asks (MPI_ANY_SOURCE): the ranks may get other work";
        }
      }
    }
    base::small_stable_sort(ends);
    std::size_t unmatched = 0;
    for (std::size_t begin = 0, middle = 0, end; begin != ends.size(); begin = middle = end) {
      while (middle != ends.size() && ends[middle].key == ends[begin].key && ends[middle].order < receives) ++middle;
      for (end = middle; end != ends.size() && ends[end].key == ends[begin].key;) ++end;
      const std::size_t n = std::min(middle - begin, end - middle);
      unmatched += end - begin - 2 * n;
      for (std::size_t i = 0; i != n; ++i) add_message(ends[begin + i].where, ends[middle + i].where);
    }
    if (unmatched != 0) log_.doubts.push_back(std::to_string(unmatched) + " sends or receives have no partner in the log");
  }

  // Finds the call that completed the message posted at `p`. Returns false if it is not in the log.
  bool completed_at(const models::place& p, models::place& into) const {
    const traced_call& c = call(p);
    into = {c.completed_by == static_cast<std::uint32_t>(t_[p.line].thread) ? p.line : line_of(p.line, c.completed_by),
            c.completion};
    return (c.flags & core::sync_flag::complete) != 0 && into.index < t_[into.line].calls.size();
  }

  void add_message(const models::place& sent, const models::place& posted) {
    models::message_edge m;
    m.from = sent;
    m.posted = posted;
    if (!completed_at(posted, m.to) || (m.from.line == m.to.line && m.from.index >= m.to.index)) return;
    if (!completed_at(sent, m.done)) m.done = sent;
    m.bytes = static_cast<double>(call(sent).bytes);
    m.rendezvous = (call(sent).flags & core::sync_flag::synchronous) != 0;
    log_.messages.push_back(m);
  }

  // The two instants at which the inputs of one call were there last: messages sent to it, and receives posted for its sends.
  struct last_inputs {
    std::int64_t last_ns, before_ns;
    void add(std::int64_t ns) noexcept {
      before_ns = std::max(before_ns, std::min(ns, last_ns));
      last_ns = std::max(last_ns, ns);
    }
  };

  struct evidence {
    double bytes;
    bool waits;
    bool operator<(const evidence& o) const noexcept { return bytes < o.bytes; }
  };

  // Estimates the size from which sends wait for late receivers: a call that completes a send stayed until the receive was
  // posted and returned soon after it, although everything else that it needed had been there before.
  void find_late_receivers() {
    base::pod_vector<std::size_t> first;
    base::pod_vector<last_inputs> inputs;
    for (const traced_line& line : t_) {
      first.push_back(inputs.size());
      for (const traced_call& c : line.calls) inputs.push_back({c.enter_ns, c.enter_ns});
    }
    const auto inputs_of = [&](const models::place& p) -> last_inputs& { return inputs[first[p.line] + p.index]; };
    for (const models::message_edge& m : log_.messages) {
      inputs_of(m.to).add(call(m.from).enter_ns);
      inputs_of(m.done).add(call(m.posted).enter_ns);
    }
    base::pod_vector<evidence> seen;
    double largest = 0.0, most_buffered = 4096.0;
    for (const models::message_edge& m : log_.messages) {
      const std::int64_t posted = call(m.posted).enter_ns, left = call(m.done).leave_ns;
      const last_inputs& in = inputs_of(m.done);
      largest = std::max(largest, m.bytes);
      if (m.rendezvous) continue;
      if (left < posted) {
        if (core::role_of(call(m.done).call) != core::call_role::complete_any) seen.push_back({m.bytes, false});
      } else if (posted == in.last_ns && in.before_ns < posted && left - posted < posted - in.before_ns) {
        seen.push_back({m.bytes, true});
      }
    }
    base::small_stable_sort(seen);
    // The limit that contradicts least of it: buffered from the limit on, or waiting below.
    std::size_t wrong = 0, least;
    for (const evidence& e : seen) wrong += e.waits;
    least = wrong;
    double limit = 1e300;
    for (std::size_t i = seen.size(); i-- != 0;) {
      if (seen[i].waits) --wrong;
      else ++wrong;
      if (wrong < least && (i == 0 || seen[i - 1].bytes < seen[i].bytes)) {
        least = wrong;
        limit = seen[i].bytes;
      }
    }
    for (const evidence& e : seen)
      if (!e.waits && e.bytes < limit) most_buffered = std::max(most_buffered, e.bytes);
    for (models::message_edge& m : log_.messages) m.rendezvous = m.rendezvous || m.bytes >= limit;
    if (limit > largest && largest > most_buffered) {
      log_.may_wait_from = most_buffered == 4096.0 ? most_buffered : most_buffered + 1.0;
      log_.doubts.push_back("no receiver of a large message came late: sends are assumed not to wait for receivers");
    }
  }

  // Fits latency and time per byte by a median line through small and large messages, where a receiver waited and the whole
  // transfer was observed. No message may exceed its observed time.
  void fit_messages() {
    base::pod_vector<transfer> seen;
    for (const models::message_edge& m : log_.messages)
      if (departure(t_, m) >= call(m.to).enter_ns && call(m.to).leave_ns > departure(t_, m))
        seen.push_back({m.bytes, static_cast<double>(call(m.to).leave_ns - departure(t_, m)) * 1e-9});
    double latency = 0.0, per_byte = 0.0;
    if (!seen.empty()) {
      base::small_stable_sort(seen);
      const std::size_t half = seen.size() / 2;
      base::pod_vector<double> small, large, rest;
      for (std::size_t i = 0; i != seen.size(); ++i) (i < half ? small : large).push_back(seen[i].seconds);
      const double small_bytes = seen[half / 2].bytes, large_bytes = seen[half + (seen.size() - half) / 2].bytes;
      if (half != 0 && large_bytes > small_bytes * 1.5)
        per_byte = std::max(0.0, (median(large) - median(small)) / (large_bytes - small_bytes));
      for (const transfer& x : seen) rest.push_back(x.seconds - per_byte * x.bytes);
      latency = std::max(0.0, median(rest));
    }
    for (models::message_edge& m : log_.messages) {
      const double took = static_cast<double>(std::max<std::int64_t>(0, call(m.to).leave_ns - departure(t_, m))) * 1e-9;
      m.seconds = std::min(took, latency + per_byte * m.bytes);
    }
  }
  // Matches the k-th collective of a communicator on one rank with the k-th on the others.
  void match_collectives() {
    base::pod_vector<end_point> ends;
    for (std::uint32_t l = 0; l != t_.size(); ++l) {
      base::key_map known;
      base::pod_vector<std::uint64_t> ordinal;
      for (std::uint32_t i = 0; i != t_[l].calls.size(); ++i) {
        const traced_call& c = t_[l].calls[i];
        if (!is_meeting(c)) continue;
        const std::uint32_t comm = known.intern(c.communicator, static_cast<std::uint32_t>(ordinal.size()));
        if (comm == ordinal.size()) ordinal.push_back(0);
        ends.push_back({core::combine(c.communicator, ++ordinal[comm]), static_cast<std::uint32_t>(c.comm_rank), {l, i}});
      }
    }
    base::small_stable_sort(ends);
    std::size_t partial = 0;
    for (std::size_t begin = 0, end; begin != ends.size(); begin = end) {
      for (end = begin; end != ends.size() && ends[end].key == ends[begin].key;) ++end;
      if (end - begin == static_cast<std::size_t>(call(ends[begin].where).members)) add_sync(ends.data() + begin, end - begin);
      else ++partial;
    }
    base::small_stable_sort(log_.syncs, [](const models::sync_edge& a, const models::sync_edge& b) {
      return a.in.front().index != b.in.front().index ? a.in.front().index < b.in.front().index
                                                      : a.in.front().line < b.in.front().line;
    });
    if (partial != 0) log_.doubts.push_back(std::to_string(partial) + " collectives were not seen on all their ranks");
  }

  void add_sync(const end_point* members, std::size_t n) {
    models::sync_edge s;
    const traced_call& any = call(members[0].where);
    const core::call_role role = core::meeting_role_of(any.call);
    bool sparse = core::initiates(any.call) && role == core::call_role::scan;
    for (std::size_t i = 0; i != n; ++i) sparse = sparse || (call(members[i].where).flags & core::sync_flag::sparse) != 0;
    if (sparse) return add_needs(members, n, role);
    const std::uint32_t fresh = static_cast<std::uint32_t>(log_.labels.size());
    s.label = labels_.intern(core::combine(1, static_cast<std::uint64_t>(any.call) + 1), fresh);
    if (s.label == fresh) log_.labels.push_back(core::name_of(any.call));
    s.prefix = role == core::call_role::scan;
    std::int64_t last = INT64_MIN;
    for (std::size_t i = 0; i != n; ++i) {
      const models::place& p = members[i].where;
      const bool root = t_[p.line].rank == any.peer;
      if (role != core::call_role::one_to_all || root) {
        s.in.push_back(models::place(p));
        last = std::max(last, call(p).enter_ns);
      }
      models::place done = p;
      if (core::initiates(any.call) && !completed_at(p, done)) continue;
      if (role != core::call_role::all_to_one || root) s.out.push_back(models::place(done));
    }
    if (s.in.empty() || s.out.empty()) return;
    // the fastest exit is the cost of the collective itself
    std::int64_t cost = INT64_MAX, before = INT64_MIN;
    for (const models::place& p : s.out) {
      before = std::max(before, call(p).enter_ns);
      cost = std::min(cost, call(p).leave_ns - std::max(s.prefix ? before : last, call(p).enter_ns));
    }
    if (cost < 0 && (core::is_of_files(any.call) || core::of_other_worlds(any.call))) return;  // did not hold up its members
    s.seconds = static_cast<double>(std::max<std::int64_t>(0, cost)) * 1e-9;
    log_.syncs.push_back(std::move(s));
  }

  // Members that do not need all others: the call that completes the operation waits for the needed ones to begin.
  void add_needs(const end_point* members, std::size_t n, core::call_role role) {
    for (std::size_t i = 0; i != n; ++i) {
      const models::place& p = members[i].where;
      const traced_call& c = call(p);
      models::place done = p;
      if (core::initiates(c.call) && !completed_at(p, done)) continue;
      const auto need = [&](std::size_t other) {
        const bool blocked = other < n && other != i && call(members[other].where).enter_ns <= call(done).leave_ns;
        if (blocked) log_.entries.push_back({members[other].where, done});
      };
      if ((c.flags & core::sync_flag::sparse) == 0) {
        for (std::size_t k = 0; k != (role == core::call_role::scan ? i : n); ++k) need(k);
        continue;
      }
      const base::pod_vector<std::int32_t>& needs = t_[p.line].needs;
      for (std::int32_t k = c.tag; k < c.tag + c.peer && static_cast<std::size_t>(k) < needs.size(); ++k) {
        need(static_cast<std::size_t>(needs[static_cast<std::size_t>(k)]));
      }
    }
  }

  base::vector<traced_line> t_;
  const key_namer& name_;
  models::run_log log_;
  std::int64_t origin_ = 0;
  double polled_ = 0.0;
  std::uint32_t end_label_ = base::key_map::none;
  base::key_map labels_, blocks_;
};

}  // namespace detail

/// Builds the log of a whole run from the lines of all its ranks. Messages are matched by posting order, collectives by
/// their order in the communicator. Calls are stored without waiting time. Message times are fitted where a receiver
/// waited, and late receivers show whether sends wait. Unmatched operations are listed in `doubts`. About 1 microsecond
/// and 250 bytes per call.
inline models::run_log join(base::vector<traced_line> lines, const key_namer& name) {
  return detail::log_joiner(std::move(lines), name).join();
}

/// Overload for any callable that takes a key and returns a std::string.
template <class Name>
models::run_log join(base::vector<traced_line> lines, const Name& name) {
  struct namer final : key_namer {
    explicit namer(const Name& n) : of(n) {}
    std::string operator()(core::stable_key key) const override { return of(key); }
    const Name& of;
  };
  return join(std::move(lines), static_cast<const key_namer&>(namer(name)));
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
