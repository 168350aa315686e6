#ifndef WHYWAIT_WHATIF_PROGRESS_EDGES_HPP
#define WHYWAIT_WHATIF_PROGRESS_EDGES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/progress.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace whatif {
namespace detail {

/// Finds the messages that complete only when their partner is in MPI, as explain/progress_book.hpp does, and adds the
/// entries that they needed to the log. `log.messages` must be complete.
class progress_finder {
 public:
  progress_finder(const base::vector<traced_line>& lines, models::run_log& log) : t_(lines), log_(log) {}

  void operator()() {
    list_calls();
    for (const models::message_edge& m : log_.messages) {
      examine(m.done, m.to, m, true);
      examine(m.to, m.done, m, false);
    }
    count();
    for (const side& s : sides_) {
      if (!votes_.dependent(s.number)) continue;
      if (s.blocked.may_have_waited(threshold_ns)) add(s.at, s.partner, s.entry);
    }
    for (const models::message_edge& m : log_.messages) {
      add_first(m.done, m.to, m, true);
      add_first(m.to, m.done, m, false);
    }
  }

 private:
  static constexpr std::int64_t threshold_ns = 5000;

  struct side {
    models::place at;  ///< the call that completed the message
    std::uint32_t partner;
    std::size_t entry;
    explain::blocked_call blocked;
    std::uint8_t number;
  };

  const traced_call& call(const models::place& p) const { return t_[p.line].calls[p.index]; }
  std::size_t number_of(const models::place& p) const { return first_[p.line] + p.index; }

  void list_calls() {
    for (const traced_line& line : t_) {
      first_.push_back(since_.size());
      entries_.emplace_back();
      entries_.back().reserve(line.calls.size());
      for (const traced_call& c : line.calls) {
        since_.push_back(c.enter_ns);
        entries_.back().add(c.enter_ns, c.leave_ns, c.call);
      }
    }
    for (const models::message_edge& m : log_.messages) {
      need(m.to, call(m.from).enter_ns);
      if (posted(m)) need(m.done, call(m.posted).enter_ns);
    }
  }
  bool posted(const models::message_edge& m) const { return call(m.posted).enter_ns < call(m.done).leave_ns; }
  void need(const models::place& p, std::int64_t ns) {
    std::int64_t& since = since_[number_of(p)];
    if (ns <= call(p).leave_ns) since = std::max(since, ns);
  }
  // The last instant at which a partner may have to enter MPI for a message that it completed in a call.
  std::int64_t needed_until(const models::place& over) const {
    const bool only_posted = core::role_of(call(over).call) == core::call_role::post_send;  // never completed by a call
    return only_posted ? INT64_MAX : call(over).enter_ns;
  }
  static bool waits(const traced_call& c) {
    return explain::completes_messages(core::role_of(c.call, c.leave_ns != c.enter_ns, c.flags));
  }
  static std::uint8_t class_of(const models::message_edge& m, bool sends) {
    return explain::progress_class::number_of(sends, static_cast<std::uint64_t>(m.bytes));
  }

  // `over`: the call that completed the message on the partner's side, after which the partner is not needed for it.
  void examine(const models::place& at, const models::place& over, const models::message_edge& m, bool sends) {
    const std::uint32_t partner = over.line;
    const traced_call& c = call(at);
    const std::int64_t since_ns = since_[number_of(at)];
    if (partner == at.line || !waits(c) || c.leave_ns - since_ns < threshold_ns) return;
    const explain::mpi_entries& all = entries_[partner];
    const explain::mpi_entries::visit v = all.while_blocked(since_ns, c.leave_ns, needed_until(over));
    const std::int64_t entry_ns = v.first != explain::mpi_entries::none ? all[v.first].begin_ns : INT64_MIN;
    const std::int64_t outside_ns = v.outside_ns != INT64_MIN ? v.outside_ns : t_[partner].begin_ns;
    sides_.push_back({at, partner, v.first, {since_ns, c.leave_ns, entry_ns, v.inside_ns, outside_ns}, class_of(m, sends)});
  }

  void count() {
    base::small_stable_sort(sides_, [this](const side& a, const side& b) { return number_of(a.at) < number_of(b.at); });
    votes_.count_calls(
        sides_, threshold_ns, [this](const side& a, const side& b) { return number_of(a.at) == number_of(b.at); },
        [](const side& s) {
          return explain::progress_votes::message{s.blocked, s.number};
        });
  }

  // Under another hypothesis a message may wait that did not: for the first entry after both sides were posted.
  void add_first(const models::place& at, const models::place& over, const models::message_edge& m, bool sends) {
    const std::uint32_t partner = over.line;
    if (partner == at.line || !votes_.dependent(class_of(m, sends)) || !waits(call(at))) return;
    std::int64_t since_ns = call(m.from).enter_ns;
    if (posted(m)) since_ns = std::max(since_ns, call(m.posted).enter_ns);
    const std::size_t entry = entries_[partner].first_in(since_ns, std::min(call(at).leave_ns, needed_until(over)));
    if (entry != explain::mpi_entries::none) add(at, partner, entry);
  }

  void add(const models::place& at, std::uint32_t partner, std::size_t entry) {
    log_.entries.push_back({{partner, static_cast<std::uint32_t>(entry)}, at});
  }

  const base::vector<traced_line>& t_;
  models::run_log& log_;
  base::pod_vector<std::size_t> first_;    ///< number of each line's first call
  base::pod_vector<std::int64_t> since_;   ///< from here on a call waited for nothing but progress or transfer
  base::vector<explain::mpi_entries> entries_;
  base::pod_vector<side> sides_;
  explain::progress_votes votes_;
};

}  // namespace detail

/// Adds to `log.entries` which calls could not end before a partner had entered MPI again.
inline void progress_edges(const base::vector<traced_line>& lines, models::run_log& log) {
  detail::progress_finder(lines, log)();
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
