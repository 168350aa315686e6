#ifndef WHYWAIT_EXPLAIN_MESSAGES_HPP
#define WHYWAIT_EXPLAIN_MESSAGES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/postings.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace explain {

/// A posting of one epoch that the next one needs: it is not complete, or its message is still in transit.
struct carried_posting {
  std::uint32_t record;
  std::uint16_t location;
  bool met;  ///< both sides are posted: sync_flag::met
};

/// Matches the messages of one rank with those of the others by posting order: the k-th send matches the k-th posted
/// receive per (communicator, source, destination, tag) (docs/method.md 4.10; MPI 4.0, 3.5 "non-overtaking"). Receivers
/// match the sends and reply when and where they received them, if that can have made the sender wait. Both directions
/// are sent in pieces, so that only the postings and 40 bytes per reply are held as a whole. Not thread safe.
class message_book {
 public:
  /// `all_synchronous`: senders of synchronous or large messages receive a reply even if the receive was posted in
  /// time.
  message_book(const rank_history& rank, bool all_synchronous, base::memory_pool& pool)
      : rank_(&rank), posted_(rank, all_synchronous), answers_(pool), open_(pool) {}

  posting_lists& postings() noexcept { return posted_; }
  /// Call once, after all postings are added.
  void sort_postings(posting_lists::scratch& s) {
    posted_.sort_postings(s);
    receives_left_ = 0;
    for (std::size_t i = 0; i != posted_.receive_count(); ++i) {
      receives_left_ += posted_.receives()[i].kind == posted_receive::receive ? 1 : 0;
    }
    if (rank_->continued) add_earlier_matches();
  }

  /// Sends the postings of all sends to their receivers, channel by channel. Fills no packet much beyond `room` bytes;
  /// the next call sends the rest.
  template <class Outbox>
  void send_postings(Outbox&& to, std::size_t room) {
    if (!sending_) {
      sending_ = true;
      std::int32_t full = -1;  // channels of one peer are adjacent
      for (std::uint32_t c = 0; c != posted_.send_channels(); ++c) {
        if (!pack(posted_.channel(c), full, to, room)) open_.push_back(c);
      }
      return;
    }
    std::size_t kept = 0;
    std::int32_t full = -1;
    for (const std::uint32_t c : open_) {
      if (!pack(posted_.channel(c), full, to, room)) open_[kept++] = c;
    }
    open_.resize(kept);
  }

  /// On the receiver: matches a piece of one channel; `in` stands behind the kind of the part. Appends to `reply` what
  /// the sender needs. The pieces of a channel arrive in order.
  void receive_sends(std::int32_t source, base::packet_reader& in, base::packet& reply) {
    const auto tag = in.get<std::int32_t>();
    const auto id = in.get<core::stable_key>();
    const auto from = in.get<std::uint32_t>();
    const auto count = in.get<std::uint32_t>();
    const unsigned char* sent = in.skip(std::size_t{count} * sizeof(endpoint));
    message_channel* const c = posted_.find(false, source, id, tag);
    posted_receive* at = posted_.receives() + (c == nullptr ? 0 : c->next);
    posted_receive* const last = posted_.receives() + (c == nullptr ? 0 : c->last);
    std::size_t replies_at = 0;  // position of the number of replies, if there is a reply
    std::uint32_t replies = 0, met = 0;
    for (; met != count; ++met, sent += sizeof(endpoint)) {
      // These probes match the message of the next receive.
      for (; at != last && at->kind <= posted_receive::shared_probe; ++at) std::memcpy(&at->partner, sent, sizeof(endpoint));
      if (at == last) break;
      posted_receive& p = *at++;
      std::memcpy(&p.partner, sent, sizeof(endpoint));
      if (p.kind != posted_receive::receive) continue;  // a probed message without a receive is also consumed
      if ((p.flags & endpoint_flag::start) != 0) posted_.complete_start(p);
      --receives_left_;
      // Most receives are posted in time and need no reply.
      const bool in_time = (p.partner.flags & endpoint_flag::late_only) != 0 && p.begin_ns <= p.partner.begin_ns;
      p.partner.flags = static_cast<std::uint16_t>(p.partner.flags | p.flags);
      if (in_time) continue;
      if (replies++ == 0) {
        put(reply, base::packet_part::receives);
        put(reply, tag);
        put(reply, id);
        replies_at = reply.size();
        put(reply, replies);
      }
      const core::stable_key site = site_of(rank_->locations[p.location], posted_.record({p.record, p.location}));
      put(reply, from + met);
      put(reply, endpoint{p.begin_ns, site, p.record, p.location, p.flags});
    }
    if (c != nullptr) c->next = static_cast<std::uint32_t>(at - posted_.receives());
    if (replies != 0) std::memcpy(reply.data() + replies_at, &replies, sizeof replies);
    if (met == count) return;
    if (!rank_->continues) {
      unmatched_ += count - met;
      return;
    }
    put(reply, base::packet_part::unmet);
    put(reply, tag);
    put(reply, id);
    put(reply, from + met);
  }

  /// On the sender: reads one reply, the receives of messages of one channel.
  void receive_replies(std::int32_t destination, base::packet_reader& in) {
    const auto tag = in.get<std::int32_t>();
    const auto id = in.get<core::stable_key>();
    const auto count = in.get<std::uint32_t>();
    const message_channel* const c = posted_.find(true, destination, id, tag);
    for (std::uint32_t i = 0; i != count; ++i) {
      const auto k = in.get<std::uint32_t>();
      auto received = in.get<endpoint>();
      if (c == nullptr) continue;
      const endpoint& sent = posted_.sends()[c->first + k];
      const record_place here{sent.record, sent.location};
      const core::sync_record& r = posted_.record(here);
      const record_place over = posted_.completion_of(here, r);
      if (over.location == record_place::nowhere) continue;
      if (came_later(received, r, over)) continue;
      const unsigned own = sent.flags & ~unsigned{endpoint_flag::late_only};
      received.flags = static_cast<std::uint16_t>(received.flags | own | endpoint_flag::size_of(r.bytes));
      answers_.emplace_back();
      set(answers_.back(), received, over, destination, false);
    }
  }

  /// On the sender, if another epoch follows: reads from which message on a channel has no receive yet.
  void receive_unmet(std::int32_t destination, base::packet_reader& in) {
    const auto tag = in.get<std::int32_t>();
    const auto id = in.get<core::stable_key>();
    const auto k = in.get<std::uint32_t>();
    message_channel* const c = posted_.find(true, destination, id, tag);
    if (c != nullptr) c->met = std::min(c->met, c->first + k);
  }

  /// The postings that the next epoch needs; valid after the exchange. A receive that was completed here without a send
  /// stays unmatched.
  base::vector<carried_posting> carried() {
    base::vector<carried_posting> all;
    const auto carry = [&](record_place p, bool met) {
      if (!met || !is_over(p)) all.push_back({p.record, p.location, met});
    };
    for (const record_place& p : posted_.uncertain) all.push_back({p.record, p.location, false});
    for (std::size_t n = 0; n != posted_.channels(); ++n) {
      const message_channel& c = posted_.channel(n);
      for (std::uint32_t i = c.first; i != c.last; ++i) {
        if (n < posted_.send_channels()) {
          carry({posted_.sends()[i].record, posted_.sends()[i].location}, i < c.met);
          continue;
        }
        const posted_receive& p = posted_.receives()[i];
        if (p.kind != posted_receive::receive || is_over({p.record, p.location})) continue;
        carry({p.record, p.location}, i < c.next);
        receives_left_ -= i < c.next ? 0 : 1;
      }
    }
    for (const record_place& p : posted_.met) carry(p, true);
    return all;
  }

  /// The number of sends and receives without a partner; valid after the exchange.
  std::int64_t unmatched() const noexcept { return unmatched_ + receives_left_; }

  /// Calls function(partner, the record here that completed the message, the partner's rank, receiving, progress) for each match;
  /// see message_match. Valid after the exchange.
  template <class Function>
  void each_match(Function&& function) const {
    for (std::size_t n = posted_.send_channels(); n != posted_.channels(); ++n) {
      const message_channel& c = posted_.channel(n);
      for (std::uint32_t i = c.first; i != c.next; ++i) {
        const posted_receive& p = posted_.receives()[i];
        if (p.completed_by == record_place::nowhere) continue;
        function(p.partner, record_place{p.completion, p.completed_by}, c.peer, true, false);
      }
    }
    for (const message_match& m : answers_) {
      function(m.partner, record_place{m.record, m.location}, m.rank, m.receiving, m.progress);
    }
  }

  /// All matches by location and record, after the exchange; until `release`. They take the memory of the receives, if they fit.
  /// Call once; then nothing else is valid. `places`: buffer. O(records).
  struct match_list {
    message_match* first;
    std::size_t count;
  };
  match_list take_matches(base::pod_vector<std::uint32_t>& places) {
    static_assert(sizeof(message_match) <= sizeof(posted_receive), "a match takes the place of its receive");
    const std::size_t room = posted_.receive_count() * sizeof(posted_receive);
    const std::size_t most = (posted_.receive_count() + answers_.size()) * sizeof(message_match);
    unsigned char* const first = most <= room ? reinterpret_cast<unsigned char*>(posted_.receives()) : new unsigned char[most];
    if (most > room) memory_.reset(first);
    unsigned char* to = first;
    each_match([&to](const endpoint& partner, record_place p, std::int32_t rank, bool receiving, bool progress) {
      message_match m;  // as bytes, for it may be written over the receives, never beyond the one at hand
      set(m, partner, p, rank, receiving);
      m.progress = progress;
      std::memcpy(to, &m, sizeof m);
      to += sizeof m;
    });
    const match_list all{reinterpret_cast<message_match*>(first), static_cast<std::size_t>(to - first) / sizeof(message_match)};
    answers_.release();
    if (most <= room) posted_.release_sends();
    else posted_ = posting_lists(*rank_, false);
    std::size_t records = 0;
    for (const location_history& l : rank_->locations) records += static_cast<std::size_t>(l.records.size());
    base::sort_by_number(
        all.first, all.count, records, [this](const message_match& m) { return number_of(m); }, places);
    return all;
  }

  /// Adds a match that did not come from the exchange of postings.
  void add_match(const message_match& m) { answers_.push_back(m); }

  /// Frees the memory.
  void release() noexcept {
    posted_ = posting_lists(*rank_, false);
    memory_.reset();
    open_.release();
    answers_.release();
  }

 private:
  // Returns true if the whole channel is sent.
  template <class Outbox>
  bool pack(message_channel& c, std::int32_t& full, Outbox&& to, std::size_t room) {
    if (c.peer == full) return false;
    base::packet& out = to(c.peer);
    if (out.size() >= room) {
      full = c.peer;
      return false;
    }
    const std::size_t fits = (room - out.size()) / sizeof(endpoint) + 1;
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(fits, c.last - c.next));
    put(out, base::packet_part::sends);
    put(out, c.tag);
    put(out, c.comm);
    put(out, c.next - c.first);
    put(out, count);
    base::put_bytes(out, posted_.sends() + c.next, count * sizeof(endpoint));
    c.next += count;
    return c.next == c.last;
  }

  // Adds operations that were matched in an earlier epoch and completed in this one; no call waits for them any more.
  void add_earlier_matches() {
    for (const record_place& p : posted_.met) {
      const core::sync_record& r = posted_.record(p);
      const record_place over = posted_.completion_of(p, r);
      if (over.location == record_place::nowhere) continue;
      endpoint before;
      before.begin_ns = rank_->begin_ns;
      before.record = message_match::nowhere;
      answers_.push_back({before, over.record, rank_->rank, over.location, r.has(core::sync_flag::posts_receive), false});
    }
  }

  // Whether the call that completed a send was over before its receive was posted. Then it waited for none of its messages, and a
  // small one does not tell either which sizes are buffered. MPI_Waitany may have returned because of that message.
  bool came_later(const endpoint& received, const core::sync_record& sent, record_place over) const noexcept {
    if (sent.bytes >= endpoint_flag::always_buffered_bytes || sent.has(core::sync_flag::synchronous) ||
        is_posting_of_epoch(sent))
      return false;
    const core::sync_record& call = posted_.record(over);
    return core::role_of(call) != core::call_role::complete_any && received.begin_ns > rank_->clock(call.begin + call.duration);
  }

  bool is_over(record_place p) const noexcept {
    const core::sync_record& r = posted_.record(p);
    const core::call_role role = core::role_of(r.call);
    return r.has(core::sync_flag::complete) || role == core::call_role::send || role == core::call_role::receive;
  }

  // Written in place: copying a freshly written struct stalls on store forwarding.
  static void set(message_match& m, const endpoint& partner, record_place here, std::int32_t rank, bool receiving) noexcept {
    m.partner = partner;
    m.record = here.record;
    m.rank = rank;
    m.location = here.location;
    m.receiving = receiving;
    m.progress = false;
  }

  // The index of the record of a match among all records of the rank.
  [[gnu::noinline]] std::size_t number_of(const message_match& m) const noexcept {
    std::size_t before = 0;
    for (std::uint16_t l = 0; l != m.location; ++l) before += static_cast<std::size_t>(rank_->locations[l].records.size());
    return before + m.record;
  }

  const rank_history* rank_;
  posting_lists posted_;
  base::pod_vector<message_match> answers_;  ///< matches of own sends and of earlier epochs
  base::pod_vector<std::uint32_t> open_;  ///< channels that are not completely sent
  std::unique_ptr<unsigned char[]> memory_;  ///< of all matches, if they did not fit into that of the receives
  std::int64_t unmatched_ = 0, receives_left_ = 0;
  bool sending_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
