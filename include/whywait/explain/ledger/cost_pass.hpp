#ifndef WHYWAIT_EXPLAIN_LEDGER_COST_PASS_HPP
#define WHYWAIT_EXPLAIN_LEDGER_COST_PASS_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/ledger/delay_costs.hpp>
#include <whywait/explain/ledger/own_time.hpp>
#include <whywait/explain/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the delays cost: Scalasca's view (Boehme et al., ACM TOPC 2016; definitions 1.5), which divides every wait by
/// proportion, beside the exact path view of the explanation. For a wait k of p on q, since they were last aligned:
/// D = what q did more than p, block by block; W = what q waited meanwhile. Of k's time, and of the cost that k
/// received itself because others waited for p later, D / (D + W) is charged to the blocks of q (short-term and
/// long-term), the rest is received by the waits of q. Conserved: all costs together are all explained waits.
///
/// One pass backwards through the records; one message per wait, with the waiter's profile. A rank that comes to
/// the beginning of a record waits until all those have told it who had waited for that. Free of deadlock as the
/// forward pass is, with the time reversed. O(records + waits * (blocks + 16 records)).
class cost_pass {
 public:
  explicit cost_pass(const rank_history& rank) : rank_(&rank) {}

  /// `arrivals`: who this location waited for; `services`: who waited for it; both by record. `blocks`: of the rank, the
  /// same for all its locations; borrowed, and those of others are added.
  void expect(std::uint16_t location, const std::vector<arrival>& arrivals, const std::vector<caused_wait>& services,
              block_table& blocks) {
    blocks_ = &blocks;
    lanes_.emplace_back();
    lane& l = lanes_.back();
    const location_history& here = rank_->locations[location];
    std::vector<std::int64_t> go_ns;
    go_ns.reserve(here.records.size());
    l.waits.reserve(arrivals.size());
    l.expected.reserve(services.size());
    location_walk walk(*rank_);
    alignment aligned;
    std::size_t a = 0, s = 0;
    for (std::uint32_t i = 0; i != here.records.size(); ++i) {
      walk.step(here.records[i]);
      for (; s != services.size() && services[s].record == i; ++s) {
        if (l.expected.empty() || l.expected.back().record != i) l.expected.push_back({i, 0, 0, nobody});
        ++l.expected.back().count;
        aligned.at(partner(services[s].rank, services[s].location)) = walk.begin_ns();
      }
      std::int64_t go = walk.begin_ns();
      for (; a != arrivals.size() && arrivals[a].record == i; ++a) {
        const arrival& w = arrivals[a];
        const std::int64_t wait_ns = std::min(w.need_ns, walk.leave_ns()) - walk.begin_ns();
        if (wait_ns > 0) go = std::max(go, walk.begin_ns() + wait_ns);
        if (!w.has(arrival_flag::adopt)) continue;
        if (!w.has(arrival_flag::last)) {
          wait k;  // also one of no length: the causer counts on being told
          k.at = w;
          k.begin_ns = walk.begin_ns();
          k.ns = static_cast<double>(std::max<std::int64_t>(wait_ns, 0));
          k.since_ns = last_aligned(aligned, w);
          l.waits.push_back(k);
          aligned.at(partner(w.causer_rank, w.causer_location)) = w.need_ns;
        }
        if (w.has(arrival_flag::all)) {
          const std::uint32_t comm = here.records[i].comm;
          if (std::find(aligned.groups.begin(), aligned.groups.end(), comm) == aligned.groups.end()) {
            aligned.groups.push_back(comm);
          }
          aligned.at(group | comm) = w.need_ns;
        }
      }
      go_ns.push_back(go);
    }
    l.waited.assign(l.waits.size() + 1, 0);
    for (std::size_t k = 0; k != l.waits.size(); ++k) l.waited[k + 1] = l.waited[k] + l.waits[k].ns;
    l.ends.assign(l.waits.size() + 1, 0);
    l.left = l.waits.size();
    l.open = l.expected.size();
    l.record = here.records.size();
    l.time.reset(new own_time(*rank_, location, blocks, go_ns));
  }

  /// Runs every location back as far as it gets. True when all have come to their beginning.
  template <class Post>
  bool advance(Post&& post) {
    for (bool moved = true; moved;) {
      moved = false;
      for (lane& l : lanes_) moved = run(l, post) || moved;
    }
    for (const lane& l : lanes_) {
      if (l.record != 0) return false;
    }
    return true;
  }

  void receive(std::int32_t source, const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    while (!in.empty()) {
      const auto n = in.get<notice>();
      const unsigned char* rest = in.skip(n.blocks * sizeof(spent));
      lane& l = lanes_.at(n.location);
      std::vector<told>& expected = l.expected;
      auto at = expected.begin() + static_cast<std::ptrdiff_t>(l.open == 0 ? 0 : l.open - 1);  // mostly the next one
      if (at == expected.end() || at->record != n.record) {
        at = std::lower_bound(expected.begin(), expected.end(), n.record,
                              [](const told& t, std::uint32_t r) { return t.record < r; });
      }
      if (at == expected.end() || at->record != n.record) continue;
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(charges_.size()));
        charges_.emplace_back();
      }
      charge& c = charges_[free_.back()];
      c.source = source;
      c.what = n;
      c.next = at->first;
      c.rest.assign(rest, rest + n.blocks * sizeof(spent));
      at->first = free_.back();
      ++at->heard;
      free_.pop_back();
    }
  }

  cost_sums result() {
    for (std::uint32_t b = 0; b != costs_.size(); ++b) {
      if (costs_[b].first != 0 || costs_[b].second != 0) {
        sums_.blocks.push_back({(*blocks_)[b].block, costs_[b].first, costs_[b].second});
      }
    }
    sums_.join();
    return std::move(sums_);
  }

 private:
  static constexpr std::uint64_t group = std::uint64_t{1} << 63;
  static constexpr std::uint32_t nobody = 0xffffffffu;

  struct wait {
    arrival at;
    std::int64_t begin_ns = 0, since_ns = INT64_MIN;
    double ns = 0;
  };
  // What a waiter tells, before what it spent in how many blocks since `since_ns`.
  struct notice {
    std::uint32_t location, record;  ///< whose beginning it needed
    std::uint32_t waiter;            ///< its record: sums are made in a fixed order
    std::uint32_t blocks;
    double wait_ns, received_ns;
    std::int64_t since_ns;
  };
  struct spent {
    core::stable_key block;
    std::int64_t ns;
  };
  // What a waiter has told; the rest is read when its turn comes.
  struct charge {
    std::int32_t source = 0;
    std::uint32_t next = nobody;
    notice what{};
    packet rest;
  };
  // `count` will tell, `heard` have told, the last of them `first`.
  struct told {
    std::uint32_t record, count, heard, first;
  };
  struct lane {
    std::unique_ptr<own_time> time;
    std::vector<wait> waits;     ///< by record
    std::vector<double> waited;  ///< sums of the first n
    std::vector<double> ends;    ///< rates that begin to hold no more below this wait
    double rate = 0;             ///< what a nanosecond of the wait at hand has received
    std::size_t left = 0, record = 0, open = 0;
    std::vector<told> expected;  ///< by record
    bool own_done = false;
  };
  // When this location and others were last aligned: partners, or communicators.
  struct alignment {
    key_map numbers;
    std::vector<std::int64_t> times;
    std::vector<std::uint32_t> groups;

    std::int64_t& at(std::uint64_t who) {
      const auto fresh = static_cast<std::uint32_t>(times.size());
      const std::uint32_t number = numbers.intern(who + 1, fresh);
      if (number == fresh) times.push_back(INT64_MIN);
      return times[number];
    }
  };

  static std::uint64_t partner(std::int32_t rank, std::uint16_t location) noexcept {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 16) | location;
  }

  std::int64_t last_aligned(alignment& aligned, const arrival& w) const {
    std::int64_t latest = aligned.at(partner(w.causer_rank, w.causer_location));
    for (const std::uint32_t g : aligned.groups) {
      const communicator& comm = rank_->communicators[g];
      const bool member = comm.world.empty()
                              ? w.causer_rank < comm.size
                              : std::find(comm.world.begin(), comm.world.end(), w.causer_rank) != comm.world.end();
      if (member) latest = std::max(latest, aligned.at(group | g));
    }
    return latest;
  }

  template <class Post>
  bool run(lane& l, Post&& post) {
    bool moved = false;
    while (l.record != 0) {
      const auto here = static_cast<std::uint32_t>(l.record - 1);
      // Backwards: first the record's own waits, then those who needed its beginning.
      while (!l.own_done && l.left != 0 && l.waits[l.left - 1].at.record == here) {
        tell(l, l.waits[l.left - 1], post);
        l.rate -= l.ends[--l.left];
        if (l.left == 0) l.rate = 0;
      }
      l.own_done = true;
      if (l.open != 0 && l.expected[l.open - 1].record == here) {
        const told& t = l.expected[l.open - 1];
        if (t.heard != t.count) return moved;
        order_.clear();
        for (std::uint32_t c = t.first; c != nobody; c = charges_[c].next) order_.push_back(c);
        if (order_.size() > 1) {
          sort_rarely(order_, [this](std::uint32_t x, std::uint32_t y) {
            const charge &a = charges_[x], &b = charges_[y];
            return a.source != b.source ? a.source < b.source : a.what.waiter < b.what.waiter;
          });
        }
        for (const std::uint32_t c : order_) {
          take(l, here, charges_[c].what, packet_reader(charges_[c].rest.data(), charges_[c].rest.size()));
          free_.push_back(c);
        }
        --l.open;
      }
      --l.record;
      l.own_done = false;
      moved = true;
    }
    return moved;
  }

  template <class Post>
  void tell(lane& l, const wait& k, Post&& post) {
    const double received = std::max(0.0, l.rate * k.ns);
    (received > 1e-3 ? sums_.propagating_ns : sums_.terminal_ns) += k.ns;
    l.time->between(k.since_ns, k.at.record, until_);
    out_.resize(sizeof(notice) + until_.size() * sizeof(spent));
    std::size_t at = sizeof(notice);
    for (std::uint32_t b = 0; b != until_.size(); ++b) {
      if (until_[b] == 0) continue;
      const spent s{(*blocks_)[b].block, until_[b]};
      std::memcpy(out_.data() + at, &s, sizeof s);
      at += sizeof s;
    }
    out_.resize(at);
    const notice n{k.at.causer_location, k.at.causer_record, k.at.record,
                   static_cast<std::uint32_t>((at - sizeof(notice)) / sizeof(spent)), k.ns, received, k.since_ns};
    std::memcpy(out_.data(), &n, sizeof n);
    if (k.at.causer_rank == rank_->rank) {
      receive(rank_->rank, out_.data(), out_.size());
    } else {
      post(k.at.causer_rank, out_);
    }
  }

  void take(lane& l, std::uint32_t record, const notice& what, packet_reader in) {
    const double wait_ns = what.wait_ns, received_ns = what.received_ns;
    const std::int64_t since_ns = what.since_ns;
    l.time->between(since_ns, record, until_);
    std::int64_t more_ns = 0;
    for (std::size_t i = 0; !in.empty(); ++i) {
      const auto s = in.get<spent>();
      if (i == translation_.size()) translation_.push_back(0);
      std::uint32_t& b = translation_[i];  // mostly the same block at the same place
      if (b >= blocks_->size() || (*blocks_)[b].block != s.block) b = blocks_->intern(s.block);
      if (b < until_.size()) until_[b] -= s.ns;
    }
    for (std::int64_t& ns : until_) {
      ns = std::max<std::int64_t>(ns, 0);
      more_ns += ns;
    }
    const auto first = std::lower_bound(l.waits.begin(), l.waits.begin() + static_cast<std::ptrdiff_t>(l.left),
                                        since_ns, [](const wait& w, std::int64_t t) { return w.begin_ns < t; });
    const auto from = static_cast<std::size_t>(first - l.waits.begin());
    const double waited = l.waited[l.left] - l.waited[from], whole = static_cast<double>(more_ns) + waited;
    if (whole <= 0) {
      sums_.nobody_ns += wait_ns + received_ns;
      return;
    }
    if (costs_.size() < until_.size()) costs_.resize(until_.size());
    for (std::size_t b = 0; b != until_.size(); ++b) {
      if (until_[b] == 0) continue;
      const double share = static_cast<double>(until_[b]) / whole;
      costs_[b].first += wait_ns * share;
      costs_[b].second += received_ns * share;
    }
    sums_.indirect_ns += wait_ns * waited / whole;
    sums_.direct_ns += wait_ns * static_cast<double>(more_ns) / whole;
    if (waited > 0) {
      const double rate = (wait_ns + received_ns) / whole;
      l.rate += rate;
      l.ends[from] += rate;
    }
  }

  const rank_history* rank_;
  block_table* blocks_ = nullptr;
  std::vector<lane> lanes_;
  std::vector<std::pair<double, double>> costs_;  ///< short and long term, by number of the block
  cost_sums sums_;
  std::vector<charge> charges_;  ///< of which nobody has taken account yet
  std::vector<std::uint32_t> free_, order_, translation_;
  own_time::profile until_;
  packet out_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
