#ifndef WHYWAIT_EXPLAIN_MESSAGES_HPP
#define WHYWAIT_EXPLAIN_MESSAGES_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// A posting of one epoch that the next one has to know of: it is not complete, or its message is still on its way.
struct carried_posting {
  std::uint32_t record;
  std::uint16_t location;
  bool met;  ///< both sides are posted: sync_flag::met
};

/// Matches the messages of one rank with those of the others by posting order: the k-th send meets the k-th
/// posted receive per (communicator, source, destination, tag) (overhead 4.3; MPI 4.0, 3.5 "non-overtaking").
/// Every receiver matches what was sent to it and tells the sender when and where it was received, if that can
/// have made the sender wait. Both go out piece by piece, so that nothing but the postings and the matches is
/// ever held as a whole: 24 bytes per posting until all is exchanged. Not thread safe.
class message_book {
 public:
  /// `all_synchronous`: a send that is synchronous, or large, hears of its receive even if that was posted in time.
  explicit message_book(const rank_history& rank, bool all_synchronous = false)
      : rank_(&rank), all_synchronous_(all_synchronous) {
    for (const location_history& location : rank.locations) partial_ = partial_ || location.dropped > 0;
  }

  /// Makes room for the postings among these records, so that no list is copied while it grows.
  void expect(const location_history& location) {
    std::size_t sends = sends_.size(), receives = receives_.size();
    for (std::uint64_t i = 0; i != location.records.size(); ++i) {
      const core::sync_record& r = location.records[i];
      if (r.has(core::sync_flag::posts_send)) {
        ++sends;
      } else if (r.has(core::sync_flag::posts_receive) || core::role_of(r.call) == core::call_role::probe) {
        ++receives;
      }
    }
    sends_.reserve(sends);
    receives_.reserve(receives);
  }

  /// Notes one record; call in record order, per location.
  void note(std::uint16_t location, std::uint32_t index, const core::sync_record& r, std::int64_t begin_ns) {
    using namespace core;
    const call_role role = role_of(r.call);
    const bool probes = role == call_role::probe;
    if (!probes && !r.has(sync_flag::posts_send | sync_flag::posts_receive)) return;
    if (r.has(sync_flag::cancelled | sync_flag::proc_null | sync_flag::failed)) return;
    if (r.comm >= rank_->communicators.size()) return;
    // Nobody knows what a wildcard received that was freed or never completed.
    const bool wildcard = r.has(sync_flag::any_source) || r.has(sync_flag::any_tag);
    const bool completes = role == call_role::receive || r.has(sync_flag::complete);
    if (!probes && wildcard && !completes && !r.has(sync_flag::resolved)) {
      if (rank_->continues) carried_.push_back({index, location, false});
      return;
    }
    const communicator& comm = rank_->communicators[r.comm];
    const std::int32_t peer = world_rank(comm, r.peer);
    if (comm.id == 0 || peer < 0) return;
    if (r.has(sync_flag::met) || (r.has(sync_flag::matched) && r.posting <= rank_->posted_before)) {
      met_.push_back({r.posting, begin_ns, index, location, receive});
      return;
    }
    if (r.has(sync_flag::posts_send)) {
      add(sends_, send_channels_, {comm.id, peer, r.tag}, {r.posting, begin_ns, index, location, receive});
      return;
    }
    const std::uint16_t kind = !probes ? receive : r.has(sync_flag::matched) ? matched_probe : plain_probe;
    add(receives_, receive_channels_, {comm.id, peer, r.tag}, {r.posting, begin_ns, index, location, kind});
  }

  /// Brings both sides into posting order. Call once, after the last `note`.
  void seal() {
    arrange(sends_, send_channels_);
    arrange(receives_, receive_channels_);
    receives_left_ = 0;
    for (const posted& p : receives_) receives_left_ += p.kind == receive ? 1 : 0;
    for (std::uint32_t c = 0; c != send_channels_.list.size(); ++c) open_.push_back(c);
  }

  /// How many matches there can be.
  std::size_t most_matches() const noexcept { return sends_.size() + receives_.size() + met_.size(); }

  /// What was matched in an earlier epoch and completed in this one: nobody waits for it any more.
  [[gnu::cold]] void recall(std::vector<message_match>& found) const {
    for (const posted& p : met_) {
      const core::sync_record& r = record(p);
      endpoint before;
      before.begin_ns = rank_->begin_ns;
      before.record = message_match::nowhere;
      completed(p, r, {before, 0, rank_->rank, 0, r.has(core::sync_flag::posts_receive)}, 0, found);
    }
  }

  /// To the receivers: every send, channel by channel. Fills no packet much beyond `room` bytes; what is left
  /// is for the next call.
  template <class Outbox>
  void pack_sends(Outbox&& to, std::size_t room) {
    std::size_t kept = 0;
    std::int32_t full = -1;  // channels of one peer follow each other mostly
    for (const std::uint32_t number : open_) {
      channel& c = send_channels_.list[number];
      packet* out = c.peer == full ? nullptr : &to(c.peer);
      if (out == nullptr || out->size() >= room) {
        full = c.peer;
        open_[kept++] = number;
        continue;
      }
      const std::size_t fits = (room - out->size()) / sizeof(endpoint) + 1;
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(fits, c.last - c.next));
      put(*out, packet_part::sends);
      put(*out, c.comm);
      put(*out, c.tag);
      put(*out, c.next - c.first);
      put(*out, count);
      for (std::uint32_t i = 0; i != count; ++i) put(*out, send_endpoint(sends_[c.next++]));
      if (c.next != c.last) open_[kept++] = number;
    }
    open_.resize(kept);
  }

  /// The receiver's side of a part of one channel; the reader stands behind the part's kind. Matches are
  /// appended to `found`, what the sender has to hear to `reply`. Parts of a channel come in their order.
  void match_sends(std::int32_t source, packet_reader& in, std::vector<message_match>& found, packet& reply) {
    const auto id = in.get<core::stable_key>();
    const auto tag = in.get<std::int32_t>();
    const auto from = in.get<std::uint32_t>();
    const auto count = in.get<std::uint32_t>();
    const std::uint32_t number = receive_channels_.numbers.find(channel_key(id, source, tag));
    std::uint32_t nothing = 0;
    std::uint32_t& at = number == key_map::none ? nothing : receive_channels_.list[number].next;
    const std::uint32_t last = number == key_map::none ? 0 : receive_channels_.list[number].last;
    std::size_t replies_at = 0;  // where the number of replies is, once there is one
    std::uint32_t replies = 0, met = 0;
    for (std::uint32_t k = 0; k != count; ++k) {
      const auto sent = in.get<endpoint>();
      bool taken = false;
      while (at != last && !taken) {
        const posted& p = receives_[at++];
        if (p.kind == plain_probe) {  // sees the message of the next receive
          found_at_probe(p, source, sent, found);
        } else if (p.kind == matched_probe) {
          found_at_probe(p, source, sent, found);
          // Its Mrecv shares the posting and follows at once; a probed message that nobody received is gone too.
          taken = at == last || receives_[at].order != p.order;
        } else {
          taken = true;
          --receives_left_;
          const core::sync_record& r = record(p);
          const endpoint answer = endpoint_of(p);
          completed(p, r, {sent, 0, source, 0, true}, answer.flags, found);
          // Most sends find their receive posted in time; those need no reply.
          if ((sent.flags & endpoint_flag::late_only) != 0 && answer.begin_ns <= sent.begin_ns) continue;
          if (replies++ == 0) {
            put(reply, packet_part::receives);
            put(reply, id);
            put(reply, tag);
            replies_at = reply.size();
            put(reply, replies);
          }
          put(reply, from + k);
          put(reply, answer);
        }
      }
      met += taken ? 1 : 0;  // a prefix
    }
    if (replies != 0) std::memcpy(reply.data() + replies_at, &replies, sizeof replies);
    if (met == count) return;
    if (!rank_->continues) {
      unmatched_ += count - met;
      return;
    }
    put(reply, packet_part::unmet);
    put(reply, id);
    put(reply, tag);
    put(reply, from + met);
  }

  /// The sender's side, if another epoch follows: from which of its messages on a channel has not been received.
  [[gnu::cold]] void take_unmet(std::int32_t destination, packet_reader& in) {
    const auto id = in.get<core::stable_key>();
    const auto tag = in.get<std::int32_t>();
    const auto k = in.get<std::uint32_t>();
    const std::uint32_t number = send_channels_.numbers.find(channel_key(id, destination, tag));
    if (number == key_map::none) return;
    channel& c = send_channels_.list[number];
    c.met = std::min(c.met, c.first + k);
  }

  /// After the exchange, if another epoch follows: the postings that it has to know of. What a call completed here,
  /// but nobody sent, stays unmatched.
  [[gnu::cold]] std::vector<carried_posting> carried() {
    for (const channel& c : send_channels_.list) {
      for (std::uint32_t i = c.first; i != c.last; ++i) carry(sends_[i], i < c.met);
    }
    for (const channel& c : receive_channels_.list) {
      for (std::uint32_t i = c.first; i != c.last; ++i) {
        if (receives_[i].kind != receive || is_over(receives_[i])) continue;
        carry(receives_[i], i < c.next);
        receives_left_ -= i < c.next ? 0 : 1;
      }
    }
    for (const posted& p : met_) carry(p, true);
    return std::move(carried_);
  }

  /// The sender's side of one reply: when and where messages of one channel were received.
  void match_replies(std::int32_t destination, packet_reader& in, std::vector<message_match>& found) const {
    const auto id = in.get<core::stable_key>();
    const auto tag = in.get<std::int32_t>();
    const auto count = in.get<std::uint32_t>();
    const std::uint32_t number = send_channels_.numbers.find(channel_key(id, destination, tag));
    for (std::uint32_t i = 0; i != count; ++i) {
      const auto k = in.get<std::uint32_t>();
      const auto received = in.get<endpoint>();
      if (number == key_map::none) continue;
      const posted& p = sends_[send_channels_.list[number].first + k];
      const auto flags = endpoint_of(p).flags | endpoint_flag::size_of(record(p).bytes);
      completed(p, record(p), {received, 0, destination, 0, false}, static_cast<std::uint16_t>(flags), found);
    }
  }

  /// Sends and receives that did not meet; valid after the exchange.
  std::int64_t unmatched() const noexcept { return unmatched_ + receives_left_; }

 private:
  // Probes sort before the receive of the same posting.
  enum : std::uint16_t { plain_probe, matched_probe, receive };

  struct posted {
    std::uint64_t order;  ///< channel << 32 | posting
    std::int64_t begin_ns;
    std::uint32_t record;
    std::uint16_t location;
    std::uint16_t kind;
  };
  struct channel {
    core::stable_key comm;
    std::int32_t peer;  ///< world rank of the other side
    std::int32_t tag;
    std::uint32_t first = 0, last = 0;  ///< range in the arranged postings
    std::uint32_t next = 0;             ///< the first that is not sent or not matched yet
    std::uint32_t met = 0xffffffffu;    ///< the first that nobody has received, if another epoch follows
  };
  struct channels {
    key_map numbers;
    std::vector<channel> list;
    std::uint64_t recent_key = 0;
    std::uint32_t recent = 0;
  };

  static core::stable_key channel_key(core::stable_key comm, std::int32_t peer, std::int32_t tag) noexcept {
    return core::combine(
        comm, (static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 32) | static_cast<std::uint32_t>(tag));
  }

  bool is_over(const posted& p) const noexcept {
    const core::sync_record& r = record(p);
    const core::call_role role = core::role_of(r.call);
    return r.has(core::sync_flag::complete) || role == core::call_role::send || role == core::call_role::receive;
  }
  void carry(const posted& p, bool is_met) {
    if (!is_met || !is_over(p)) carried_.push_back({p.record, p.location, is_met});
  }

  const core::sync_record& record(const posted& p) const noexcept {
    return rank_->locations[p.location].records[p.record];
  }

  static void add(std::vector<posted>& list, channels& known, const channel& c, posted p) {
    const core::stable_key key = channel_key(c.comm, c.peer, c.tag);
    if (known.list.empty() || key != known.recent_key) {
      const auto fresh = static_cast<std::uint32_t>(known.list.size());
      known.recent = known.numbers.intern(key, fresh);
      known.recent_key = key;
      if (known.recent == fresh) known.list.push_back(c);
    }
    p.order |= static_cast<std::uint64_t>(known.recent) << 32;
    list.push_back(p);
  }

  static void arrange(std::vector<posted>& list, channels& known) {
    const auto before = [](const posted& a, const posted& b) {
      return a.order != b.order ? a.order < b.order : a.kind < b.kind;
    };
    if (!std::is_sorted(list.begin(), list.end(), before)) std::stable_sort(list.begin(), list.end(), before);
    for (std::uint32_t i = 0; i != list.size(); ++i) {
      channel& c = known.list[list[i].order >> 32];
      if (c.last == 0) c.first = i;
      c.last = i + 1;
    }
    for (channel& c : known.list) c.next = c.first;
  }

  endpoint endpoint_of(const posted& p) const noexcept {
    const core::sync_record& r = record(p);
    endpoint e;
    e.begin_ns = p.begin_ns;
    e.site = site_of(rank_->locations[p.location], r);
    e.record = p.record;
    e.location = p.location;
    if (r.has(core::sync_flag::ambiguous)) e.flags = endpoint_flag::ambiguous;
    if (r.has(core::sync_flag::synchronous)) e.flags = static_cast<std::uint16_t>(e.flags | endpoint_flag::synchronous);
    if (r.has(core::sync_flag::any_source)) e.flags = static_cast<std::uint16_t>(e.flags | endpoint_flag::wildcard);
    if (partial_) e.flags = static_cast<std::uint16_t>(e.flags | endpoint_flag::partial);
    return e;
  }

  endpoint send_endpoint(const posted& p) const noexcept {
    endpoint e = endpoint_of(p);
    if (late_only(p)) e.flags = static_cast<std::uint16_t>(e.flags | endpoint_flag::late_only);
    return e;
  }

  // A call that completes any of several may have returned because of a receive that was there from the
  // beginning. All others wait only for what comes after their own beginning, which is not before the posting.
  bool late_only(const posted& p) const noexcept {
    const core::sync_record& r = record(p);
    const bool may_wait = r.has(core::sync_flag::synchronous) || r.bytes >= endpoint_flag::always_buffered_bytes;
    if (all_synchronous_ && may_wait) return false;
    if (core::role_of(r.call) == core::call_role::send) return true;
    const location_history& here = rank_->locations[p.location];
    return r.has(core::sync_flag::complete) && r.completed_by == p.location && r.completion >= p.record &&
           r.completion < here.records.size() &&
           core::role_of(here.records[r.completion].call) != core::call_role::complete_any;
  }

  void found_at_probe(const posted& p, std::int32_t source, const endpoint& sent,
                      std::vector<message_match>& found) const {
    found.push_back({sent, p.record, source, p.location, true});
  }

  void completed(const posted& p, const core::sync_record& r, message_match match, std::uint16_t flags,
                 std::vector<message_match>& found) const {
    const core::call_role role = core::role_of(r.call);
    if (role == core::call_role::send || role == core::call_role::receive) {
      match.record = p.record;
      match.location = p.location;
    } else {
      if (!r.has(core::sync_flag::complete) || r.completed_by >= rank_->locations.size() ||
          r.completion >= rank_->locations[r.completed_by].records.size()) {
        return;  // never seen to complete: nobody waited for it
      }
      match.record = r.completion;
      match.location = static_cast<std::uint16_t>(r.completed_by);
    }
    match.partner.flags = static_cast<std::uint16_t>(match.partner.flags | flags);
    found.push_back(match);
  }

  const rank_history* rank_;
  std::vector<posted> sends_, receives_, met_;
  std::vector<carried_posting> carried_;
  channels send_channels_, receive_channels_;
  std::vector<std::uint32_t> open_;  ///< channels with sends that the receiver has not been told of
  std::int64_t unmatched_ = 0, receives_left_ = 0;
  bool partial_ = false, all_synchronous_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
