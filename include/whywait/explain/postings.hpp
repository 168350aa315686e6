#ifndef WHYWAIT_EXPLAIN_POSTINGS_HPP
#define WHYWAIT_EXPLAIN_POSTINGS_HPP

#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
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

/// A record of one rank.
struct record_place {
  static constexpr std::uint16_t nowhere = 0xffffu;  ///< location of a call that was never seen

  std::uint32_t record;
  std::uint16_t location;
};

/// What makes messages of one rank follow each other: the sends to, or the receives from, one other rank with one tag.
struct message_channel {
  core::stable_key comm = 0;
  std::int32_t peer = 0;  ///< world rank of the other side
  std::int32_t tag = 0;
  std::uint32_t first = 0, last = 0;  ///< range in the list of sends, or of receives
  std::uint32_t next = 0;             ///< the first that is not sent or not matched yet
  std::uint32_t met = 0xffffffffu;    ///< the first that nobody has received, if another epoch follows

  bool operator<(const message_channel& o) const noexcept {
    return peer != o.peer ? peer < o.peer : comm != o.comm ? comm < o.comm : tag < o.tag;
  }
};

/// A receive or a probe, and the send that it met.
struct posted_receive {
  // Probes sort before the receive of the same posting. Matched ones that are `shared`: their Mrecv follows at once.
  enum : std::uint16_t { plain_probe, shared_probe, matched_probe, receive };

  endpoint partner;  ///< once it is matched
  std::int64_t begin_ns;
  std::uint32_t record, completion;      ///< completion: of the record whose call completed it
  std::uint16_t location, completed_by;  ///< completed_by: location of that record, or nowhere
  std::uint16_t flags;                   ///< endpoint_flag bits
  std::uint16_t kind;
};

/// The messages of one rank as it handed them to MPI, channel by channel in posting order, in lists that are made as long as
/// they have to be: 24 bytes per send, 48 per receive, 32 per channel. Each record is read twice, while it is in the cache.
/// Not thread safe.
class posting_lists {
 public:
  /// What is needed while one rank is looked at, 4 bytes per record; all ranks of a process share it.
  struct scratch {
    struct found {
      message_channel channel;
      core::stable_key key = 0;
      std::uint64_t latest = 0;                    ///< order of the last that was noted
      std::uint32_t count = 0, first = 0, at = 0;  ///< at: the next one to be noted
      bool sends = false, in_order = true;
    };
    key_map numbers;
    std::vector<found> channels;            ///< in the order in which they were met
    std::vector<std::uint32_t> order;       ///< of channels: as they are kept
    std::vector<std::uint32_t> of_records;  ///< the channel of each record, or what it is instead
    std::size_t noted = 0;                  ///< of of_records
  };

  /// `all_synchronous`: see message_book.
  posting_lists(const rank_history& rank, bool all_synchronous) : rank_(&rank), all_synchronous_(all_synchronous) {
    for (const location_history& location : rank.locations) partial_ = partial_ || location.dropped > 0;
  }

  /// Call for every record in order, location by location, then `arrange`; then `note` in the same order and `seal`; all
  /// with one scratch.
  void expect(scratch& s, record_place here, const core::sync_record& r) {
    s.of_records.push_back(find_channel(s, here, r));
  }

  /// Makes room.
  void arrange(scratch& s) {
    bring_into_order(s);
    channels.reserve(s.order.size());
    std::uint32_t send_count = 0, receive_count = 0;
    for (const std::uint32_t number : s.order) {
      scratch::found& f = s.channels[number];
      std::uint32_t& at = f.sends ? send_count : receive_count;
      f.first = f.at = at;
      at += f.count;
      channels.push_back(f.channel);
      channels.back().first = channels.back().next = f.first;
      channels.back().last = at;
      send_channels += f.sends ? 1 : 0;
    }
    sends.resize(send_count);
    receives.resize(receive_count);
  }

  void note(scratch& s, record_place here, const core::sync_record& r, std::int64_t begin_ns) {
    const std::uint32_t number = s.of_records[s.noted++];
    if (number == no_channel) return;
    if (number == met_before) {
      met.push_back(here);
      return;
    }
    scratch::found& f = s.channels[number];
    const std::uint16_t kind = kind_of(r);
    const std::uint64_t order = (static_cast<std::uint64_t>(r.posting) << 2) | kind;
    f.in_order = f.in_order && order >= f.latest;
    if (f.sends) {
      const unsigned flags = flags_of(r) | (late_only(here, r) ? unsigned{endpoint_flag::late_only} : 0u);
      sends[f.at] = {begin_ns, site_of(rank_->locations[here.location], r), here.record, here.location,
                     static_cast<std::uint16_t>(flags)};
    } else {
      if (f.at != f.first && order >> 2 == f.latest >> 2) share(receives[f.at - 1]);
      const record_place over = kind == posted_receive::receive ? completion_of(here, r) : here;
      posted_receive& p = receives[f.at];
      p.begin_ns = begin_ns;
      p.record = here.record;
      p.completion = over.record;
      p.location = here.location;
      p.completed_by = over.location;
      p.flags = static_cast<std::uint16_t>(flags_of(r));
      p.kind = kind;
    }
    f.latest = order;
    ++f.at;
  }

  /// Threads may post in turn, and a probed message is received later than it was found.
  void seal(scratch& s) {
    for (const scratch::found& f : s.channels) {
      if (!f.in_order) sort_channel(f);
      s.numbers.erase(f.key);
    }
    s.channels.clear();
    s.of_records.clear();
    s.noted = 0;
  }

  /// Where the call is that completed it; at record_place::nowhere nobody waited for it.
  record_place completion_of(record_place here, const core::sync_record& r) const noexcept {
    const core::call_role role = core::role_of(r.call);
    if (role == core::call_role::send || role == core::call_role::receive) return here;
    if (!r.has(core::sync_flag::complete) || r.completed_by >= rank_->locations.size() ||
        r.completion >= rank_->locations[r.completed_by].records.size()) {
      return {0, record_place::nowhere};
    }
    return {r.completion, static_cast<std::uint16_t>(r.completed_by)};
  }
  const core::sync_record& record(record_place p) const noexcept { return rank_->locations[p.location].records[p.record]; }

  /// Of the sends or the receives; null if there is none. O(log channels).
  message_channel* find(bool of_sends, std::int32_t peer, core::stable_key comm, std::int32_t tag) noexcept {
    message_channel wanted;
    wanted.comm = comm;
    wanted.peer = peer;
    wanted.tag = tag;
    message_channel* first = channels.data() + (of_sends ? 0 : send_channels);
    message_channel* const last = channels.data() + (of_sends ? send_channels : channels.size());
    first = std::lower_bound(first, last, wanted);
    return first == last || wanted < *first ? nullptr : first;
  }

  std::vector<message_channel> channels;  ///< those of sends, then those of receives; each by peer
  std::vector<endpoint> sends;
  std::vector<posted_receive> receives;
  std::vector<record_place> met;        ///< in an earlier epoch
  std::vector<record_place> uncertain;  ///< what these will receive only the next epoch can know
  std::size_t send_channels = 0;

 private:
  static constexpr std::uint32_t no_channel = 0xffffffffu, met_before = 0xfffffffeu;

  static std::uint16_t kind_of(const core::sync_record& r) noexcept {
    if (core::role_of(r.call) != core::call_role::probe) return posted_receive::receive;
    return r.has(core::sync_flag::matched) ? posted_receive::matched_probe : posted_receive::plain_probe;
  }

  std::uint32_t find_channel(scratch& s, record_place here, const core::sync_record& r) {
    using namespace core;
    const call_role role = role_of(r.call);
    const bool probes = role == call_role::probe;
    if (!probes && !r.has(sync_flag::posts_send | sync_flag::posts_receive)) return no_channel;
    if (r.has(sync_flag::cancelled | sync_flag::proc_null | sync_flag::failed)) return no_channel;
    if (r.comm >= rank_->communicators.size()) return no_channel;
    // Nobody knows what a wildcard received that was freed or never completed.
    const bool wildcard = r.has(sync_flag::any_source) || r.has(sync_flag::any_tag);
    const bool completes = role == call_role::receive || r.has(sync_flag::complete);
    if (!probes && wildcard && !completes && !r.has(sync_flag::resolved)) {
      if (rank_->continues) uncertain.push_back(here);
      return no_channel;
    }
    const communicator& comm = rank_->communicators[r.comm];
    const std::int32_t peer = world_rank(comm, r.peer);
    if (comm.id == 0 || peer < 0) return no_channel;
    if (r.has(sync_flag::met) || (r.has(sync_flag::matched) && r.posting <= rank_->posted_before)) return met_before;
    const bool of_sends = r.has(sync_flag::posts_send);
    const stable_key key =
        combine(of_sends ? comm.id : ~comm.id, (static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 32) |
                                                   static_cast<std::uint32_t>(r.tag));
    const auto fresh = static_cast<std::uint32_t>(s.channels.size());
    const std::uint32_t number = s.numbers.intern(key, fresh);
    if (number == fresh) {
      s.channels.emplace_back();
      scratch::found& f = s.channels.back();
      f.channel.comm = comm.id;
      f.channel.peer = peer;
      f.channel.tag = r.tag;
      f.key = key;
      f.sends = of_sends;
    }
    ++s.channels[number].count;
    return number;
  }

  static void bring_into_order(scratch& s) {
    const auto before = [&s](std::uint32_t a, std::uint32_t b) {
      const scratch::found &x = s.channels[a], &y = s.channels[b];
      return x.sends != y.sends ? x.sends : x.channel < y.channel;
    };
    s.order.clear();
    const bool few = s.channels.size() <= 32;  // as on most ranks: sorted where they are put
    for (std::uint32_t number = 0; number != s.channels.size(); ++number) {
      s.order.push_back(number);
      for (std::size_t i = number; few && i != 0 && before(number, s.order[i - 1]); --i) std::swap(s.order[i], s.order[i - 1]);
    }
    if (!few) sort_rarely(s.order, before);
  }

  static void share(posted_receive& p) noexcept {
    if (p.kind == posted_receive::matched_probe) p.kind = posted_receive::shared_probe;
  }

  [[gnu::cold]] void sort_channel(const scratch::found& f) {
    const auto count = static_cast<std::size_t>(f.at - f.first);
    const auto posting = [this](const auto& p) { return record({p.record, p.location}).posting; };
    if (f.sends) {
      sort_rarely(sends.data() + f.first, count,
                  [&](const endpoint& a, const endpoint& b) { return posting(a) < posting(b); });
      return;
    }
    for (std::uint32_t i = f.first; i != f.at; ++i) {
      if (receives[i].kind == posted_receive::shared_probe) receives[i].kind = posted_receive::matched_probe;
    }
    sort_rarely(receives.data() + f.first, count, [&](const posted_receive& a, const posted_receive& b) {
      const std::uint32_t x = posting(a), y = posting(b);
      return x != y ? x < y : a.kind < b.kind;
    });
    for (std::uint32_t i = f.first + 1; i < f.at; ++i) {
      if (posting(receives[i]) == posting(receives[i - 1])) share(receives[i - 1]);
    }
  }

  unsigned flags_of(const core::sync_record& r) const noexcept {
    unsigned flags = partial_ ? unsigned{endpoint_flag::partial} : 0u;
    if (r.has(core::sync_flag::ambiguous)) flags |= endpoint_flag::ambiguous;
    if (r.has(core::sync_flag::synchronous)) flags |= endpoint_flag::synchronous;
    if (r.has(core::sync_flag::any_source)) flags |= endpoint_flag::wildcard;
    return flags;
  }

  // A call that completes any of several may have returned because of a receive that was there from the
  // beginning. All others wait only for what comes after their own beginning, which is not before the posting.
  bool late_only(record_place at, const core::sync_record& r) const noexcept {
    const bool may_wait = r.has(core::sync_flag::synchronous) || r.bytes >= endpoint_flag::always_buffered_bytes;
    if (all_synchronous_ && may_wait) return false;
    if (core::role_of(r.call) == core::call_role::send) return true;
    const location_history& here = rank_->locations[at.location];
    return r.has(core::sync_flag::complete) && r.completed_by == at.location && r.completion >= at.record &&
           r.completion < here.records.size() &&
           core::role_of(here.records[r.completion].call) != core::call_role::complete_any;
  }

  const rank_history* rank_;
  bool partial_ = false, all_synchronous_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
