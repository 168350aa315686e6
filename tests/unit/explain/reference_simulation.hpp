#ifndef WHYWAIT_TESTS_UNIT_EXPLAIN_REFERENCE_SIMULATION_HPP
#define WHYWAIT_TESTS_UNIT_EXPLAIN_REFERENCE_SIMULATION_HPP

#include "../../sanitizers.hpp"
#include "histories.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

// A simple simulator of random MPI-like programs. It determines by construction which rank waited for which, and
// explains a wait by the pairwise difference of the two intervals since the last alignment, with waits inside them
// expanded recursively (docs/method.md 1.3). It uses no causal path profiles, ordinal matching or transport.
namespace reference {

using namespace histories;

using profile = std::map<core::stable_key, explain::block_use>;

/// A piece of the work of one rank.
struct piece {
  core::stable_key block = 0;
  explain::block_use use;
  int wait = -1;  ///< index of a wait; -1 for a block
};

struct true_wait {
  explain::pattern why = explain::pattern::late_sender;
  int rank = 0;
  std::uint32_t record = 0;
  int causer = 0;
  std::uint32_t causer_record = 0;
  std::int64_t begin_ns = 0, wait_ns = 0;
  std::size_t after = 0;  ///< position after it in the waiter's pieces
  int group = -1;         ///< index of the all-synchronising operation
};

struct shape {
  int ranks = 4;
  int events = 40;
  bool tails = true;  ///< transfer takes time
  /// All decisions are independent of time. There are no wildcards and no Waitany, and a buffered send completes
  /// immediately and separately from other requests. A modified run therefore makes the same decisions.
  bool certain = false;
  bool overhead = false;  ///< measurement costs time before every call
  /// Every call costs wrapper time before, inside and after it, and every mark has a cost. The histories contain these
  /// constants. The inside cost comes before MPI receives the call.
  bool constants = false;
  bool apart = false;  ///< some buffered messages are received much later than they are sent
  std::map<std::string, double> factors;  ///< duration factor of each block
  double network = 1;  ///< duration factor of time in calls that is not waiting
};

class program {
 public:
  program(std::uint64_t seed, shape s)
      : random_(seed), shape_(std::move(s)), data_(shape_.ranks), ranks_(static_cast<std::size_t>(shape_.ranks)) {
    for (int i = 0; i != shape_.ranks; ++i) durations_.emplace_back(seed * 1000 + static_cast<std::uint64_t>(i));
    groups_.push_back({});
    for (int i = 0; i != shape_.ranks; ++i) groups_[0].push_back(i);
    if (shape_.ranks > 2) {
      for (int g = 1; g != 3; ++g) add_group(g);
    }
    for (int i = 0; i != shape_.ranks; ++i) {
      state& r = ranks_[static_cast<std::size_t>(i)];
      r.begin = r.now = pick(0, 50);
      data_[i].begin_ns = r.begin;
      if (!shape_.constants) continue;
      auto& costs = data_[i].locations[0].call_overheads;
      for (std::size_t c = 0; c != static_cast<std::size_t>(mpi_call::count_); ++c) {
        costs.push_back(cost_of(static_cast<mpi_call>(c)));
      }
      data_[i].locations[0].mark_overheads.region_ns = mark_ns;
    }
    std::int64_t earliest = INT64_MAX;
    for (const state& r : ranks_) earliest = std::min(earliest, r.begin);
    for (state& r : ranks_) r.pieces.push_back({explain::startup_key(), {1, r.begin - earliest, 0}, -1});
    earliest_ = earliest;
    generate();
    simulate();
  }

  run& histories() { return data_; }
  /// Whether the receiver of a buffered message came while the sender was still in MPI_Send: then the records look as if the
  /// sender had waited for it.
  bool seems_rendezvous() {
    for (const buffered& b : buffered_) {
      const sync_record& s = data_[b.sender].locations[0].records[b.record];
      const std::uint64_t came = data_[b.receiver].locations[0].records[b.received].begin;
      if (s.call == mpi_call::Send && came > s.begin && came <= s.begin + s.duration) return true;
    }
    return false;
  }
  const whywait::base::vector<true_wait>& waits() const { return waits_; }
  /// From the first begin to the last end.
  std::int64_t total() const {
    std::int64_t latest = 0;
    for (int i = 0; i != shape_.ranks; ++i) latest = std::max(latest, elapsed(i));
    return latest;
  }
  /// Total time of all ranks in blocked calls.
  std::int64_t blocked_ns() const { return blocked_ns_; }
  std::int64_t overhead_ns() const { return overhead_ns_; }
  std::int64_t elapsed(int rank) const { return ranks_[static_cast<std::size_t>(rank)].now - earliest_; }
  std::int64_t call_ns(int rank, std::uint32_t record) {
    return static_cast<std::int64_t>(data_[rank].locations[0].records[record].duration);
  }

  /// Causer minus waiter since the last alignment, with waits expanded.
  const profile& explanation(std::size_t k) {
    const auto known = explained_.find(k);
    if (known != explained_.end()) return known->second;
    const true_wait& w = waits_[k];
    const std::size_t end_p = w.after - 1;
    const std::size_t end_q = at_record(w.causer, w.causer_record);
    std::size_t from_p = 0, from_q = 0;
    for (const true_wait& a : waits_) {
      if (a.rank == w.rank && a.causer == w.causer) {
        later(from_p, from_q, a.after, at_record(a.causer, a.causer_record), end_p, end_q);
      } else if (a.rank == w.causer && a.causer == w.rank) {
        later(from_p, from_q, at_record(a.causer, a.causer_record), a.after, end_p, end_q);
      } else if (a.group >= 0 && a.rank == w.rank) {  // both were aligned by a third rank
        for (const true_wait& b : waits_) {
          if (b.group == a.group && b.rank == w.causer) later(from_p, from_q, a.after, b.after, end_p, end_q);
        }
      }
    }
    profile x;
    add(x, w.causer, from_q, end_q, 1);
    add(x, w.rank, from_p, end_p, -1);
    for (auto it = x.begin(); it != x.end();) {
      const explain::block_use& u = it->second;
      it = u.ns == 0 && u.visits == 0 && u.work == 0 ? x.erase(it) : std::next(it);
    }
    return explained_[k] = std::move(x);
  }

 private:
  enum kind { send, isend, recv, irecv, probe, exchange, wait_some, wait_all, wait_any, collective };

  struct op {
    kind what = send;
    int peer = 0, tag = 0;
    bool rendezvous = false, wildcard = false;
    mpi_call call = mpi_call::none;
    int group = 0, root = 0;
    int site = 0;
  };

  // A message operation, with the time of its posting and its partner.
  struct request {
    bool sending = false, rendezvous = false, over = false;
    int peer = 0, tag = 0;
    std::uint32_t record = 0;
    std::int64_t posted = 0;
    int met_rank = -1;
    std::uint32_t met_record = 0;
    std::int64_t met = -1;  ///< posting time of the other side

    bool done() const { return sending && !rendezvous ? true : met_rank >= 0; }
    std::int64_t done_at() const { return sending && !rendezvous ? posted : std::max(posted, met); }
  };

  struct state {
    std::int64_t begin = 0, now = 0;
    whywait::base::vector<op> ops;
    std::size_t next = 0;
    bool blocked = false, leaving = false;
    std::int64_t enter = 0, over = 0, overhead = 0;
    whywait::base::vector<std::size_t> completed;  ///< requests that the current call completes
    std::uint32_t record = 0;  ///< of the current call
    whywait::base::vector<request> requests;
    whywait::base::vector<std::size_t> current;  ///< requests of the current call
    whywait::base::vector<std::size_t> posted;  ///< posted by this rank, not yet completed
    whywait::base::vector<std::pair<int, std::size_t>> unexpected;  ///< (sender, its request), in order of sending
    whywait::base::vector<std::size_t> receives;  ///< posted and unmatched, in order
    whywait::base::vector<piece> pieces;
    std::map<std::uint32_t, std::size_t> positions;
    core::stable_key previous_site = 0;
    std::map<int, int> turns;  ///< number of collectives begun, by group

    std::int64_t at() const { return leaving ? over : enter; }
  };

  struct meeting {
    mpi_call call = mpi_call::none;
    int root = 0;
    std::map<int, std::pair<std::int64_t, std::uint32_t>> entered;  ///< rank to enter time and record
    bool all = false;
  };

  static constexpr std::int64_t mark_ns = 2;  // per visit
  static core::call_overhead cost_of(mpi_call call) {
    const auto c = static_cast<int>(call);
    return {3.0 + c % 5, 4.0 + c % 11, 1.0 + c % 4, 1.0 + c % 3, 2.0};
  }
  std::int64_t constant(double part) const { return shape_.constants ? std::llround(part) : 0; }
  mpi_call call_of(const op& o) const {
    switch (o.what) {
      case send: return mpi_call::Send;
      case isend: return mpi_call::Isend;
      case recv: return mpi_call::Recv;
      case irecv: return mpi_call::Irecv;
      case probe: return mpi_call::Probe;
      case exchange: return mpi_call::Sendrecv;
      case wait_some: return mpi_call::Wait;
      case wait_all: return mpi_call::Waitall;
      case wait_any: return mpi_call::Waitany;
      default: return o.call;
    }
  }

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(0, 99) < percent; }
  // The durations on a rank must not depend on the timing of other ranks.
  std::int64_t draw(int i, std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(durations_[static_cast<std::size_t>(i)]() % static_cast<std::uint64_t>(high - low + 1));
  }
  static std::int64_t scaled(std::int64_t ns, double factor) {
    return ns - std::llround((1 - factor) * static_cast<double>(ns));
  }
  state& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }

  void add_group(int g) {
    whywait::base::vector<int> members;
    for (int i = 0; i != shape_.ranks; ++i) {
      if (chance(60)) members.push_back(i);
    }
    if (members.size() < 2) members = {0, shape_.ranks - 1};
    for (std::size_t m = 0; m != members.size(); ++m) {
      explain::communicator c;
      c.id = core::combine(77, static_cast<std::uint64_t>(g));
      c.size = static_cast<std::int32_t>(members.size());
      c.rank = static_cast<std::int32_t>(m);
      for (int i : members) c.world.push_back(i);
      group_index_[{g, members[m]}] = static_cast<std::uint32_t>(data_[members[m]].communicators.size());
      data_[members[m]].communicators.push_back(c);
    }
    groups_.push_back(members);
  }

  op& push(int r, kind what) {
    op o;
    o.what = what;
    o.site = static_cast<int>(pick(0, 3));
    rank(r).ops.push_back(o);
    return rank(r).ops.back();
  }

  void receive_apart(whywait::base::vector<std::pair<int, int>>& apart) {
    op& q = push(apart.front().second, chance(50) ? recv : irecv);
    q.peer = apart.front().first;
    q.tag = 7;
    apart.erase(apart.begin());
  }

  // A global order of events, appended to the ranks involved, cannot deadlock.
  void generate() {
    whywait::base::vector<std::pair<int, int>> apart;
    for (int e = 0; e != shape_.events; ++e) {
      const int a = static_cast<int>(pick(0, shape_.ranks - 1));
      int b = static_cast<int>(pick(0, shape_.ranks - 2));
      if (b >= a) ++b;
      const std::int64_t type = pick(0, 99);
      if (shape_.apart && chance(30)) {
        if (chance(60) || apart.empty()) {
          op& s = push(a, chance(50) ? send : isend);
          s.peer = b;
          s.tag = 7;
          apart.push_back({a, b});
        } else {
          receive_apart(apart);
        }
      } else if (type < 50) {
        op& s = push(a, chance(50) ? send : isend);
        s.peer = b;
        s.tag = static_cast<int>(pick(0, 1));
        s.rendezvous = chance(50);
        const int tag = s.tag;
        const std::int64_t how = pick(0, 9);
        if (how < 2) {
          op& p = push(b, probe);
          p.peer = a;
          p.tag = tag;
        }
        op& q = push(b, how < 6 ? recv : irecv);
        q.peer = a;
        q.tag = tag;
      } else if (type < 58 && !shape_.certain) {  // a wildcard matches the first arrival, so its senders must not block
        op& s = push(a, send);
        s.peer = b;
        s.tag = 9;
        op& q = push(b, recv);
        q.wildcard = true;
        q.tag = 9;
      } else if (type < 66) {
        const bool slow = chance(50);
        for (const auto& pair : {std::make_pair(a, b), std::make_pair(b, a)}) {
          op& x = push(pair.first, exchange);
          x.peer = pair.second;
          x.tag = 5;
          x.rendezvous = slow;
        }
      } else if (type < 84) {
        push(a, chance(40) && !shape_.certain ? wait_any : chance(50) ? wait_some : wait_all);
      } else {
        static const std::array<mpi_call, 6> calls = {mpi_call::Barrier, mpi_call::Allreduce, mpi_call::Bcast,
                                                      mpi_call::Reduce,  mpi_call::Scan,      mpi_call::Exscan};
        const mpi_call call = calls[static_cast<std::size_t>(pick(0, 5))];
        const int g = static_cast<int>(pick(0, static_cast<std::int64_t>(groups_.size()) - 1));
        const auto& members = groups_[static_cast<std::size_t>(g)];
        const int root = static_cast<int>(pick(0, static_cast<std::int64_t>(members.size()) - 1));
        for (const int m : members) {
          op& c = push(m, collective);
          c.call = call;
          c.group = g;
          c.root = root;
        }
      }
    }
    while (!apart.empty()) receive_apart(apart);
    for (int i = 0; i != shape_.ranks; ++i) push(i, wait_all);
    for (int i = 0; i != shape_.ranks; ++i) push(i, collective).call = mpi_call::Finalize;
  }

  // ---- simulation

  void simulate() {
    for (int i = 0; i != shape_.ranks; ++i) prepare(i);
    for (;;) {
      int first = -1;
      for (int i = 0; i != shape_.ranks; ++i) {
        const state& r = rank(i);
        if ((!r.blocked || r.leaving) && r.next != r.ops.size() && (first < 0 || r.at() < rank(first).at())) first = i;
      }
      if (first < 0) break;
      if (rank(first).leaving) {
        leave_messages(first);
      } else {
        enter(first);
      }
      for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i != shape_.ranks; ++i) {
          moved = (rank(i).blocked && !rank(i).leaving && try_leave(i)) || moved;
        }
      }
    }
    for (int i = 0; i != shape_.ranks; ++i) {
      state& r = rank(i);
      if (r.next != r.ops.size()) throw std::logic_error("the reference program is stuck");
      data_[i].end_ns = r.now;
    }
  }

  std::string site_name(const op& o) {
    return "site" + std::to_string(o.site) + (o.what == collective ? core::name_of(o.call) : std::to_string(o.what));
  }

  // Computes up to the next call.
  void prepare(int i) {
    state& r = rank(i);
    if (r.next == r.ops.size()) return;
    const op& o = r.ops[r.next];
    std::int64_t t = r.now;
    const std::int64_t steps = draw(i, 0, 3);
    for (std::int64_t s = 0; s != steps; ++s) {
      const std::string block = "block" + std::to_string(draw(i, 0, 4));
      const std::int64_t visits = draw(i, 1, 5);
      const std::int64_t each = draw(i, 1, 60);
      const auto factor = shape_.factors.find(block);
      const std::int64_t ns = scaled(visits * each + draw(i, 0, 9), factor == shape_.factors.end() ? 1 : factor->second);
      const std::int64_t work = draw(i, 0, 99) < 30 ? draw(i, 1, 20) : 0;
      data_[i].step(block, static_cast<std::uint64_t>(ns), static_cast<std::uint64_t>(visits),
                    static_cast<std::uint64_t>(work));
      r.pieces.push_back({core::key_of(block.c_str()), {visits, ns, work}, -1});
      t += ns + constant(static_cast<double>(visits * mark_ns));
      overhead_ns_ += constant(static_cast<double>(visits * mark_ns));
    }
    std::int64_t gap = draw(i, 0, 99) < 30 ? 0 : draw(i, 1, 30);
    const std::int64_t cost = draw(i, 0, 99) < 60 ? draw(i, 1, 90) : 0;
    r.overhead = shape_.overhead ? cost : 0;
    overhead_ns_ += r.overhead;
    gap += r.overhead;
    const core::stable_key site = core::key_of(site_name(o).c_str());
    if (gap > 0) r.pieces.push_back({explain::between_key(r.previous_site, site), {1, gap, 0}, -1});
    r.previous_site = site;
    const core::call_overhead each = cost_of(call_of(o));
    overhead_ns_ += constant(each.before_ns + each.inside_ns + each.back_ns + each.after_ns);
    r.enter = t + gap + constant(each.before_ns + each.inside_ns);
  }

  std::uint32_t write(int i, mpi_call call, const op& o, unsigned flags, int peer, int tag) {
    state& r = rank(i);
    const auto t = static_cast<std::uint64_t>(r.enter - constant(cost_of(call).inside_ns));
    sync_record& s = data_[i].call(call, t, t, site_name(o));
    s.flags = static_cast<std::uint16_t>(flags);
    s.peer = peer;
    s.tag = tag;
    s.overhead = static_cast<std::uint32_t>(r.overhead);
    r.overhead = 0;
    r.positions[data_[i].last()] = r.pieces.size();
    return data_[i].last();
  }

  static bool compatible(const request& receive, const request& message, int sender) {
    return (receive.peer < 0 || receive.peer == sender) && receive.tag == message.tag;
  }

  void meet(int sender, std::size_t m, int receiver, std::size_t q) {
    request& message = rank(sender).requests[m];
    request& receive = rank(receiver).requests[q];
    message.met_rank = receiver;
    message.met = receive.posted;
    message.met_record = receive.record;
    receive.met_rank = sender;
    receive.met = message.posted;
    receive.met_record = message.record;
    if (!message.rendezvous) buffered_.push_back({sender, message.record, receiver, receive.record});
    data_[receiver].locations[0].records[receive.record].peer = sender;
  }

  std::size_t post_message(int i, const op& o, std::uint32_t record) {
    state& r = rank(i);
    request q;
    q.sending = true;
    q.rendezvous = o.rendezvous;
    q.peer = o.peer;
    q.tag = o.tag;
    q.record = record;
    q.posted = r.enter;
    r.requests.push_back(q);
    const std::size_t number = r.requests.size() - 1;
    state& d = rank(o.peer);
    for (std::size_t k = 0; k != d.receives.size(); ++k) {
      if (!compatible(d.requests[d.receives[k]], q, i)) continue;
      const std::size_t taken = d.receives[k];
      d.receives.erase(d.receives.begin() + static_cast<std::ptrdiff_t>(k));
      meet(i, number, o.peer, taken);
      return number;
    }
    d.unexpected.emplace_back(i, number);
    return number;
  }

  std::size_t post_receive(int i, const op& o, std::uint32_t record) {
    state& r = rank(i);
    request q;
    q.peer = o.wildcard ? -1 : o.peer;
    q.tag = o.tag;
    q.record = record;
    q.posted = r.enter;
    r.requests.push_back(q);
    const std::size_t number = r.requests.size() - 1;
    for (std::size_t k = 0; k != r.unexpected.size(); ++k) {
      const auto m = r.unexpected[k];
      if (!compatible(q, rank(m.first).requests[m.second], m.first)) continue;
      r.unexpected.erase(r.unexpected.begin() + static_cast<std::ptrdiff_t>(k));
      meet(m.first, m.second, i, number);
      return number;
    }
    r.receives.push_back(number);
    return number;
  }

  void enter(int i) {
    state& r = rank(i);
    const op& o = r.ops[r.next];
    r.now = r.enter;
    r.blocked = true;
    r.current.clear();
    const unsigned done = flag::complete;
    const unsigned surely = o.rendezvous && shape_.certain ? unsigned{flag::synchronous} : 0u;
    switch (o.what) {
      case send:
        r.record = write(i, mpi_call::Send, o, flag::posts_send | done | surely, o.peer, o.tag);
        r.current = {post_message(i, o, r.record)};
        break;
      case isend:
        r.record = write(i, mpi_call::Isend, o, flag::posts_send | surely, o.peer, o.tag);
        r.posted.push_back(post_message(i, o, r.record));
        break;
      case recv:
        r.record = write(i, mpi_call::Recv, o, flag::posts_receive | done | (o.wildcard ? unsigned{flag::any_source} : 0u),
                         o.peer, o.tag);
        r.current = {post_receive(i, o, r.record)};
        break;
      case irecv:
        r.record = write(i, mpi_call::Irecv, o, flag::posts_receive, o.peer, o.tag);
        r.posted.push_back(post_receive(i, o, r.record));
        break;
      case probe: r.record = write(i, mpi_call::Probe, o, 0, o.peer, o.tag); break;
      case exchange: {
        const std::uint32_t s = write(i, mpi_call::Sendrecv, o, flag::posts_send | surely, o.peer, o.tag);
        const std::uint32_t q = write(i, mpi_call::Sendrecv, o, flag::posts_receive, o.peer, o.tag);
        r.current = {post_message(i, o, s), post_receive(i, o, q)};
        r.record = write(i, mpi_call::Sendrecv, o, 0, -1, 0);
        data_[i].completes(s);
        data_[i].completes(q);
        break;
      }
      case wait_some:
        r.record = write(i, mpi_call::Wait, o, 0, -1, 0);
        if (!r.posted.empty()) {
          const auto k = draw(i, 0, static_cast<std::int64_t>(r.posted.size()) - 1);
          r.current = {r.posted[static_cast<std::size_t>(k)]};
        }
        break;
      case wait_all:
      case wait_any:
        r.record = write(i, o.what == wait_all ? mpi_call::Waitall : mpi_call::Waitany, o, 0, -1, 0);
        for (const std::size_t q : r.posted) {
          if (!shape_.certain || !r.requests[q].sending || r.requests[q].rendezvous) r.current.push_back(q);
        }
        break;
      case collective: {
        unsigned data = flag::contributes | flag::consumes;
        const auto& members = groups_[static_cast<std::size_t>(o.group)];
        const int me = static_cast<int>(std::find(members.begin(), members.end(), i) - members.begin());
        const core::call_role role = core::role_of(o.call);
        if (role == core::call_role::one_to_all) data = me == o.root ? flag::contributes : flag::consumes;
        if (role == core::call_role::all_to_one) data = me == o.root ? flag::consumes : flag::contributes;
        if (role == core::call_role::scan && me == 0) data = flag::contributes;
        r.record = write(i, o.call, o, data, o.root, 0);
        if (o.group != 0) data_[i].locations[0].records[r.record].comm = group_index_[{o.group, i}];
        meeting& m = meetings_[{o.group, r.turns[o.group]}];
        m.call = o.call;
        m.root = members[static_cast<std::size_t>(o.root)];
        m.entered[i] = {r.enter, r.record};
        break;
      }
    }
  }

  bool try_leave(int i) {
    state& r = rank(i);
    const op o = r.ops[r.next];
    if (o.what == collective) return leave_collective(i, o);
    std::int64_t ready = r.enter;
    whywait::base::vector<std::size_t> completed = r.current;
    if (o.what == probe) {
      const auto seen = std::find_if(r.unexpected.begin(), r.unexpected.end(), [&](const std::pair<int, std::size_t>& m) {
        return m.first == o.peer && rank(m.first).requests[m.second].tag == o.tag;
      });
      if (seen == r.unexpected.end()) return false;
      const request& m = rank(seen->first).requests[seen->second];
      const std::int64_t until = std::max(r.enter, m.posted);
      blocked_ns_ += until - r.enter;
      if (m.posted > r.enter) note_wait(explain::pattern::late_sender, i, seen->first, m.record, m.posted);
      leave(i, until);
      return true;
    }
    if (o.what == wait_any && !r.current.empty()) {
      std::size_t best = r.requests.size();
      for (const std::size_t q : r.current) {
        if (!r.requests[q].done()) continue;
        if (best == r.requests.size() || r.requests[q].done_at() < r.requests[best].done_at()) best = q;
      }
      if (best == r.requests.size()) return false;
      completed = {best};
    }
    for (const std::size_t q : completed) {
      if (!r.requests[q].done()) return false;
      ready = std::max(ready, r.requests[q].done_at());
    }
    // Decided when the call leaves. A receive posted until then counts, even if the send was buffered.
    r.completed = completed;
    const bool eager = std::any_of(completed.begin(), completed.end(),
                                   [&r](std::size_t q) { return r.requests[q].sending && !r.requests[q].rendezvous; });
    const std::int64_t transfer = tail(i);
    r.over = ready + (eager && shape_.certain ? 0 : transfer);
    r.leaving = true;
    blocked_ns_ += ready - r.enter;
    return true;
  }

  void leave_messages(int i) {
    state& r = rank(i);
    const op& o = r.ops[r.next];
    r.leaving = false;
    // docs/method.md 1.2: the latest late sender, otherwise the latest late receiver before the end. Both if the call was blocked for
    // longer between the two than after the receiver came.
    const request *sender = nullptr, *receiver = nullptr;
    for (const std::size_t q : r.completed) {
      const request& m = r.requests[q];
      if (m.met_rank < 0 || m.met <= r.enter) continue;
      const request*& best = m.sending ? receiver : sender;
      if (m.sending && m.met >= r.over) continue;
      if (best == nullptr || m.met > best->met || (m.met == best->met && m.met_rank < best->met_rank)) best = &m;
    }
    for (const std::size_t q : r.completed) {
      whywait::base::vector<std::size_t>& p = r.posted;
      p.erase(std::remove(p.begin(), p.end(), q), p.end());
      if (o.what == wait_some || o.what == wait_all || o.what == wait_any) data_[i].completes(r.requests[q].record);
    }
    const request* cause = sender != nullptr ? sender : receiver;
    if (cause != nullptr) {
      note_wait(cause == sender ? explain::pattern::late_sender : explain::pattern::late_receiver, i, cause->met_rank,
                cause->met_record, cause->met);
    }
    if (sender != nullptr && receiver != nullptr && receiver->met > sender->met &&
        receiver->met - sender->met >= r.over - receiver->met) {
      note_wait(explain::pattern::late_receiver, i, receiver->met_rank, receiver->met_record, receiver->met);
    }
    finish(i, r.over);
  }

  bool leave_collective(int i, const op& o) {
    state& r = rank(i);
    meeting& m = meetings_[{o.group, r.turns[o.group]}];
    const auto& members = groups_[static_cast<std::size_t>(o.group)];
    const core::call_role role = core::role_of(o.call);
    whywait::base::vector<int> needed;
    explain::pattern why = explain::pattern::wait_at_nxn;
    m.all = false;
    for (const int q : members) {
      switch (role) {
        case core::call_role::one_to_all:
          why = explain::pattern::late_broadcast;
          if (i != m.root && q == m.root) needed.push_back(q);
          break;
        case core::call_role::all_to_one:
          why = explain::pattern::early_reduce;
          if (i == m.root && q != i) needed.push_back(q);
          break;
        case core::call_role::scan:
          why = explain::pattern::early_scan;
          if (q < i) needed.push_back(q);
          break;
        default:
          why = role == core::call_role::barrier    ? explain::pattern::wait_at_barrier
                : role == core::call_role::finalise ? explain::pattern::wait_at_finalize
                                                    : explain::pattern::wait_at_nxn;
          needed.push_back(q);
          m.all = true;
      }
    }
    std::int64_t latest = r.enter;
    int cause = i;
    for (const int q : needed) {
      const auto there = m.entered.find(q);
      if (there == m.entered.end()) return false;
      const bool all_tie = m.all && there->second.first == latest && q < cause;
      if (there->second.first > latest || all_tie) {
        latest = there->second.first;
        cause = q;
      }
    }
    const int group = m.all ? o.group * 100000 + r.turns[o.group] : -1;
    if (cause != i) note_wait(why, i, cause, m.entered[cause].second, latest, group);
    blocked_ns_ += latest - r.enter;
    ++r.turns[o.group];
    leave(i, latest);
    return true;
  }

  std::int64_t tail(int i) { return shape_.tails ? scaled(draw(i, 1, 8), shape_.network) : 0; }

  void note_wait(explain::pattern why, int i, int causer, std::uint32_t causer_record, std::int64_t until, int group = -1) {
    state& r = rank(i);
    true_wait w;
    w.why = why;
    w.rank = i;
    w.record = r.record;
    w.causer = causer;
    w.causer_record = causer_record;
    w.begin_ns = r.now;
    w.wait_ns = until - r.now;
    w.group = group;
    piece p;
    p.wait = static_cast<int>(waits_.size());
    r.pieces.push_back(p);
    w.after = r.pieces.size();
    r.now = until;
    waits_.push_back(w);
  }

  void leave(int i, std::int64_t ready) { finish(i, ready + tail(i)); }

  void finish(int i, std::int64_t over) {
    state& r = rank(i);
    sync_record& s = data_[i].locations[0].records[r.record];
    over += constant(cost_of(s.call).back_ns);
    s.duration = static_cast<std::uint64_t>(over) - s.begin;
    if (s.duration != 0) {
      const core::stable_key site = data_[i].locations[0].sites[s.site];
      r.pieces.push_back({explain::call_key(site), {1, over - r.now, 0}, -1});
    }
    r.now = over + constant(cost_of(s.call).after_ns);
    r.blocked = false;
    ++r.next;
    prepare(i);
  }

  // ---- reference results

  std::size_t at_record(int i, std::uint32_t record) { return rank(i).positions.at(record); }

  static void later(std::size_t& from_p, std::size_t& from_q, std::size_t p, std::size_t q, std::size_t end_p,
                    std::size_t end_q) {
    if (p <= end_p && q <= end_q && p >= from_p && q >= from_q) {
      from_p = p;
      from_q = q;
    }
  }

  void add(profile& into, int i, std::size_t from, std::size_t to, std::int64_t sign) {
    const state& r = rank(i);
    for (std::size_t k = from; k != to; ++k) {
      const piece& p = r.pieces[k];
      if (p.wait < 0) {
        add(into[p.block], p.use, sign);
      } else {
        const profile inside = explanation(static_cast<std::size_t>(p.wait));
        for (const auto& e : inside) add(into[e.first], e.second, sign);
      }
    }
  }
  static void add(explain::block_use& into, const explain::block_use& use, std::int64_t sign) {
    into.visits += sign * use.visits;
    into.ns += sign * use.ns;
    into.work += sign * use.work;
  }

  std::mt19937_64 random_;
  shape shape_;
  run data_;
  whywait::base::vector<state> ranks_;
  whywait::base::vector<whywait::base::vector<int>> groups_;
  std::map<std::pair<int, int>, std::uint32_t> group_index_;
  std::map<std::pair<int, int>, meeting> meetings_;
  whywait::base::vector<true_wait> waits_;
  std::map<std::size_t, profile> explained_;
  struct buffered {
    int sender;
    std::uint32_t record;
    int receiver;
    std::uint32_t received;  ///< record of its receive
  };
  std::vector<buffered> buffered_;
  std::int64_t earliest_ = 0, blocked_ns_ = 0, overhead_ns_ = 0;
  whywait::base::vector<std::mt19937_64> durations_;
};

}  // namespace reference

#endif
