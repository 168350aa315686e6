#ifndef WHYWAIT_CLOCKS_NEED_BOOK_HPP
#define WHYWAIT_CLOCKS_NEED_BOOK_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packed_list.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/clocks/give_list.hpp>
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

/// The number of stamps that each record of a location needs before its call can be judged. 1 byte per record, and 36 for each that
/// needs more than 254. Not thread safe.
class need_counts {
 public:
  explicit need_counts(base::memory_pool& memory) : counts_(memory), numbers_(memory), many_(memory) {}

  /// The record needs one stamp more. `records`: the number of records of the location.
  void add(std::uint32_t record, std::size_t records) {
    if (counts_.empty()) counts_.resize(records, 0);
    if (record >= counts_.size()) return;
    std::uint8_t& count = counts_[record];
    if (count == more || ++count == more) count_many(record);
  }
  /// 0: the record needs none.
  std::uint32_t operator[](std::uint32_t record) const noexcept {
    const std::uint8_t count = record < counts_.size() ? counts_[record] : std::uint8_t{0};
    return __builtin_expect(count != more, 1) ? count : many(record);
  }
  bool empty() const noexcept { return counts_.empty(); }

 private:
  static constexpr std::uint8_t more = 255;  ///< the count is in many_

  [[gnu::noinline]] std::uint32_t many(std::uint32_t record) const noexcept {
    return many_[numbers_.find(record + std::uint64_t{1})];
  }
  [[gnu::noinline]] void count_many(std::uint32_t record) {
    const auto fresh = static_cast<std::uint32_t>(many_.size());
    const std::uint32_t number = numbers_.intern(record + std::uint64_t{1}, fresh);
    if (number == fresh) many_.push_back(more - 1);
    ++many_[number];
  }

  base::pod_vector<std::uint8_t> counts_;
  base::key_map numbers_;  ///< of each record with many needs + 1: its index in many_
  base::pod_vector<std::uint32_t> many_;
};

/// A record whose message another one could have come before: it was received from any source, or the call took the first of several.
struct chosen_message {
  static constexpr std::uint32_t unknown = 0xffffffffu;
  std::uint32_t record;
  std::uint32_t posting;  ///< record that posted the only receive completed here, if known
  std::uint32_t wildcard;  ///< 1: received from any source. Counts only if the record needs nothing else
};

/// Which record needs which, message by message. Messages that arrived in time are included, because under another
/// hypothesis they may arrive late. Memory: need_counts, give_list, 12 bytes per chosen message, and 1 to 17 per message until the
/// stamps are requested. Not thread safe.
class need_book {
 public:
  /// `memory`: the pool of the run; borrowed.
  need_book(const explain::rank_history& rank, base::memory_pool& memory) : rank_(&rank), requests_(memory) {
    lanes_.reserve(rank.locations.size());
    while (lanes_.size() != rank.locations.size()) lanes_.emplace_back(memory);
  }

  /// Adds a need whose stamp a collective will send.
  void add_need(std::uint16_t location, std::uint32_t record) {
    if (location < lanes_.size()) lanes_[location].needs.add(record, rank_->locations[location].records.size());
  }
  void add_give(std::uint16_t location, const clock_give& g) {
    if (location < lanes_.size()) lanes_[location].gives.add(g);
  }

  /// Adds the messages of one location and the causes of its waits, both by record. Walks all records.
  void add_messages(std::uint16_t location, const explain::message_match* matches, std::size_t count,
                    const base::pod_vector<explain::arrival>& arrivals) {
    find_least_waiting(location, matches, count, arrivals);
    explain::location_walk walk(*rank_);
    const explain::location_history& here = rank_->locations[location];
    base::pod_vector<receive> receives;  // filled at the first call that had a choice
    bool received = false;
    std::size_t m = 0, a = 0, p = 0;
    for (std::uint32_t i = 0; m != count && i != here.records.size(); ++i) {
      walk.step(here.records[i]);
      std::size_t last = m;
      while (last != count && matches[last].record == i) ++last;
      if (last == m) continue;
      while (a != arrivals.size() && arrivals[a].record < i) ++a;
      const std::size_t cause = a;
      while (a != arrivals.size() && arrivals[a].record == i) ++a;
      const core::call_role role = core::role_of(here.records[i]);
      const needed_messages needed =
          add_call(location, i, role, matches + m, matches + last, arrivals.data() + cause, arrivals.data() + a, walk);
      m = last;
      if (needed.count == 0 || (!needed.wildcard && role != core::call_role::complete_any)) continue;
      if (!received) receives = receives_of(here, location);
      received = true;
      while (p != receives.size() && receives[p].completion < i) ++p;
      const bool known = p != receives.size() && receives[p].completion == i;
      const bool alone = known && (p + 1 == receives.size() || receives[p + 1].completion != i);
      lanes_[location].chosen.push_back({i, alone ? receives[p].posting : chosen_message::unknown, needed.wildcard ? 1u : 0u});
    }
  }

  /// Sends requests for stamps to the needed ranks. Fills no packet much beyond `room` bytes; the next call sends the
  /// rest.
  template <class Outbox>
  void send_requests(Outbox&& to, std::size_t room) {
    if (!sending_) unsent_ = base::packed_list::reader(requests_);
    sending_ = true;
    for (; !unsent_.empty(); unsent_.pop()) {
      const stamp_request w = unsent_.front<stamp_request>();
      base::packet& out = to(w.rank);
      if (out.size() >= room) return;
      put(out, w);
    }
    requests_.release();
  }
  void receive_requests(std::int32_t source, base::packet_reader in) {
    while (!in.empty()) {
      const auto w = in.get<stamp_request>();
      add_give(w.causer_location, {w.causer_record, source, w.record, w.location});
    }
  }

  /// Sorts the gives by record. Call once, after the exchange.
  void sort() {
    for (lane& l : lanes_) l.gives.sort();
  }

  const need_counts& needs(std::size_t location) const { return lanes_[location].needs; }
  give_list::reader gives(std::size_t location) const { return give_list::reader(lanes_[location].gives); }
  const base::pod_vector<chosen_message>& chosen(std::size_t location) const { return lanes_[location].chosen; }

 private:
  struct lane {
    explicit lane(base::memory_pool& memory) : needs(memory), gives(memory), chosen(memory) {}
    need_counts needs;
    give_list gives;
    base::pod_vector<chosen_message> chosen;  ///< by record
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

  // What a call needs: how many messages, and whether the only one was received from any source.
  struct needed_messages {
    std::uint32_t count;
    bool wildcard;
  };
  // A call needs every message that it received, and the receive of every message that it sent synchronously. Whether
  // another send was buffered is unknown: its receive counts if it was found to be a cause, or if the message is as
  // large as one for which it was.
  needed_messages add_call(std::uint16_t location, std::uint32_t record, core::call_role role,
                           const explain::message_match* first, const explain::message_match* last,
                           const explain::arrival* causes, const explain::arrival* causes_end,
                           const explain::location_walk& walk) {
    needed_messages needed{0, false};
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
        add_request(location, record, *m, needed);
      } else if (earliest == nullptr || (m->progress && !earliest->progress) ||
                 (m->progress == earliest->progress && m->partner.begin_ns < earliest->partner.begin_ns)) {
        earliest = m;  // the partner's entry comes after the posting
      }
    }
    // A send that needed its partner's progress was not complete at once, although its receive did not hold it up. Nor was a
    // send complete in a call that waited for a message.
    if (earliest != nullptr && (!buffered || earliest->progress || waited)) add_request(location, record, *earliest, needed);
    return needed;
  }

  [[gnu::noinline]] void add_request(std::uint16_t location, std::uint32_t record, const explain::message_match& m,
                                     needed_messages& needed) {
    if (m.partner.record == explain::message_match::nowhere) return;  // in an earlier epoch: it was there in time
    requests_.push_back(stamp_request{m.rank, m.partner.record, record, m.partner.location, location});
    add_need(location, record);
    needed.wildcard = ++needed.count == 1 && m.receiving && (m.partner.flags & explain::endpoint_flag::wildcard) != 0;
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
  base::packed_list requests_;  ///< of stamp_request
  base::packed_list::reader unsent_;  ///< in requests_, once they are being sent
  bool sending_ = false;
  unsigned least_waiting_ = no_size;  ///< in binary digits, for the location at hand
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
