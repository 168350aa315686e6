#ifndef WHYWAIT_TESTS_UNIT_CLOCKS_VECTOR_BOOKS_HPP
#define WHYWAIT_TESTS_UNIT_CLOCKS_VECTOR_BOOKS_HPP

#include <whywait/clocks/delay_ledger.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/explain.hpp>

#include "../explain/histories.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Two ways to compute the delays of the same program: the template delay_ledger, and the virtual clocks of an
// explanation. Both take calls and what they needed, so that every vector is judged by both.
namespace books {

using namespace whywait;
using ns = std::int64_t;

/// A call of one rank: from `begin` to `leave`, blocked for `wait` after `entry`, which it always takes; `overhead` was
/// executed since the previous one.
struct call {
  std::size_t rank = 0;
  ns begin = 0, wait = 0, leave = 0, overhead = 0, entry = 0;
  bool completes = false;  ///< it waits for receives that were posted before
  ns blocked() const { return begin + entry; }
};
using call_id = std::size_t;

/// An instant that others may need, or that needs others.
struct point {
  enum place { at_begin, at_end, at_junction } where = at_begin;
  std::size_t number = 0;
};
inline point begin_of(call_id c) { return {point::at_begin, c}; }
inline point end_of(call_id c) { return {point::at_end, c}; }

/// What one member contributes to a collective operation, and when that reaches those who need it.
struct contribution {
  call_id from = 0;
  ns at = 0;
};

enum class together { barrier, all_to_all };

/// `delay_ledger<>`, used as its documentation says.
class ledger_books {
 public:
  explicit ledger_books(std::size_t ranks) : books_(ranks) {}

  call_id add(const call& c) {
    calls_.push_back(books_.call(c.rank, c.blocked(), c.wait, c.overhead));
    return calls_.size() - 1;
  }
  point junction() {
    junctions_.push_back(books_.junction());
    return {point::at_junction, junctions_.size() - 1};
  }
  void needs(point to, point from, ns at, ns cost = 0) { books_.needs(event(to), event(from), at, cost); }
  void synchronise(together, const std::vector<call_id>& all) {
    std::vector<clocks::delay_ledger<>::handle> calls;
    for (const call_id c : all) calls.push_back(calls_[c]);
    books_.synchronise(calls.data(), calls.size());
  }
  void meet(call_id sender, call_id receiver) { books_.meet(calls_[sender], calls_[receiver]); }
  void one_to_all(contribution root, const std::vector<call_id>& receivers) {
    for (const call_id r : receivers) needs(end_of(r), begin_of(root.from), root.at);
  }
  void all_to_one(call_id root, const std::vector<contribution>& others) {
    for (const contribution& c : others) needs(end_of(root), begin_of(c.from), c.at);
  }
  void prefix(const std::vector<contribution>& in_order) {
    for (std::size_t i = 0; i != in_order.size(); ++i)
      for (std::size_t j = 0; j != i; ++j) needs(end_of(in_order[i].from), begin_of(in_order[j].from), in_order[j].at);
  }
  void close(std::size_t rank, ns end, ns overhead) { books_.close(rank, end, overhead); }

  void run() { books_.replay(); }
  ns delay(call_id c) const { return books_.delay(calls_[c].end); }
  ns wait(call_id c) const { return books_.wait(calls_[c]); }
  bool exact(call_id c) const { return books_.trust(calls_[c]) == explain::quality::exact; }
  /// No delay is larger than the overhead on the measured critical path (overhead, C3).
  bool bounded(call_id c) const { return delay(c) <= books_.bound(calls_[c].end); }
  ns final_delay(std::size_t rank) const { return books_.final_delay(rank); }
  ns total() const { return books_.total(); }

 private:
  clocks::delay_ledger<>::event event(point p) const {
    if (p.where == point::at_junction) return junctions_.at(p.number);
    return p.where == point::at_begin ? calls_.at(p.number).begin : calls_.at(p.number).end;
  }

  clocks::delay_ledger<> books_;
  std::vector<clocks::delay_ledger<>::handle> calls_;
  std::vector<clocks::delay_ledger<>::event> junctions_;
};

/// The same program as histories of ranks, explained as the end of a run explains them, with virtual clocks.
///
/// The clocks know no latency: a call needs the *beginning* of another. So a message that arrives later than its send
/// began goes through a rank of its own, which receives it, spends the latency in the receive, and sends it on. A
/// junction is a rank that waits for several messages. To see the delay at the end of every call, each call then sends a
/// message to a rank that has been waiting for it since the beginning: the wait of that rank without overhead is the time
/// of the call's end without overhead. Beside every message there is another one, of the same tag on another communicator,
/// sent at the very beginning and received last. A matching that ignores the communicator yields other waits.
class clock_books {
 public:
  explicit clock_books(std::size_t ranks) : ranks_(ranks), next_rank_(ranks), of_rank_(ranks), ends_(ranks) {}

  call_id add(const call& c) {
    calls_.push_back({});
    calls_.back().what = c;
    of_rank_.at(c.rank).push_back(calls_.size() - 1);
    return calls_.size() - 1;
  }
  point junction() {
    helpers_.push_back({next_rank_++, true, {}, {}, 0, 0});
    return {point::at_junction, helpers_.size() - 1};
  }
  void needs(point to, point from, ns at, ns cost = 0) { edges_.push_back({to, from, at, cost}); }
  void synchronise(together what, const std::vector<call_id>& all) {
    const std::uint64_t id = group();
    std::int32_t place = 0;
    for (const call_id c : all)
      members_.push_back({id, calls_[c].what.rank, place++, -1,
                          what == together::barrier ? core::mpi_call::Barrier : core::mpi_call::Allreduce, both, c, 0});
  }
  void meet(call_id sender, call_id receiver) {
    const int tag = next_tag_++;
    calls_[sender].sends_synchronously = {static_cast<int>(calls_[receiver].what.rank), tag};
    calls_[receiver].receives.push_back({static_cast<int>(calls_[sender].what.rank), tag});
  }
  void one_to_all(contribution root, const std::vector<call_id>& receivers) {
    const std::uint64_t id = group();
    contribute(id, core::mpi_call::Bcast, root, 0, 0);
    std::int32_t place = 1;
    for (const call_id r : receivers)
      members_.push_back({id, calls_[r].what.rank, place++, 0, core::mpi_call::Bcast, takes, r, 0});
  }
  void all_to_one(call_id root, const std::vector<contribution>& others) {
    const std::uint64_t id = group();
    members_.push_back({id, calls_[root].what.rank, 0, 0, core::mpi_call::Reduce, takes, root, 0});
    std::int32_t place = 1;
    for (const contribution& c : others) contribute(id, core::mpi_call::Reduce, c, place++, 0);
  }
  void prefix(const std::vector<contribution>& in_order) {
    const std::uint64_t id = group();
    std::int32_t place = 0;
    for (const contribution& c : in_order) {
      if (c.at == calls_[c.from].what.begin) {
        members_.push_back({id, calls_[c.from].what.rank, place++, -1, core::mpi_call::Scan, both, c.from, 0});
        continue;
      }
      members_.push_back({id, calls_[c.from].what.rank, place++, -1, core::mpi_call::Scan, takes, c.from, 0});
      contribute(id, core::mpi_call::Scan, c, place++, -1);
    }
  }
  void close(std::size_t rank, ns end, ns overhead) { ends_.at(rank) = {end, overhead}; }

  void run() {
    for (const edge& e : edges_) connect(e);
    for (call_id c = 0; c != calls_.size(); ++c) calls_[c].probe = probe();
    for (std::size_t r = 0; r != ranks_; ++r) end_probes_.push_back(probe());
    histories::run all(static_cast<int>(next_rank_));
    for (int r = 0; r != all.ranks(); ++r) {
      explain::communicator other = all[r].communicators[0];
      other.id = core::key_of("beside");
      all[r].communicators.push_back(other);
    }
    for (std::size_t r = 0; r != ranks_; ++r) write(all[static_cast<int>(r)], r);
    for (const helper& h : helpers_) write(all[static_cast<int>(h.rank)], h);
    for (const member& m : members_)
      if (m.of == no_call) join(all[static_cast<int>(m.rank)], m, m.at, m.at, "contribution", 0);
    explain::options settings = histories::run::exact();
    settings.clocks = &clocks::virtual_clocks;
    settings.savings = 0;
    out_ = all.explain(settings);
  }

  ns delay(call_id c) const { return calls_.at(c).what.leave - compensated(probe_name(calls_[c].probe)); }
  /// The wait that the report prints. The report has none for a call that was not blocked; then it follows from the delays.
  ns wait(call_id c) const {
    const call& what = calls_.at(c).what;
    return reported(c) ? compensated(call_name(c)) : what.wait + delay_before(c) - delay(c);
  }
  /// The wait before compensation is the one that was measured, or the call was not blocked.
  bool exact(call_id c) const {
    const auto found = sums().find(core::key_of(call_name(c).c_str()));
    const ns measured = found == sums().end() ? 0 : found->second.wait;
    return measured == calls_.at(c).what.wait;
  }
  bool bounded(call_id) const { return out_.total_ns - out_.without_overhead.total_ns <= out_.without_overhead.bound_ns; }
  ns final_delay(std::size_t rank) const { return ends_.at(rank).at - compensated(probe_name(end_probes_.at(rank))); }
  ns total() const { return out_.without_overhead.total_ns; }
  /// All waits of the program without overhead, as the report has it: also those that measuring had hidden.
  ns all_waits() const {
    ns helpers = 0;
    for (const auto& s : sums()) helpers += s.second.of_helper ? s.second.compensated : 0;
    return out_.without_overhead.waiting_ns - helpers;
  }

 private:
  static constexpr std::uint32_t beside = 1;  ///< the other communicator of all ranks
  static constexpr call_id no_call = static_cast<call_id>(-1);
  static constexpr unsigned gives = histories::flag::contributes, takes = histories::flag::consumes, both = gives | takes;

  struct message {
    int peer = 0, tag = 0;
  };
  struct known_call {
    call what;
    std::vector<message> sends, receives, sends_after;
    message sends_synchronously{-1, 0};
    std::size_t probe = 0;
    int probe_tag = 0;
  };
  struct helper {
    std::size_t rank;
    bool joins;  ///< a junction; else it passes one message on
    std::vector<message> receives, sends;
    ns at, cost;  ///< when it sends; overhead before that
  };
  struct edge {
    point to, from;
    ns at, cost;
  };
  struct member {
    std::uint64_t group;
    std::size_t rank;
    std::int32_t place, root;
    core::mpi_call what;
    unsigned data;
    call_id of;  ///< no_call: a helper, at `at`
    ns at;
  };
  struct last {
    ns at = 0, overhead = 0;
  };
  struct sum {
    ns wait = 0, compensated = 0;
    bool of_helper = false;
  };

  static std::string call_name(call_id c) { return "call " + std::to_string(c); }
  static std::string probe_name(std::size_t h) { return "helper " + std::to_string(h); }

  std::uint64_t group() { return core::combine(4711, ++groups_); }
  std::size_t probe() {
    helpers_.push_back({next_rank_++, false, {}, {}, 0, 0});
    return helpers_.size() - 1;
  }

  // A member that only contributes: its call, if that is when its contribution is there; else a helper.
  void contribute(std::uint64_t id, core::mpi_call what, contribution c, std::int32_t place, std::int32_t root) {
    if (c.at == calls_[c.from].what.begin) {
      members_.push_back({id, calls_[c.from].what.rank, place, root, what, gives, c.from, 0});
      return;
    }
    const std::size_t wire = probe();
    helpers_[wire].at = c.at;
    deliver(begin_of(c.from), wire);
    members_.push_back({id, helpers_[wire].rank, place, root, what, gives, no_call, c.at});
  }

  ns time_of(point p) const {
    if (p.where == point::at_begin) return calls_.at(p.number).what.begin;
    if (p.where == point::at_end) return calls_.at(p.number).what.leave;
    ns latest = 0;
    for (const edge& e : edges_)
      if (e.to.where == point::at_junction && e.to.number == p.number) latest = std::max(latest, e.at);
    return latest;
  }
  std::size_t rank_of(point p) const {
    return p.where == point::at_junction ? helpers_.at(p.number).rank : calls_.at(p.number).what.rank;
  }
  std::vector<message>& sends_of(point p) {
    if (p.where == point::at_junction) return helpers_.at(p.number).sends;
    return p.where == point::at_begin ? calls_.at(p.number).sends : calls_.at(p.number).sends_after;
  }
  std::vector<message>& receives_of(point p) {
    return p.where == point::at_junction ? helpers_.at(p.number).receives : calls_.at(p.number).receives;
  }
  void deliver(point from, std::size_t helper_number) {
    const int tag = next_tag_++;
    sends_of(from).push_back({static_cast<int>(helpers_[helper_number].rank), tag});
    helpers_[helper_number].receives.push_back({static_cast<int>(rank_of(from)), tag});
  }
  void connect(const edge& e) {
    if (e.at < time_of(e.from) + e.cost) throw std::logic_error("an input is there before it was sent");
    const int tag = next_tag_++;
    if (e.at == time_of(e.from) && e.cost == 0) {
      sends_of(e.from).push_back({static_cast<int>(rank_of(e.to)), tag});
      receives_of(e.to).push_back({static_cast<int>(rank_of(e.from)), tag});
      return;
    }
    const std::size_t wire = probe();
    helpers_[wire].at = e.at;
    helpers_[wire].cost = e.cost;
    deliver(e.from, wire);
    helpers_[wire].sends.push_back({static_cast<int>(rank_of(e.to)), tag});
    receives_of(e.to).push_back({static_cast<int>(helpers_[wire].rank), tag});
  }

  // One call, or several receives that one call completes.
  static void receive_all(histories::rank_data& rank, const std::vector<message>& from, ns begin, ns leave,
                          const std::string& name, std::uint32_t& overhead, bool completes) {
    receive_these(rank, from, begin, leave, name, overhead, completes);
    const auto e = static_cast<std::uint64_t>(leave);
    for (const message& m : from) rank.receive(e, e, m.peer, m.tag, "beside").comm = beside;
  }
  static void send_beside(histories::rank_data& rank, const std::vector<message>& to) {
    for (const message& m : to) rank.send(0, 0, m.peer, m.tag, "beside").comm = beside;
  }
  static void receive_these(histories::rank_data& rank, const std::vector<message>& from, ns begin, ns leave,
                            const std::string& name, std::uint32_t& overhead, bool completes) {
    const auto b = static_cast<std::uint64_t>(begin), e = static_cast<std::uint64_t>(leave);
    if (from.size() == 1 && !completes) {
      rank.receive(b, e, from[0].peer, from[0].tag, name).overhead = std::exchange(overhead, 0);
      return;
    }
    std::vector<std::uint32_t> posted;
    for (const message& m : from) {
      posted.push_back(rank.post_receive(b, b, m.peer, m.tag));
      rank.locations[0].records.back().overhead = std::exchange(overhead, 0);
    }
    rank.call(from.size() == 1 ? core::mpi_call::Wait : core::mpi_call::Waitall, b, e, name).posting = 0;
    for (const std::uint32_t p : posted) rank.completes(p);
  }
  static void send_all(histories::rank_data& rank, const std::vector<message>& to, ns at, std::uint32_t& overhead) {
    const auto t = static_cast<std::uint64_t>(at);
    for (const message& m : to) rank.send(t, t, m.peer, m.tag).overhead = std::exchange(overhead, 0);
  }
  void join(histories::rank_data& rank, const member& m, ns begin, ns leave, const std::string& name,
            std::uint32_t overhead) const {
    explain::communicator c;
    c.id = m.group;
    c.rank = m.place;
    for (const member& other : members_) {
      if (other.group != m.group) continue;
      ++c.size;
      c.world.resize(std::max(c.world.size(), static_cast<std::size_t>(other.place) + 1));
      c.world[static_cast<std::size_t>(other.place)] = static_cast<std::int32_t>(other.rank);
    }
    rank.communicators.push_back(c);
    core::sync_record& r = rank.call(m.what, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(leave), name);
    r.peer = m.root;
    r.flags = static_cast<std::uint16_t>(m.data);
    r.comm = static_cast<std::uint32_t>(rank.communicators.size() - 1);
    r.overhead = overhead;
  }

  void write(histories::rank_data& rank, std::size_t number) {
    for (const call_id id : of_rank_[number]) {
      known_call& c = calls_[id];
      c.probe_tag = next_tag_++;
      send_beside(rank, c.sends);
      send_beside(rank, c.sends_after);
      send_beside(rank, {{static_cast<int>(helpers_[c.probe].rank), c.probe_tag}});
      if (c.sends_synchronously.peer >= 0) send_beside(rank, {c.sends_synchronously});
    }
    const int end_tag = next_tag_++;
    send_beside(rank, {{static_cast<int>(helpers_[end_probes_[number]].rank), end_tag}});
    for (const call_id id : of_rank_[number]) {
      const known_call& c = calls_[id];
      auto overhead = static_cast<std::uint32_t>(c.what.overhead);
      const auto in = std::find_if(members_.begin(), members_.end(), [id](const member& m) { return m.of == id; });
      const bool plain = in == members_.end() && c.receives.empty() && c.sends_synchronously.peer < 0;
      std::vector<message> sends = c.sends;
      if (plain && !sends.empty()) {
        const message whole = sends.back();  // the call itself
        sends.pop_back();
        send_all(rank, sends, c.what.begin, overhead);
        rank.send(static_cast<std::uint64_t>(c.what.begin), static_cast<std::uint64_t>(c.what.leave), whole.peer, whole.tag,
                  call_name(id))
            .overhead = std::exchange(overhead, 0);
      } else {
        send_all(rank, sends, c.what.begin, overhead);
      }
      if (c.sends_synchronously.peer >= 0) {
        core::sync_record& r = rank.send(static_cast<std::uint64_t>(c.what.begin), static_cast<std::uint64_t>(c.what.leave),
                                         c.sends_synchronously.peer, c.sends_synchronously.tag, call_name(id));
        r.call = core::mpi_call::Ssend;
        r.flags = static_cast<std::uint16_t>(r.flags | histories::flag::synchronous);
        r.overhead = std::exchange(overhead, 0);
      }
      if (in != members_.end()) join(rank, *in, c.what.blocked(), c.what.leave, call_name(id), std::exchange(overhead, 0));
      if (!c.receives.empty())
        receive_all(rank, c.receives, c.what.blocked(), c.what.leave, call_name(id), overhead, c.what.completes);
      send_all(rank, c.sends_after, c.what.leave, overhead);
      send_all(rank, {{static_cast<int>(helpers_[c.probe].rank), c.probe_tag}}, c.what.leave, overhead);
      watch(c.probe, number, c.probe_tag, c.what.leave);
    }
    auto overhead = static_cast<std::uint32_t>(ends_[number].overhead);
    const ns end = ends_[number].at;
    send_all(rank, {{static_cast<int>(helpers_[end_probes_[number]].rank), end_tag}}, end, overhead);
    watch(end_probes_[number], number, end_tag, end);
    rank.end_ns = end;
  }
  void watch(std::size_t probe, std::size_t rank, int tag, ns at) {
    helpers_[probe].at = at;
    helpers_[probe].receives.push_back({static_cast<int>(rank), tag});
  }
  void write(histories::rank_data& rank, const helper& h) const {
    const auto number = static_cast<std::size_t>(&h - helpers_.data());
    const ns at = h.joins ? time_of({point::at_junction, number}) : h.at;
    std::uint32_t overhead = 0;
    send_beside(rank, h.sends);
    receive_all(rank, h.receives, 0, at - h.cost, probe_name(number), overhead, false);
    overhead = static_cast<std::uint32_t>(h.cost);
    send_all(rank, h.sends, at, overhead);
    rank.end_ns = at;
  }

  ns delay_before(call_id c) const {
    ns delay = 0;
    for (const call_id other : of_rank_.at(calls_[c].what.rank)) {
      if (other == c) break;
      delay = this->delay(other);
    }
    return delay + calls_[c].what.overhead;
  }
  bool reported(call_id c) const { return sums().count(core::key_of(call_name(c).c_str())) != 0; }
  ns compensated(const std::string& name) const {
    const auto found = sums().find(core::key_of(name.c_str()));
    return found == sums().end() ? 0 : found->second.compensated;
  }
  // What the report has by call site.
  const std::map<core::stable_key, sum>& sums() const {
    if (sums_.empty()) {
      for (const explain::explanation& e : out_.waits) {
        sums_[e.operation].wait += e.wait_ns;
        sums_[e.operation].compensated += e.compensated_ns;
      }
      for (std::size_t h = 0; h != helpers_.size(); ++h) {
        const auto found = sums_.find(core::key_of(probe_name(h).c_str()));
        if (found != sums_.end()) found->second.of_helper = true;
      }
    }
    return sums_;
  }

  std::size_t ranks_, next_rank_;
  std::uint64_t groups_ = 0;
  int next_tag_ = 1;
  std::vector<known_call> calls_;
  std::vector<helper> helpers_;
  std::vector<edge> edges_;
  std::vector<member> members_;
  std::vector<std::vector<call_id>> of_rank_;
  std::vector<last> ends_;
  std::vector<std::size_t> end_probes_;
  explain::outcome out_;
  mutable std::map<core::stable_key, sum> sums_;
};

}  // namespace books

#endif
