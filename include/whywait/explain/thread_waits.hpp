#ifndef WHYWAIT_EXPLAIN_THREAD_WAITS_HPP
#define WHYWAIT_EXPLAIN_THREAD_WAITS_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/messages.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The waits of one rank for threads, whose records name their causers (thread_book.hpp). They become matches like messages from
/// the causer to the waiter. The causer is another location of the rank, or of another one if each thread of a process is a rank
/// of its own (rank_history::threads_are_ranks). Not thread safe.
class thread_waits {
 public:
  /// All arguments are borrowed.
  thread_waits(const rank_history& rank, base::memory_pool& pool) : rank_(&rank), waits_(pool) {}

  /// O(records).
  void read_records() {
    for (std::uint16_t l = 0; l != rank_->locations.size(); ++l) {
      const location_history& here = rank_->locations[l];
      for (std::uint64_t i = here.carried; i != here.records.size(); ++i) {
        const core::sync_record& r = here.records[i];
        if (core::role_of(r.call) != core::call_role::thread_wait || !r.has(core::thread_flag::caused)) continue;
        const auto causer = static_cast<std::uint16_t>(r.completed_by);
        if (rank_->threads_are_ranks) {
          if (causer < rank_->ranks) waits_.push_back({causer, static_cast<std::uint32_t>(i), r.completion, l, 0});
        } else if (causer < rank_->locations.size()) {
          waits_.push_back({rank_->rank, static_cast<std::uint32_t>(i), r.completion, l, causer});
        }
      }
    }
  }

  /// Asks the causers for the instants. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send(Outbox&& to, std::size_t room) {
    for (; sent_ != waits_.size(); ++sent_) {
      base::packet& out = to(waits_[sent_].rank);
      if (out.size() >= room) return;
      put(out, base::packet_part::thread_wait);
      put(out, waits_[sent_]);
    }
    waits_.clear();
    sent_ = 0;
  }

  /// At the causer: adds the answer to `replies`.
  void receive_wait(base::packet_reader& in, base::packet& replies) const {
    const auto w = in.get<wait>();
    if (w.causer_location >= rank_->locations.size()) return;
    const location_history& here = rank_->locations[w.causer_location];
    if (w.causer_record >= here.records.size()) return;
    const core::sync_record& r = here.records[w.causer_record];
    cause c;
    c.match.record = w.record;
    c.match.location = w.location;
    c.match.rank = rank_->rank;
    const std::int64_t last_ns = rank_->continues ? rank_->end_ns : INT64_MAX;
    c.match.partner = {std::max(rank_->begin_ns, std::min(rank_->clock(r.begin), last_ns)), site_of(here, r), w.causer_record,
                       w.causer_location, static_cast<std::uint16_t>(here.dropped > 0 ? endpoint_flag::partial : 0)};
    put(replies, base::packet_part::thread_cause);
    put(replies, c);
  }

  /// At the waiter.
  static void receive_cause(base::packet_reader& in, message_book& messages) { messages.add_match(in.get<cause>().match); }

 private:
  struct wait {
    std::int32_t rank;  ///< the causer's
    std::uint32_t record, causer_record;
    std::uint16_t location, causer_location;
  };
  struct cause {
    message_match match;
  };

  const rank_history* rank_;
  base::pod_vector<wait> waits_;
  std::size_t sent_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
