#ifndef WHYWAIT_EXPLAIN_LEDGER_NEED_BOOK_HPP
#define WHYWAIT_EXPLAIN_LEDGER_NEED_BOOK_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/ledger/clock_stamp.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// How many stamps one record needs before its call can be judged.
struct clock_need {
  std::uint32_t record;
  std::uint32_t count;
  bool wildcard = false;  ///< took any source
};

/// Who needs whom, message by message: also those who were there in time, because under another hypothesis they
/// may not have been. Memory: 12 bytes per record that needs somebody, 16 per message given. Not thread safe.
class need_book {
 public:
  explicit need_book(const rank_history& rank) : rank_(&rank), lanes_(rank.locations.size()) {}

  /// A collective will tell this record.
  void need(std::uint16_t location, std::uint32_t record) {
    if (location < lanes_.size()) lanes_[location].needs.push_back({record, 1, false});
  }
  void give(std::uint16_t location, const clock_give& g) {
    if (location < lanes_.size()) lanes_[location].gives.push_back(g);
  }

  /// The messages of one location, by record, and what made it wait. Walks all records.
  void messages(std::uint16_t location, const message_match* matches, std::size_t count,
                const std::vector<arrival>& arrivals) {
    location_walk walk(*rank_);
    const location_history& here = rank_->locations[location];
    std::size_t m = 0, a = 0;
    for (std::uint32_t i = 0; m != count && i != here.records.size(); ++i) {
      walk.step(here.records[i]);
      std::size_t last = m;
      while (last != count && matches[last].record == i) ++last;
      if (last == m) continue;
      while (a != arrivals.size() && arrivals[a].record < i) ++a;
      const arrival* cause = a != arrivals.size() && arrivals[a].record == i ? &arrivals[a] : nullptr;
      one_call(location, i, core::role_of(here.records[i].call), matches + m, matches + last, cause, walk);
      m = last;
    }
  }

  /// Asks those who are needed. Fills no packet much beyond `room` bytes; what is left is for the next call.
  template <class Outbox>
  void ask(Outbox&& to, std::size_t room) {
    for (; asked_ != wishes_.size(); ++asked_) {
      const wish& w = wishes_[asked_];
      packet& out = to(w.rank);
      if (out.size() >= room) return;
      put(out, w);
    }
    wishes_ = {};
    asked_ = 0;
  }
  void take_wishes(std::int32_t source, packet_reader in) {
    while (!in.empty()) {
      const auto w = in.get<wish>();
      give(w.causer_location, {w.causer_record, source, w.record, w.location});
    }
  }

  /// Brings everything into the order of the records. Call once, after the exchange.
  void seal() {
    for (lane& l : lanes_) {
      const auto by_record = [](const auto& a, const auto& b) { return a.record < b.record; };
      if (!std::is_sorted(l.gives.begin(), l.gives.end(), by_record)) sort_rarely(l.gives, by_record);
      if (!std::is_sorted(l.needs.begin(), l.needs.end(), by_record)) sort_rarely(l.needs, by_record);
      std::size_t kept = 0;
      for (const clock_need& n : l.needs) {
        if (kept != 0 && l.needs[kept - 1].record == n.record) {
          l.needs[kept - 1].count += n.count;
          l.needs[kept - 1].wildcard = false;
        } else {
          l.needs[kept++] = n;
        }
      }
      l.needs.resize(kept);
    }
  }

  const std::vector<clock_need>& needs(std::size_t location) const { return lanes_[location].needs; }
  const std::vector<clock_give>& gives(std::size_t location) const { return lanes_[location].gives; }

 private:
  struct lane {
    std::vector<clock_need> needs;
    std::vector<clock_give> gives;
  };
  struct wish {
    std::int32_t rank;
    std::uint32_t causer_record, record;
    std::uint16_t causer_location, location;
  };

  // A call needs every message that it received and the receive of every message that it sent synchronously. Of
  // another send nobody knows whether it was buffered; its receive counts where it was found to be the cause.
  void one_call(std::uint16_t location, std::uint32_t record, core::call_role role, const message_match* first,
                const message_match* last, const arrival* cause, const location_walk& walk) {
    const message_match* earliest = nullptr;
    bool buffered = false;
    const bool any = role == core::call_role::complete_any;
    for (const message_match* m = first; m != last; ++m) {
      const bool sure = m->receiving || (m->partner.flags & endpoint_flag::synchronous) != 0;
      const bool blamed = cause != nullptr && cause->causer_rank == m->rank &&
                          cause->causer_record == m->partner.record &&
                          cause->causer_location == m->partner.location;
      if (m->partner.begin_ns > walk.leave_ns()) continue;  // the clocks disagree: judged by what is known here
      if (!sure && !blamed) {
        buffered = true;
      } else if (!any) {
        wish_for(location, record, *m);
      } else if (earliest == nullptr || m->partner.begin_ns < earliest->partner.begin_ns) {
        earliest = m;
      }
    }
    if (any && !buffered && earliest != nullptr) wish_for(location, record, *earliest);
  }

  void wish_for(std::uint16_t location, std::uint32_t record, const message_match& m) {
    if (m.partner.record == message_match::nowhere) return;  // of an earlier epoch: was there in time
    wishes_.push_back({m.rank, m.partner.record, record, m.partner.location, location});
    std::vector<clock_need>& needs = lanes_[location].needs;
    if (!needs.empty() && needs.back().record == record) {
      ++needs.back().count;
      needs.back().wildcard = false;
    } else {
      needs.push_back({record, 1, m.receiving && (m.partner.flags & endpoint_flag::wildcard) != 0});
    }
  }

  const rank_history* rank_;
  std::vector<lane> lanes_;
  std::vector<wish> wishes_;
  std::size_t asked_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
