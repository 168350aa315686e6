#ifndef WHYWAIT_CLOCKS_COST_PASS_HPP
#define WHYWAIT_CLOCKS_COST_PASS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/clocks/cost_scratch.hpp>
#include <whywait/clocks/delay_costs.hpp>
#include <whywait/clocks/own_time.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/message_schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The delay costs: Scalasca's view (Boehme et al., ACM TOPC 2016; docs/method.md 1.5), which divides every wait by
/// proportion, beside the exact path view of the explanation. Take a wait k of p on q since both were last aligned. D
/// is what q did more than p, block by block; W is what q waited meanwhile. Of the time of k, and of the cost that k
/// received because others waited for p later, the part D / (D + W) is charged to the blocks of q (short-term and
/// long-term costs); the waits of q receive the rest. All costs together equal all explained waits.
///
/// One pass backwards through the waits, with one message per wait, which carries the waiter's profile. At the
/// beginning of a record a rank waits for the costs of all waits for that instant. Free of deadlock as the forward pass
/// is, with time reversed. O(records + waits * (blocks + 16 records)). Memory: own_time, 56 bytes per wait and 32 per
/// record that others waited for.
///
/// Instants are those at which two locations were aligned: in records that took over a path and in records that others waited
/// for. A rank with one location keeps no others.
class cost_pass {
 public:
  cost_pass(const explain::rank_history& rank, cost_scratch& scratch) : rank_(&rank), scratch_(&scratch) {
    lanes_.reserve(rank.locations.size());
  }

  /// Adds the locations in order. Returns what the location did itself, by block, ascending.
  base::pod_vector<explain::block_time> add_location(std::uint16_t location, const explain::explained_location& what,
                                                     base::pod_vector<unmarked_piece>& pieces) {
    const base::pod_vector<explain::arrival>& arrivals = *what.arrivals;
    const base::pod_vector<explain::caused_wait>& services = what.caused;
    const explain::location_history& here = rank_->locations[location];
    own_time::room& room = scratch_->time;
    alignment& aligned = scratch_->aligned;
    lanes_.emplace_back(*rank_, here, room, *scratch_->memory);
    lane& l = lanes_.back();
    l.waits.reserve(arrivals.size());
    l.expected.reserve(services.size());
    aligned.clear();
    explain::location_walk walk(*rank_);
    std::size_t a = 0, s = 0;
    for (std::uint32_t i = 0; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      walk.step(r);
      bool keep = rank_->locations.size() != 1 || (s != services.size() && services[s].record == i);
      for (std::size_t next = a; next != arrivals.size() && arrivals[next].record == i; ++next)
        keep = keep || arrivals[next].has(explain::arrival_flag::adopt | explain::arrival_flag::violation);
      const std::uint32_t kept = l.time.begin(r, walk, keep, room);
      for (; s != services.size() && services[s].record == i; ++s) {
        if (l.expected.empty() || l.expected.back().record != i) l.expected.push_back({i, 0, 0, none, 0, 0, kept});
        ++l.expected.back().count;
        std::int64_t& latest = aligned.at(partner(services[s].rank, services[s].location));
        l.expected.back().since_ns = latest;
        latest = walk.begin_ns();
      }
      std::int64_t go = walk.begin_ns(), adopted = go;
      for (; a != arrivals.size() && arrivals[a].record == i; ++a) {
        const explain::arrival& w = arrivals[a];
        const std::int64_t from_ns = go;  // a second wait begins where the first one ends
        const std::int64_t wait_ns = std::min(w.need_ns, walk.leave_ns()) - from_ns;
        if (wait_ns > 0) go = from_ns + wait_ns;
        if (!w.has(explain::arrival_flag::adopt)) continue;
        const bool begins = w.has(explain::arrival_flag::begins);
        if (begins) go = walk.leave_ns();
        if (!w.has(explain::arrival_flag::last)) {
          adopted = begins ? go : std::max(adopted, w.need_ns);
          wait k;  // also without length, because the causer counts the messages
          k.begin_ns = from_ns;
          k.before_ns = l.waited_ns;
          if (!begins) l.waited_ns += static_cast<double>(std::max<std::int64_t>(wait_ns, 0));
          std::int64_t& latest = aligned.at(partner(w.causer_rank, w.causer_location));
          k.since_ns = w.has(explain::arrival_flag::based) ? from_ns : last_aligned(aligned, latest, w);
          latest = w.need_ns;
          k.counted = !w.has(explain::arrival_flag::paused);
          k.record = i;
          k.kept = kept;
          k.causer_record = w.causer_record;
          k.causer_rank = w.causer_rank;
          k.causer_location = w.causer_location;
          l.waits.push_back(k);
        }
        if (w.has(explain::arrival_flag::all)) {
          std::size_t group = 0;
          while (group != aligned.groups.size() && aligned.groups[group].key != r.comm) ++group;
          if (group != aligned.groups.size()) aligned.groups[group].ns = w.need_ns;
          else aligned.groups.push_back({r.comm, w.need_ns});
        }
      }
      l.time.end(go, go - adopted, room);
    }
    base::pod_vector<explain::block_time> own(*scratch_->memory);
    l.time.seal(what.startup_ns, room, own, pieces);
    // Looks up the parts now, while the records are in the cache.
    for (wait& k : l.waits) k.from = l.time.part_at(k.since_ns, k.kept);
    for (served& t : l.expected) t.from = l.time.part_at(t.since_ns, t.kept);
    l.costs.reserve(l.time.blocks().size());
    l.costs.resize(l.time.blocks().size());
    l.left = l.waits.size();
    l.open = l.expected.size();
    return own;
  }

  /// Runs every location backwards until it is stuck. Returns true when all have reached their beginning.
  template <class Post>
  bool advance(Post&& post) {
    explain::run_all_until_stuck(lanes_.size(), [&](std::size_t l) {
      return explain::run_until_stuck(lanes_[l].at, lane_events<std::remove_reference_t<Post>>{*this, lanes_[l], post});
    });
    return !base::any_of(lanes_, [](const lane& l) { return l.at != explain::progress::finished; });
  }

  /// Set in the first word of a message, which is a location. A stamp of the clock pass has another first word.
  static constexpr std::uint32_t message_bit = 0x40000000u;
  static_assert((message_bit & clock_give::to_meeting) == 0, "stamps have another first word");

  /// Receives the costs of one wait from another rank.
  void receive_cost(std::int32_t source, base::packet_reader& in) {
    const auto n = in.get<cost_message>();
    const unsigned char* rest = in.skip(n.blocks * sizeof(spent));
    lane& l = lanes_.at(n.location & ~message_bit);
    base::pod_vector<served>& expected = l.expected;
    served* at = expected.begin() + (l.open == 0 ? 0 : l.open - 1);  // usually the next one
    if (at == expected.end() || at->record != n.record) {
      at = std::lower_bound(expected.begin(), expected.end(), n.record,
                            [](const served& t, std::uint32_t r) { return t.record < r; });
    }
    if (at == expected.end() || at->record != n.record) return;
    base::pod_vector<charge>& charges = scratch_->charges;
    base::pod_vector<std::uint32_t>& free = scratch_->free;
    if (free.empty()) {
      free.push_back(static_cast<std::uint32_t>(charges.size()));
      charges.push_back({});
    }
    charge& c = charges[free.back()];
    c.source = source;
    c.what = n;
    c.next = at->first;
    if (n.blocks != 0) {
      c.rest = static_cast<spent*>(scratch_->memory->take(n.blocks * sizeof(spent)));
      std::memcpy(static_cast<void*>(c.rest), rest, n.blocks * sizeof(spent));
    }
    at->first = free.back();
    ++at->received;
    free.pop_back();
  }

  /// Moves out the result; call once, after the pass.
  cost_sums result() {
    for (const lane& l : lanes_) {
      for (std::size_t b = 0; b != l.costs.size(); ++b) {
        const cost& c = l.costs[b];
        if (c.short_ns != 0 || c.long_ns != 0) sums_.blocks.push_back({l.time.blocks()[b], c.short_ns, c.long_ns});
      }
    }
    lanes_ = {};
    sums_.join();
    return std::move(sums_);
  }

 private:
  using spent = cost_scratch::spent;
  using cost_message = cost_scratch::cost_message;
  using charge = cost_scratch::charge;
  using alignment = cost_scratch::alignment;
  static constexpr std::uint32_t none = 0xffffffffu;

  struct wait {
    std::int64_t begin_ns, since_ns;
    double before_ns;  ///< the length of all waits before it; a whole number, so that differences are exact
    double ends = 0;  ///< sum of the rates that end at this wait
    std::uint32_t record, causer_record;
    std::int32_t causer_rank;
    std::uint32_t from = 0;  ///< the first part of the own time since `since_ns`
    std::uint32_t kept;      ///< the record, by number in own_time
    std::uint16_t causer_location;
    bool counted = true;  ///< otherwise it only passes on what it received
  };
  // A record that others waited for: `count` messages are expected, `received` have arrived, the last of them is
  // `first`. `since_ns` and the first part since then are those of most of the waits. `kept`: the record, by number in own_time.
  struct served {
    std::uint32_t record, count, received, first;
    std::int64_t since_ns;
    std::uint32_t from, kept;
  };
  struct cost {
    double short_ns = 0, long_ns = 0;
  };
  struct lane {
    lane(const explain::rank_history& rank, const explain::location_history& here, own_time::room& room,
         base::memory_pool& memory)
        : waits(memory), expected(memory), time(rank, here, room, memory), costs(memory) {}
    base::pod_vector<wait> waits;  ///< by record
    base::pod_vector<served> expected;  ///< by record
    std::size_t left = 0, open = 0;
    explain::progress at = explain::progress::between_events;
    double rate = 0;  ///< cost per nanosecond that the current wait has received
    double waited_ns = 0;  ///< in all waits
    own_time time;
    base::pod_vector<cost> costs;  ///< by number of the block
  };

  static std::uint64_t partner(std::int32_t rank, std::uint16_t location) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 16) | location;
  }

  // `latest`: the last pairwise alignment.
  std::int64_t last_aligned(const alignment& aligned, std::int64_t latest, const explain::arrival& w) const {
    for (const auto& g : aligned.groups) {
      if (g.ns <= latest) continue;
      const explain::communicator& comm = rank_->communicators[g.key];
      const bool member = comm.world.empty()
                              ? w.causer_rank < comm.size
                              : std::find(comm.world.begin(), comm.world.end(), w.causer_rank) != comm.world.end();
      if (member) latest = g.ns;
    }
    return latest;
  }

  // A location of message_schedule.hpp, backwards: of each record first the location's own waits, whose costs it sends
  // to their causers, then the record's beginning, which needs the costs of all that waited for it.
  template <class Post>
  struct lane_events {
    cost_pass& pass;
    lane& l;
    Post& post;

    const wait* next_wait() const noexcept { return l.left == 0 ? nullptr : &l.waits[l.left - 1]; }
    const served* next_served() const noexcept { return l.open == 0 ? nullptr : &l.expected[l.open - 1]; }
    bool at_wait() const noexcept { return l.left != 0 && (l.open == 0 || next_wait()->record >= next_served()->record); }

    bool begin_next() const noexcept { return l.left != 0 || l.open != 0; }
    bool send(bool&) {
      if (at_wait()) pass.send_costs(l, *next_wait(), post);
      return true;
    }
    bool ready() const noexcept { return at_wait() || next_served()->received == next_served()->count; }
    void finish() {
      if (at_wait()) {
        l.rate -= next_wait()->ends;
        if (--l.left == 0) l.rate = 0;
      } else {
        pass.take_charges(l, *next_served());
        --l.open;
      }
    }
  };

  // Charges everything that was received for one record, in an order that does not depend on the network.
  void take_charges(lane& l, const served& t) {
    base::pod_vector<std::uint32_t>& order = scratch_->order;
    base::pod_vector<charge>& charges = scratch_->charges;
    order.clear();
    for (std::uint32_t c = t.first; c != none; c = charges[c].next) order.push_back(c);
    if (order.size() > 1) {
      small_stable_sort(order, [&charges](std::uint32_t x, std::uint32_t y) {
        const charge &a = charges[x], &b = charges[y];
        return a.source != b.source ? a.source < b.source : a.what.waiter < b.what.waiter;
      });
    }
    for (const std::uint32_t c : order) {
      charge_wait(l, t, charges[c]);
      scratch_->drop(charges[c]);
      scratch_->free.push_back(c);
    }
  }

  template <class Post>
  void send_costs(lane& l, const wait& k, Post&& post) {
    const double wait_ns = (&k + 1 == l.waits.end() ? l.waited_ns : (&k + 1)->before_ns) - k.before_ns;
    const double received = std::max(0.0, l.rate * wait_ns);
    l.time.between(k.from, l.time.part_of(k.kept), scratch_->time);
    const base::pod_vector<own_time::part>& until = scratch_->time.found();
    base::packet& out = scratch_->out;
    out.resize(sizeof(cost_message) + until.size() * sizeof(spent));
    const cost_message n{message_bit | k.causer_location, k.causer_record, k.record,  static_cast<std::uint32_t>(until.size()),
                         k.counted ? wait_ns : 0.0,       received,        k.since_ns};
    std::memcpy(out.data(), &n, sizeof n);
    for (std::size_t i = 0; i != until.size(); ++i) {
      const spent s{l.time.blocks()[until[i].block], until[i].ns};
      std::memcpy(out.data() + sizeof n + i * sizeof s, &s, sizeof s);
    }
    if (k.causer_rank == rank_->rank) {
      base::packet_reader in(out.data(), out.size());
      receive_cost(rank_->rank, in);
    } else {
      post(k.causer_rank, out);
    }
  }

  void charge_wait(lane& l, const served& t, const charge& c) {
    const double wait_ns = c.what.wait_ns, received_ns = c.what.received_ns;
    (received_ns > 1e-3 ? sums_.propagating_ns : sums_.terminal_ns) += wait_ns;
    const std::int64_t since_ns = c.what.since_ns;
    const std::uint32_t from_part = since_ns == t.since_ns ? t.from : l.time.part_at(since_ns, t.kept);
    l.time.between(from_part, l.time.part_of(t.kept), scratch_->time);
    base::pod_vector<own_time::part>& more = scratch_->more;
    more.clear();
    std::int64_t more_ns = 0;
    const spent *theirs = c.rest, *const theirs_end = c.rest + c.what.blocks;  // both lists are ascending
    for (own_time::part p : scratch_->time.found()) {
      const core::stable_key block = l.time.blocks()[p.block];
      while (theirs != theirs_end && theirs->block < block) ++theirs;
      if (theirs != theirs_end && theirs->block == block) p.ns -= theirs->ns;
      if (p.ns <= 0) continue;
      more.push_back(p);
      more_ns += p.ns;
    }
    const std::size_t from = first_wait(l, since_ns);
    const double waited =
        from == l.left ? 0 : (l.left == l.waits.size() ? l.waited_ns : l.waits[l.left].before_ns) - l.waits[from].before_ns;
    const double whole = static_cast<double>(more_ns) + waited;
    if (whole <= 0) {
      sums_.nobody_ns += wait_ns + received_ns;
      return;
    }
    for (const own_time::part& p : more) {
      const double share = static_cast<double>(p.ns) / whole;
      l.costs[p.block].short_ns += wait_ns * share;
      l.costs[p.block].long_ns += received_ns * share;
    }
    sums_.indirect_ns += wait_ns * waited / whole;
    sums_.direct_ns += wait_ns * static_cast<double>(more_ns) / whole;
    if (waited > 0) {
      const double rate = (wait_ns + received_ns) / whole;
      l.rate += rate;
      l.waits[from].ends += rate;
    }
  }

  // The first of the remaining waits since an instant: usually one of the last.
  static std::size_t first_wait(const lane& l, std::int64_t since_ns) noexcept {
    std::size_t first = l.left, last = l.left;
    for (std::size_t step = 1; first != 0 && l.waits[first - 1].begin_ns >= since_ns; step *= 2) {
      last = first - 1;
      first -= std::min(first, step);
    }
    // Waits from `last` on began since then; no wait before `first` did.
    const wait* const begin = l.waits.begin();
    return static_cast<std::size_t>(std::lower_bound(begin + first, begin + last, since_ns,
                                                     [](const wait& w, std::int64_t ns) { return w.begin_ns < ns; }) -
                                    begin);
  }

  const explain::rank_history* rank_;
  cost_scratch* scratch_;
  base::vector<lane> lanes_;
  cost_sums sums_;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
