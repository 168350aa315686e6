#ifndef WHYWAIT_CLOCKS_NEED_BOOK_HPP
#define WHYWAIT_CLOCKS_NEED_BOOK_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The number of stamps that one record needs before its call can be judged.
struct clock_need {
  static constexpr std::uint32_t unknown = 0xffffffffu;
  std::uint32_t record;
  std::uint32_t count : 31;
  std::uint32_t wildcard : 1;       ///< received from any source
  std::uint32_t posting = unknown;  ///< record that posted the only receive completed here, if known and relevant
};

/// Which record needs which, message by message. Messages that arrived in time are included, because under another
/// hypothesis they may arrive late. Memory: 12 bytes per record with needs, 16 per message. Not thread safe.
class need_book {
 public:
  /// `memory`: the pool of the run; borrowed.
  need_book(const explain::rank_history& rank, base::memory_pool& memory) : rank_(&rank), requests_(memory) {
    lanes_.reserve(rank.locations.size());
    while (lanes_.size() != rank.locations.size()) lanes_.emplace_back(memory);
  }

  /// Adds a need whose stamp a collective will send.
  void add_need(std::uint16_t location, std::uint32_t record) {
    if (location < lanes_.size()) lanes_[location].needs.push_back({record, 1, 0});
  }
  void add_give(std::uint16_t location, const clock_give& g) {
    if (location >= lanes_.size()) return;
    base::pod_vector<clock_give>& gives = lanes_[location].gives;
    if (gives.empty()) gives.reserve(std::max<std::size_t>(4, lanes_[location].needs.size()));  // usually about as many
    gives.push_back(g);
  }

  /// Adds the messages of one location and the causes of its waits, both by record. Walks all records.
  void add_messages(std::uint16_t location, const explain::message_match* matches, std::size_t count,
                    const base::pod_vector<explain::arrival>& arrivals) {
    find_least_waiting(location, matches, count, arrivals);
    explain::location_walk walk(*rank_);
    const explain::location_history& here = rank_->locations[location];
    base::pod_vector<receive> receives;  // filled at the first call that had a choice
    bool received = false;
    std::size_t calls = lanes_[location].needs.size();
    for (std::size_t k = 0; k != count; ++k) calls += k == 0 || matches[k].record != matches[k - 1].record ? 1 : 0;
    lanes_[location].needs.reserve(calls);
    requests_.reserve(requests_.size() + count);
    std::size_t m = 0, a = 0, p = 0;
    for (std::uint32_t i = 0; m != count && i != here.records.size(); ++i) {
      walk.step(here.records[i]);
      std::size_t last = m;
      while (last != count && matches[last].record == i) ++last;
      if (last == m) continue;
      while (a != arrivals.size() && arrivals[a].record < i) ++a;
      const std::size_t cause = a;
      while (a != arrivals.size() && arrivals[a].record == i) ++a;
      add_call(location, i, core::role_of(here.records[i]), matches + m, matches + last, arrivals.data() + cause,
               arrivals.data() + a, walk);
      m = last;
      base::pod_vector<clock_need>& needs = lanes_[location].needs;
      if (needs.empty() || needs.back().record != i) continue;
      if (needs.back().wildcard == 0 && core::role_of(here.records[i]) != core::call_role::complete_any) continue;
      if (!received) receives = receives_of(here, location);
      received = true;
      while (p != receives.size() && receives[p].completion < i) ++p;
      if (p == receives.size() || receives[p].completion != i) continue;
      const bool alone = p + 1 == receives.size() || receives[p + 1].completion != i;
      if (alone) needs.back().posting = receives[p].posting;
    }
  }

  /// Sends requests for stamps to the needed ranks. Fills no packet much beyond `room` bytes; the next call sends the
  /// rest.
  template <class Outbox>
  void send_requests(Outbox&& to, std::size_t room) {
    for (; sent_ != requests_.size(); ++sent_) {
      const stamp_request& w = requests_[sent_];
      base::packet& out = to(w.rank);
      if (out.size() >= room) return;
      put(out, w);
    }
    requests_.release();
    sent_ = 0;
  }
  void receive_requests(std::int32_t source, base::packet_reader in) {
    while (!in.empty()) {
      const auto w = in.get<stamp_request>();
      add_give(w.causer_location, {w.causer_record, source, w.record, w.location});
    }
  }

  /// Sorts all lists by record. Call once, after the exchange. `room`: buffer.
  void sort_by_record(base::pod_vector<std::uint32_t>& room) {
    for (std::size_t i = 0; i != lanes_.size(); ++i) {
      lane& l = lanes_[i];
      base::sort_by_record(l.gives, rank_->locations[i].records.size(), room);
      base::sort_by_record(l.needs, rank_->locations[i].records.size(), room);
      base::join_neighbours(
          l.needs, [](const clock_need& a, const clock_need& b) { return a.record == b.record; },
          [](clock_need& to, const clock_need& n) {
            to.count = (to.count + n.count) & 0x7fffffffu;
            to.wildcard = 0;
          });
    }
  }

  const base::pod_vector<clock_need>& needs(std::size_t location) const { return lanes_[location].needs; }
  const base::pod_vector<clock_give>& gives(std::size_t location) const { return lanes_[location].gives; }

 private:
  struct lane {
    explicit lane(base::memory_pool& memory) : needs(memory), gives(memory) {}
    base::pod_vector<clock_need> needs;
    base::pod_vector<clock_give> gives;
  };
  struct stamp_request {
    std::int32_t rank;
    std::uint32_t causer_record, record;
    std::uint16_t causer_location, location;
  };

  struct receive {
    std::uint32_t completion, posting;
  };
  // Receives by the record that completed them, if that is of the same location.
  static base::pod_vector<receive> receives_of(const explain::location_history& here, std::uint16_t location) {
    base::pod_vector<receive> all;
    all.reserve(here.records.size());
    for (std::uint32_t i = 0; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      if (!r.has(core::sync_flag::posts_receive)) continue;
      if (core::role_of(r.call) == core::call_role::receive) {
        all.push_back({i, i});
      } else if (r.has(core::sync_flag::complete) && r.completed_by == location) {
        all.push_back({r.completion, i});
      }
    }
    const auto earlier = [](const receive& a, const receive& b) { return a.completion < b.completion; };
    if (!std::is_sorted(all.begin(), all.end(), earlier)) small_stable_sort(all, earlier);
    return all;
  }

  // A call needs every message that it received, and the receive of every message that it sent synchronously. Whether
  // another send was buffered is unknown: its receive counts if it was found to be a cause, or if the message is as
  // large as one for which it was.
  void add_call(std::uint16_t location, std::uint32_t record, core::call_role role, const explain::message_match* first,
                const explain::message_match* last, const explain::arrival* causes, const explain::arrival* causes_end,
                const explain::location_walk& walk) {
    const explain::message_match* earliest = nullptr;
    bool buffered = false, waited = false;
    const bool any = role == core::call_role::complete_any;
    for (const explain::message_match* m = first; m != last; ++m) {
      const bool sure = m->receiving || m->progress || (m->partner.flags & explain::endpoint_flag::synchronous) != 0;
      bool blamed = false;
      for (const explain::arrival* a = causes; a != causes_end; ++a)
        blamed = blamed || (a->causer_rank == m->rank && a->causer_record == m->partner.record &&
                            a->causer_location == m->partner.location);
      blamed = blamed && m->partner.begin_ns > given_at(rank_->locations[location], record, walk);
      // The clocks disagree, or the receive was posted after MPI had sent: judged without it.
      if (m->partner.begin_ns > (m->receiving ? walk.leave_ns() : returned_at(rank_->locations[location], record, walk)))
        continue;
      waited = waited || blamed;
      if (!sure && !blamed && size(*m) < least_waiting_) {
        buffered = true;
      } else if (!any) {
        add_request(location, record, *m);
      } else if (earliest == nullptr || (m->progress && !earliest->progress) ||
                 (m->progress == earliest->progress && m->partner.begin_ns < earliest->partner.begin_ns)) {
        earliest = m;  // the partner's entry comes after the posting
      }
    }
    // A send that needed its partner's progress was not complete at once, although its receive did not hold it up. Nor was a
    // send complete in a call that waited for a message.
    if (earliest != nullptr && (!buffered || earliest->progress || waited)) add_request(location, record, *earliest);
  }

  void add_request(std::uint16_t location, std::uint32_t record, const explain::message_match& m) {
    if (m.partner.record == explain::message_match::nowhere) return;  // in an earlier epoch: it was there in time
    requests_.push_back({m.rank, m.partner.record, record, m.partner.location, location});
    base::pod_vector<clock_need>& needs = lanes_[location].needs;
    if (!needs.empty() && needs.back().record == record) {
      ++needs.back().count;
      needs.back().wildcard = 0;
    } else {
      needs.push_back({record, 1, m.receiving && (m.partner.flags & explain::endpoint_flag::wildcard) != 0 ? 1u : 0u});
    }
  }

  // The time at which MPI had the call: a message that arrived while the wrapper ran did not block MPI.
  static std::int64_t given_at(const explain::location_history& here, std::uint32_t record,
                               const explain::location_walk& walk) {
    return walk.begin_ns() + std::llround(overhead_of(here, here.records[record].call).inside_ns);
  }

  // The time at which MPI returned: a partner that came later was not needed.
  static std::int64_t returned_at(const explain::location_history& here, std::uint32_t record,
                                  const explain::location_walk& walk) {
    const std::int64_t back_ns = core::nearest(overhead_of(here, here.records[record].call).back_ns);
    return std::max(walk.begin_ns(), walk.leave_ns() - std::max<std::int64_t>(0, back_ns));
  }

  static constexpr unsigned no_size = 64;

  static unsigned size(const explain::message_match& m) noexcept {
    return m.receiving || m.progress ? 0 : static_cast<unsigned>(m.partner.flags) >> explain::endpoint_flag::size_shift;
  }

  // Finds the smallest size of messages whose senders waited for late receivers, because they were not buffered.
  void find_least_waiting(std::uint16_t location, const explain::message_match* matches, std::size_t count,
                          const base::pod_vector<explain::arrival>& arrivals) {
    least_waiting_ = no_size;
    explain::location_walk walk(*rank_);
    const explain::location_history& here = rank_->locations[location];
    std::uint64_t waited = 0;
    unsigned most_buffered = 0;
    std::size_t a = 0;
    std::uint32_t at = 0;
    for (std::size_t m = 0; m != count; ++m) {
      const explain::message_match& of = matches[m];
      if (size(of) == 0) continue;
      const auto other = [&](std::size_t n) { return matches[n].record == of.record && !matches[n].progress; };
      std::size_t before = m, after = m + 1;
      while (before != 0 && matches[before - 1].record == of.record && matches[before - 1].progress) --before;
      while (after != count && matches[after].record == of.record && matches[after].progress) ++after;
      if ((before != 0 && other(before - 1)) || (after != count && other(after))) continue;
      for (; at <= of.record; ++at) walk.step(here.records[at]);
      while (a != arrivals.size() && arrivals[a].record < of.record) ++a;
      if (of.partner.begin_ns > returned_at(here, of.record, walk)) {
        most_buffered = std::max(most_buffered, size(of));
      } else if (a != arrivals.size() && arrivals[a].record == of.record && arrivals[a].has(explain::arrival_flag::adopt) &&
                 arrivals[a].why == explain::pattern::late_receiver && of.partner.begin_ns > given_at(here, of.record, walk)) {
        waited |= std::uint64_t(1) << size(of);
      }
    }
    waited &= ~((std::uint64_t(2) << most_buffered) - 1);
    if (waited != 0) least_waiting_ = static_cast<unsigned>(__builtin_ctzll(waited));
  }

  const explain::rank_history* rank_;
  base::vector<lane> lanes_;
  base::pod_vector<stamp_request> requests_;
  std::size_t sent_ = 0;
  unsigned least_waiting_ = no_size;  ///< in binary digits, for the location at hand
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
