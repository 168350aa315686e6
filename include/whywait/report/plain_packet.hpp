#ifndef WHYWAIT_REPORT_PLAIN_PACKET_HPP
#define WHYWAIT_REPORT_PLAIN_PACKET_HPP

#include <whywait/base/packet.hpp>
#include <whywait/report/run_result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

/// Writes members of a result to a packet, or reads them from one: one list of members serves both.
class member_writer {
 public:
  explicit member_writer(base::packet& out) : out_(out) {}
  template <class T>
  void plain(const T& value) {
    base::put(out_, value);
  }
  void text(const std::string& value) { base::put_text(out_, value); }
  template <class T>
  void size_of(const std::vector<T>& all) {
    base::put(out_, static_cast<std::uint64_t>(all.size()));
  }

 private:
  base::packet& out_;
};
class member_reader {
 public:
  explicit member_reader(base::packet_reader& in) : in_(in) {}
  template <class T>
  void plain(T& value) {
    value = in_.get<T>();
  }
  void text(std::string& value) { value = std::string(in_.text()); }
  template <class T>
  void size_of(std::vector<T>& all) {
    all = std::vector<T>(in_.get_count(1));  // resize() would compile code that moves elements
  }

 private:
  base::packet_reader& in_;
};

// Members of the same type follow one another in one call.
template <class Io, class T>
void pass(Io& io, T& value);
template <class Io, class First, class... More>
void pass_all(Io& io, First& first, More&... more) {
  detail::pass(io, first);
  (detail::pass(io, more), ...);
}

template <class Io>
void members(Io& io, whywait::result::place& p) {
  detail::pass_all(io, p.text, p.call, p.name, p.region, p.function, p.file, p.line, p.caller);
}
template <class Io>
void members(Io& io, whywait::result::cause& c) {
  whywait::result::cause::slower_parts& why = c.slower;
  detail::pass_all(io, c.block, c.kind, c.where, c.seconds, c.visits_seconds, c.speed_seconds, c.inherited_seconds,
                   why.preempted_seconds, why.blocked_seconds, why.kernel_seconds, why.instructions_seconds, why.cycles_seconds,
                   why.frequency_seconds, why.not_counted_seconds, why.memory_seconds, why.more_page_faults,
                   why.more_migrations, why.counted, c.late_visits, c.waiting_visits, c.late_work, c.waiting_work, c.remark);
}
template <class Io>
void members(Io& io, whywait::result::advice& a) {
  detail::pass_all(io, a.problem, a.text, a.description, a.saving_seconds, a.predicted, a.at_least);
}
template <class Io>
void members(Io& io, whywait::result::wait& w) {
  detail::pass_all(io, w.pattern, w.quality, w.seconds, w.longest_seconds, w.count, w.operation, w.late_call,
                   w.unexplained_seconds, w.inherited_seconds, w.causes, w.waiters, w.late, w.advice);
}
template <class Io>
void members(Io& io, whywait::result::verdict_entry& v) {
  detail::pass_all(io, v.text, v.problem, v.block, v.rank, v.thread, v.ratio, v.saving_seconds, v.least_saving_seconds,
                   v.most_saving_seconds);
}
template <class Io>
void members(Io& io, whywait::result::efficiencies& e) {
  detail::pass_all(io, e.parallel, e.load_balance, e.communication, e.serialisation, e.transfer, e.files);
}
template <class Io>
void members(Io& io, whywait::result::region& r) {
  detail::pass_all(io, r.name, r.kind, r.where, r.visits, r.ranks, r.threads, r.min_seconds, r.mean_seconds, r.max_seconds,
                   r.min_rank, r.max_rank, r.own_seconds, r.mpi_seconds, r.work, r.recursive, r.efficiency);
}
template <class Io>
void members(Io& io, whywait::result::traffic& t) {
  detail::pass_all(io, t.where, t.operation, t.peers, t.ranks, t.count, t.bytes, t.least_bytes, t.most_bytes, t.seconds,
                   t.sizes);
}
template <class Io>
void members(Io& io, whywait::result::rank& r) {
  detail::pass_all(io, r.number, r.host, r.seconds, r.mpi_seconds, r.waiting_seconds, r.not_understood_seconds);
}
template <class Io>
void members(Io& io, whywait::result::critical_block& c) {
  detail::pass_all(io, c.block, c.kind, c.where, c.seconds, c.imbalance_seconds, c.saving_seconds);
}
template <class Io>
void members(Io& io, whywait::result::unknown_call& c) {
  detail::pass_all(io, c.where, c.count, c.seconds);
}
template <class Io>
void members(Io& io, whywait::result::prediction& p) {
  detail::pass_all(io, p.question, p.refusal, p.seconds, p.least_seconds, p.most_seconds, p.saving_seconds);
}
template <class Io>
void members(Io& io, whywait::result& r) {
  detail::pass_all(io, r.reason, r.program, r.arguments, r.date, r.ranks, r.threads, r.nodes, r.seconds, r.rank_seconds,
                   r.waiting_seconds, r.unexplained_seconds, r.not_understood_seconds, r.files_seconds, r.other_worlds_seconds,
                   r.paused_seconds, r.other_threads, r.other_thread_seconds, r.mpi_calls, r.dropped_events,
                   r.unmatched_messages, r.clock_violations, r.partial, r.nothing_worth_changing, r.warnings, r.efficiency,
                   r.verdict, r.waits, r.problems, r.regions, r.messages, r.each_rank, r.critical_path, r.predictions,
                   r.unknown_calls);
}

template <class Io, class T>
void pass_one(Io& io, std::vector<T>& all) {
  io.size_of(all);
  for (T& each : all) detail::pass(io, each);
}
template <class Io, class T>
void pass_one(Io& io, std::optional<T>& value) {
  bool known = value.has_value();
  io.plain(known);
  if (known && !value) value = T{};  // clang 14 refuses emplace() for a nested class with default member initializers
  if (known) detail::pass(io, *value);
}
template <class Io>
void pass_one(Io& io, std::string& text) {
  io.text(text);
}
template <class Io, class T>
void pass_one(Io& io, T& value) {
  if constexpr (std::is_trivially_copyable<T>::value) io.plain(value);
  else detail::members(io, value);
}

template <class Io, class T>
[[gnu::noinline]] void pass(Io& io, T& value) {
  detail::pass_one(io, value);
}

}  // namespace detail

/// A result for other ranks of the same job, without its printer.
inline base::packet pack(whywait::result& r) {
  base::packet out;
  detail::member_writer to(out);
  detail::members(to, r);
  return out;
}

/// Reads what `pack` wrote. Throws std::out_of_range on a truncated packet.
inline whywait::result unpack_result(const unsigned char* data, std::size_t size) {
  whywait::result r;
  base::packet_reader in(data, size);
  detail::member_reader from(in);
  detail::members(from, r);
  return r;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
