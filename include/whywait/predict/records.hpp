#ifndef WHYWAIT_PREDICT_RECORDS_HPP
#define WHYWAIT_PREDICT_RECORDS_HPP

#include <whywait/predict/run_log.hpp>
#include <whywait/predict/trace.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

namespace detail {

class log_joiner {
 public:
  using namer = std::function<std::string(core::stable_key)>;

  log_joiner(const std::vector<traced_line>& lines, const namer& name) : t_(lines), name_(name) {}

  run_log join() {
    sort_lines();
    for (std::uint32_t l = 0; l != t_.size(); ++l) add_line(l);
    match_messages();
    match_collectives();
    attribute_calls();
    for (std::size_t l = 0; l != t_.size(); ++l)
      log_.measured_seconds = std::max(log_.measured_seconds, static_cast<double>(t_[l].end_ns - origin_) * 1e-9);
    return std::move(log_);
  }

 private:
  struct end_point {
    place where;
    std::uint32_t posting;
  };
  struct pair_of_ends {
    std::vector<end_point> sends, receives;
  };
  struct instance {
    std::vector<place> members;
    std::int32_t size = 0;
  };

  void sort_lines() {
    std::stable_sort(t_.begin(), t_.end(), [](const traced_line& a, const traced_line& b) { return a.rank < b.rank; });
    origin_ = t_.empty() ? 0 : t_.front().begin_ns;
    for (std::uint32_t l = 0; l != t_.size(); ++l) {
      origin_ = std::min(origin_, t_[l].begin_ns);
      lines_of_[t_[l].rank].push_back(l);
      dropped_ += t_[l].dropped;
    }
    if (dropped_ != 0)
      log_.doubts.push_back(std::to_string(dropped_) + " calls were not kept: the answer is about the others");
    log_.lines.resize(t_.size());
  }

  const std::string& named(core::stable_key key) {
    auto found = names_.find(key);
    if (found == names_.end()) found = names_.emplace(key, name_(key)).first;
    return found->second;
  }
  template <class Names>
  std::uint32_t numbered(boost::unordered_flat_map<std::string, std::uint32_t>& known, Names& names,
                         const std::string& name) {
    const auto found = known.emplace(name, static_cast<std::uint32_t>(names.size()));
    if (found.second) names.push_back(name);
    return found.first->second;
  }
  std::uint32_t label_of(const traced_call& c) {
    return numbered(labels_, log_.labels, named(c.site) + " " + core::name_of(c.call));
  }

  void add_line(std::uint32_t l) {
    std::int64_t before = origin_;
    for (const traced_call& c : t_[l].calls) {
      activity a;
      a.label = label_of(c);
      a.work_seconds = static_cast<double>(std::max<std::int64_t>(0, c.enter_ns - before)) * 1e-9;
      before = std::max(before, c.leave_ns);
      double parts = 0.0;
      for (std::uint32_t b = c.first_block; b != c.first_block + c.blocks && b < t_[l].blocks.size(); ++b) {
        const traced_block& x = t_[l].blocks[b];
        a.blocks.push_back({numbered(blocks_, log_.blocks, named(x.block)), x.seconds});
        parts += x.seconds;
      }
      // what a block counts beyond the time between two calls was spent in calls
      if (parts > a.work_seconds)
        for (block_time& b : a.blocks) b.seconds *= a.work_seconds / parts;
      log_.lines[l].push_back(std::move(a));
    }
    activity rest;
    rest.label = numbered(labels_, log_.labels, "the end");
    rest.work_seconds = static_cast<double>(std::max<std::int64_t>(0, t_[l].end_ns - before)) * 1e-9;
    log_.lines[l].push_back(std::move(rest));
  }

  const traced_call& call(const place& p) const { return t_[p.line].calls[p.index]; }

  void match_messages() {
    boost::unordered_flat_map<std::uint64_t, pair_of_ends> pairs;
    for (std::uint32_t l = 0; l != t_.size(); ++l)
      for (std::uint32_t i = 0; i != t_[l].calls.size(); ++i) {
        const traced_call& c = t_[l].calls[i];
        const bool sends = (c.flags & core::sync_flag::posts_send) != 0,
                   receives = (c.flags & core::sync_flag::posts_receive) != 0;
        constexpr unsigned out = core::sync_flag::proc_null | core::sync_flag::cancelled | core::sync_flag::failed;
        if (sends == receives || (c.flags & out) != 0 || c.communicator == 0 || c.peer < 0) continue;
        const std::int32_t from = sends ? t_[l].rank : c.peer, to = sends ? c.peer : t_[l].rank;
        const std::uint64_t key =
            core::combine(core::combine(core::combine(c.communicator, static_cast<std::uint32_t>(from)),
                                        static_cast<std::uint32_t>(to)),
                          static_cast<std::uint32_t>(c.tag));
        if (sends) {
          pairs[key].sends.push_back({{l, i}, c.posting});
          continue;
        }
        if ((c.flags & core::sync_flag::complete) == 0) continue;
        const auto& mine = lines_of_[t_[l].rank];
        const std::uint32_t line = c.completed_by < mine.size() ? mine[c.completed_by] : l;
        if (c.completion >= t_[line].calls.size()) continue;
        pairs[key].receives.push_back({{line, c.completion}, c.posting});
      }
    std::size_t unmatched = 0;
    for (auto& p : pairs) {
      auto by_posting = [](const end_point& a, const end_point& b) { return a.posting < b.posting; };
      std::sort(p.second.sends.begin(), p.second.sends.end(), by_posting);
      std::sort(p.second.receives.begin(), p.second.receives.end(), by_posting);
      const std::size_t n = std::min(p.second.sends.size(), p.second.receives.size());
      unmatched += p.second.sends.size() + p.second.receives.size() - 2 * n;
      for (std::size_t i = 0; i != n; ++i) {
        message_edge m;
        m.from = p.second.sends[i].where;
        m.to = p.second.receives[i].where;
        if (m.from.line == m.to.line && m.from.index >= m.to.index) continue;
        m.bytes = static_cast<double>(call(m.from).bytes);
        log_.messages.push_back(m);
      }
    }
    // a canonical order, whatever the hash map did
    std::sort(log_.messages.begin(), log_.messages.end(), [](const message_edge& a, const message_edge& b) {
      return std::make_pair(std::make_pair(a.to.line, a.to.index), std::make_pair(a.from.line, a.from.index)) <
             std::make_pair(std::make_pair(b.to.line, b.to.index), std::make_pair(b.from.line, b.from.index));
    });
    if (unmatched != 0)
      log_.doubts.push_back(std::to_string(unmatched) + " sends or receives have no partner in the log");
    fit_messages();
  }

  // Latency and time per byte of messages for which a receiver waited: their whole way was seen. The median line
  // through small and large ones; others take what it says, but not longer than they took.
  void fit_messages() {
    std::vector<std::pair<double, double>> seen;  // bytes, seconds
    for (const message_edge& m : log_.messages) {
      const traced_call& s = call(m.from);
      const traced_call& r = call(m.to);
      if (s.enter_ns >= r.enter_ns && r.leave_ns > s.enter_ns)
        seen.emplace_back(m.bytes, static_cast<double>(r.leave_ns - s.enter_ns) * 1e-9);
    }
    double latency = 0.0, per_byte = 0.0;
    if (!seen.empty()) {
      std::sort(seen.begin(), seen.end());
      auto median = [](std::vector<double> v) {
        std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
        return v[v.size() / 2];
      };
      const std::size_t half = seen.size() / 2;
      std::vector<double> small, large, small_bytes, large_bytes;
      for (std::size_t i = 0; i != seen.size(); ++i) {
        (i < half ? small : large).push_back(seen[i].second);
        (i < half ? small_bytes : large_bytes).push_back(seen[i].first);
      }
      if (half != 0 && median(large_bytes) > median(small_bytes) * 1.5)
        per_byte = std::max(0.0, (median(large) - median(small)) / (median(large_bytes) - median(small_bytes)));
      std::vector<double> rest;
      for (const auto& x : seen) rest.push_back(x.second - per_byte * x.first);
      latency = std::max(0.0, median(rest));
    }
    for (message_edge& m : log_.messages) {
      const double took =
          static_cast<double>(std::max<std::int64_t>(0, call(m.to).leave_ns - call(m.from).enter_ns)) * 1e-9;
      m.seconds = std::min(took, latency + per_byte * m.bytes);
    }
  }

  void match_collectives() {
    boost::unordered_flat_map<core::stable_key, instance> instances;
    for (std::uint32_t l = 0; l != t_.size(); ++l) {
      boost::unordered_flat_map<core::stable_key, std::uint64_t> ordinal;
      for (std::uint32_t i = 0; i != t_[l].calls.size(); ++i) {
        const traced_call& c = t_[l].calls[i];
        if (!collective(c)) continue;
        instance& x = instances[core::combine(c.communicator, ++ordinal[c.communicator])];
        x.members.push_back({l, i});
        x.size = c.members;
      }
    }
    std::size_t partial = 0;
    for (auto& entry : instances) {
      instance& x = entry.second;
      if (static_cast<std::size_t>(x.size) != x.members.size()) {
        ++partial;
        continue;
      }
      std::sort(x.members.begin(), x.members.end(), [](const place& a, const place& b) { return a.line < b.line; });
      add_sync(x);
    }
    std::sort(log_.syncs.begin(), log_.syncs.end(), [](const sync_edge& a, const sync_edge& b) {
      return std::make_pair(a.in.front().index, a.in.front().line) <
             std::make_pair(b.in.front().index, b.in.front().line);
    });
    if (partial != 0) log_.doubts.push_back(std::to_string(partial) + " collectives were not seen on all their ranks");
  }

  static bool collective(const traced_call& c) {
    if (c.communicator == 0 || c.members < 2) return false;
    switch (core::role_of(c.call)) {
      case core::call_role::barrier:
      case core::call_role::one_to_all:
      case core::call_role::all_to_one:
      case core::call_role::all_to_all:
      case core::call_role::scan:
      case core::call_role::create:
      case core::call_role::finalise:
        return true;
      default:
        return false;
    }
  }

  void add_sync(const instance& x) {
    sync_edge s;
    const traced_call& any = call(x.members.front());
    s.label = numbered(labels_, log_.labels, core::name_of(any.call));
    const core::call_role role = core::role_of(any.call);
    for (const place& p : x.members) {
      const bool root = t_[p.line].rank == any.peer;
      if (role != core::call_role::one_to_all || root) s.in.push_back(p);
      if (role != core::call_role::all_to_one || root) s.out.push_back(p);
    }
    if (s.in.empty() || s.out.empty()) return;
    std::int64_t last = call(s.in.front()).enter_ns;
    for (const place& p : s.in) last = std::max(last, call(p).enter_ns);
    // the fastest way out of the call tells what the collective costs everybody
    std::int64_t cost = INT64_MAX;
    for (const place& p : s.out) cost = std::min(cost, call(p).leave_ns - last);
    s.seconds = static_cast<double>(std::max<std::int64_t>(0, cost)) * 1e-9;
    log_.syncs.push_back(std::move(s));
  }

  // What a call took after everything that it needed was there.
  void attribute_calls() {
    std::vector<std::vector<std::int64_t>> ready(t_.size());
    for (std::size_t l = 0; l != t_.size(); ++l)
      for (const traced_call& c : t_[l].calls) ready[l].push_back(c.enter_ns);
    auto arrive = [&](const place& p, std::int64_t begin, double seconds) {
      std::int64_t& r = ready[p.line][p.index];
      r = std::max(r, begin + static_cast<std::int64_t>(seconds * 1e9));
    };
    for (const message_edge& m : log_.messages) arrive(m.to, call(m.from).enter_ns, m.seconds);
    for (const sync_edge& s : log_.syncs) {
      std::int64_t last = call(s.in.front()).enter_ns;
      for (const place& p : s.in) last = std::max(last, call(p).enter_ns);
      for (const place& p : s.out) arrive(p, last, s.seconds);
    }
    for (std::size_t l = 0; l != t_.size(); ++l)
      for (std::size_t i = 0; i != t_[l].calls.size(); ++i)
        log_.lines[l][i].call_seconds =
            static_cast<double>(std::max<std::int64_t>(0, t_[l].calls[i].leave_ns - ready[l][i])) * 1e-9;
  }

  std::vector<traced_line> t_;
  const namer& name_;
  run_log log_;
  std::int64_t origin_ = 0;
  std::uint64_t dropped_ = 0;
  boost::unordered_flat_map<std::int32_t, std::vector<std::uint32_t>> lines_of_;
  boost::unordered_flat_map<core::stable_key, std::string> names_;
  boost::unordered_flat_map<std::string, std::uint32_t> labels_, blocks_;
};

}  // namespace detail

/// The log of a whole run from the lines of all its ranks: messages matched by posting order, collectives by their
/// order in the communicator, waiting taken out of the calls, message times fitted where a receiver waited. `name`
/// gives the name of a block or call site. What could not be matched is said in `doubts`.
inline run_log join(const std::vector<traced_line>& lines, const std::function<std::string(core::stable_key)>& name) {
  return detail::log_joiner(lines, name).join();
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
