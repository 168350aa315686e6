#ifndef WHYWAIT_EXPLAIN_POSTINGS_HPP
#define WHYWAIT_EXPLAIN_POSTINGS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/epoch_postings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The position of a record among those of one rank.
struct record_place {
  static constexpr std::uint16_t nowhere = 0xffffu;  ///< location of a call that was never recorded

  std::uint32_t record;
  std::uint16_t location;
};

/// The messages between this rank and one peer with one tag, in one direction and in posting order.
struct message_channel {
  core::stable_key comm = 0;
  std::int32_t peer = 0;  ///< world rank of the peer
  std::int32_t tag = 0;
  std::uint32_t first = 0, last = 0;  ///< range in the list of sends or receives
  std::uint32_t next = 0;             ///< the first that is not sent, or not matched, yet
  std::uint32_t met = 0xffffffffu;    ///< the first send without a receive, if another epoch follows

  bool operator<(const message_channel& o) const noexcept {
    return peer != o.peer ? peer < o.peer : comm != o.comm ? comm < o.comm : tag < o.tag;
  }
};

/// A receive or a probe, and the send that matched it.
struct posted_receive {
  // Probes sort before the receive of the same posting. The Mrecv of a `shared_probe` follows at once.
  enum : std::uint16_t { plain_probe, shared_probe, matched_probe, receive };

  endpoint partner;  ///< valid once matched
  std::int64_t begin_ns;
  std::uint32_t record, completion;      ///< completion: the record whose call completed it
  std::uint16_t location, completed_by;  ///< completed_by: the location of that record, or nowhere
  std::uint16_t flags;                   ///< endpoint_flag bits
  std::uint16_t kind;
};

/// The messages of one rank, channel by channel in posting order, in memory blocks of exact size: 24 bytes per send,
/// 48 per receive, 32 per channel. Each record is read twice. Not thread safe.
class posting_lists {
 public:
  static constexpr std::uint32_t no_channel = 0xffffffffu, met_before = 0xfffffffeu;  ///< markers in place of a channel

  /// Buffers for one rank, 4 bytes per record. All ranks of a process share them.
  struct scratch {
    struct found {
      message_channel channel;
      core::stable_key key = 0;
      std::uint32_t latest = 0;  ///< the last posting that was added
      std::uint32_t count = 0, first = 0, at = 0;  ///< at: where the next posting is added
      std::uint32_t successor = 0;  ///< the channel of the next posting, the last time
      std::uint32_t comm = 0;  ///< number of the communicator
      std::int32_t peer = -1;  ///< the peer's rank in the communicator
      unsigned posts = ~0u;  ///< flags of its ordinary postings; ~0: it has none
      bool sends = false, in_order = true, probes = false;
    };
    base::key_map numbers;
    std::uint32_t recent = no_channel;  ///< channel of the previous posting
    base::pod_vector<found> channels;  ///< in the order of first postings
    base::pod_vector<std::uint32_t> order;  ///< channels in their final order
    base::pod_vector<std::uint32_t> of_records;  ///< the channel of each record, or a marker
    std::size_t added = 0;  ///< number of records of of_records that were added
  };

  /// `all_synchronous`: see message_book.
  posting_lists(const rank_history& rank, bool all_synchronous) : rank_(&rank), all_synchronous_(all_synchronous) {
    for (const location_history& location : rank.locations) {
      if (location.dropped > 0) partial_ = endpoint_flag::partial;
    }
  }

  /// Call `count_postings` for every location in order, then `allocate`, then `add_postings` in the same order, and
  /// `sort_postings`; all with the same scratch. Calls other(record) for records that are no messages.
  template <class Other>
  void count_postings(scratch& s, std::uint16_t location, Other&& other) {
    const location_history& here = rank_->locations[location];
    const auto size = static_cast<std::uint32_t>(here.records.size());
    const std::size_t before = s.of_records.size();
    s.of_records.resize(before + size);
    for (std::uint32_t i = 0; i != size; ++i) {
      const core::sync_record& r = here.records[i];
      std::uint32_t number = no_channel;
      if ((r.flags & posts) == 0 && core::role_of(r) != core::call_role::probe) {
        other(r);
      } else if (!count_as_successor(s, r, number)) {
        number = count_on_channel(s, {i, location}, r);
      }
      s.of_records[before + i] = number;
    }
  }

  /// Allocates the lists.
  void allocate(scratch& s) {
    sort_channels(s);
    std::size_t sends = 0;
    for (const scratch::found& f : s.channels) (f.sends ? sends : receive_count_) += f.count;
    channel_count_ = s.order.size();
    memory_.reset(new unsigned char[channel_count_ * sizeof(message_channel) + sends * sizeof(endpoint)]);
    receive_memory_.reset(new unsigned char[receive_count_ * sizeof(posted_receive)]);
    channels_ = reinterpret_cast<message_channel*>(memory_.get());
    sends_ = reinterpret_cast<endpoint*>(channels_ + channel_count_);
    receives_ = reinterpret_cast<posted_receive*>(receive_memory_.get());
    std::uint32_t next_send = 0, next_receive = 0;
    message_channel* c = channels_;
    for (const std::uint32_t number : s.order) {
      scratch::found& f = s.channels[number];
      std::uint32_t& at = f.sends ? next_send : next_receive;
      f.first = f.at = at;
      at += f.count;
      f.channel.first = f.channel.next = f.first;
      f.channel.last = at;
      new (c++) message_channel(f.channel);
      send_channels_ += f.sends ? 1 : 0;
    }
  }

  /// Calls other(index, record, walk) for records that are no messages. Returns the walk at the end of the location.
  template <class Other>
  location_walk add_postings(scratch& s, std::uint16_t location, Other&& other) {
    const location_history& here = rank_->locations[location];
    const auto size = static_cast<std::uint32_t>(here.records.size());
    const std::uint32_t* const numbers = s.of_records.data() + s.added;
    s.added += size;
    location_walk walk(*rank_);
    for (std::uint32_t i = 0; i != size; ++i) {
      const core::sync_record& r = here.records[i];
      walk.step(r);
      const std::uint32_t number = numbers[i];
      if (number >= met_before) {
        if (number == met_before) {
          met.push_back({i, location});
        } else {
          other(i, r, walk);
        }
        continue;
      }
      scratch::found& f = s.channels[number];
      const core::call_role role = core::role_of(r);
      // Whether a later call of the same location completes it.
      const bool completes_here = r.has(core::sync_flag::complete) && r.completed_by == location && r.completion >= i &&
                                  r.completion < size && role != core::call_role::send && role != core::call_role::receive;
      const std::uint32_t place = f.at++;
      f.in_order = f.in_order && f.latest <= r.posting;
      f.latest = r.posting;
      unsigned flags = flags_of(r);
      if (f.sends) {
        if (late_only(here, role, completes_here, r)) flags |= endpoint_flag::late_only;
        endpoint* const e = sends_ + place;
        e->begin_ns = walk.begin_ns();
        e->site = site_of(here, r);
        e->record = i;
        e->location = location;
        e->flags = static_cast<std::uint16_t>(flags);
        if (role == core::call_role::epoch && r.tag == core::epoch_tag::last_operation) {
          e->flags |= endpoint_flag::operation;
          const std::uint32_t last = last_operation(here, i);
          e->begin_ns = std::min(e->begin_ns, std::max(rank_->clock(here.records[last].begin), rank_->begin_ns));
          e->site = site_of(here, here.records[last]);
          e->record = last;
        }
        continue;
      }
      posted_receive* const p = receives_ + place;
      p->begin_ns = walk.begin_ns();
      p->record = i;
      p->location = location;
      if (r.call == core::mpi_call::Win_start) flags |= endpoint_flag::start;
      p->flags = static_cast<std::uint16_t>(flags);
      p->kind = posted_receive::receive;
      if (role == core::call_role::probe) {
        p->kind = r.has(core::sync_flag::matched) ? posted_receive::matched_probe : posted_receive::plain_probe;
        f.probes = true;
      }
      if (role == core::call_role::receive || role == core::call_role::probe) {
        p->completion = i;
        p->completed_by = location;
      } else {
        const record_place over = completes_here ? record_place{r.completion, location} : completion_of({i, location}, r);
        p->completion = over.record;
        p->completed_by = over.location;
      }
    }
    return walk;
  }

  /// Sorts channels that several threads posted to, or whose probed messages are received later than they were found.
  void sort_postings(scratch& s) {
    for (const scratch::found& f : s.channels) {
      if (!f.in_order || f.probes) sort_channel(f);
      s.numbers.erase(f.key);
    }
    s.channels.clear();
    s.recent = no_channel;
    s.of_records.clear();
    s.added = 0;
  }

  /// For a matched posting of MPI_Win_start: if that returned before the post, MPI_Win_complete waited for it.
  void complete_start(posted_receive& p) const noexcept {
    if (p.completed_by != p.location) return;
    const location_history& here = rank_->locations[p.location];
    const core::sync_record& start = here.records[p.completion];
    if (p.partner.begin_ns > rank_->clock(start.begin + start.duration)) p.completion = end_of_access(here, p.completion);
  }

  /// The call that completed an operation; at record_place::nowhere if no call waited for it. Out of line, because many places
  /// use it.
  [[gnu::noinline]] record_place completion_of(record_place at, const core::sync_record& r) const noexcept {
    const core::call_role role = core::role_of(r.call);
    if (role == core::call_role::send || role == core::call_role::receive) return at;
    if (!r.has(core::sync_flag::complete) || r.completed_by >= rank_->locations.size() ||
        r.completion >= rank_->locations[r.completed_by].records.size()) {
      return {0, record_place::nowhere};
    }
    return {r.completion, static_cast<std::uint16_t>(r.completed_by)};
  }
  const core::sync_record& record(record_place p) const noexcept { return rank_->locations[p.location].records[p.record]; }

  /// Finds a channel of sends or of receives; null if there is none. O(log channels).
  message_channel* find(bool of_sends, std::int32_t peer, core::stable_key comm, std::int32_t tag) noexcept {
    message_channel wanted;
    wanted.comm = comm;
    wanted.peer = peer;
    wanted.tag = tag;
    message_channel* const last = channels_ + (of_sends ? send_channels_ : channel_count_);
    message_channel* const at = std::lower_bound(channels_ + (of_sends ? 0 : send_channels_), last, wanted);
    return at == last || wanted < *at ? nullptr : at;
  }

  /// Channels of sends, then channels of receives; each sorted by peer.
  message_channel& channel(std::size_t number) noexcept { return channels_[number]; }
  const message_channel& channel(std::size_t number) const noexcept { return channels_[number]; }
  std::size_t channels() const noexcept { return channel_count_; }
  std::size_t send_channels() const noexcept { return send_channels_; }
  const endpoint* sends() const noexcept { return sends_; }
  posted_receive* receives() noexcept { return receives_; }
  const posted_receive* receives() const noexcept { return receives_; }
  std::size_t receive_count() const noexcept { return receive_count_; }
  /// Frees all but the receives.
  void release_sends() noexcept {
    memory_.reset();
    channel_count_ = send_channels_ = 0;
  }

  base::pod_vector<record_place> met;  ///< matched in an earlier epoch
  base::pod_vector<record_place> uncertain;  ///< wildcards whose message only the next epoch determines

 private:
  static constexpr unsigned posts = core::sync_flag::posts_send | core::sync_flag::posts_receive;
  static constexpr unsigned peculiar = core::sync_flag::cancelled | core::sync_flag::proc_null | core::sync_flag::failed |
                                       core::sync_flag::any_source | core::sync_flag::any_tag | core::sync_flag::matched |
                                       core::sync_flag::met;

  // Counts a posting on the channel that followed the previous channel the last time, which is the usual case.
  static bool count_as_successor(scratch& s, const core::sync_record& r, std::uint32_t& number) {
    if (s.recent == no_channel) return false;
    number = s.channels[s.recent].successor;
    scratch::found& f = s.channels[number];
    if ((r.flags & (posts | peculiar)) != f.posts || f.peer != r.peer || f.channel.tag != r.tag || f.comm != r.comm)
      return false;
    ++f.count;
    s.recent = number;
    return true;
  }

  [[gnu::noinline]] std::uint32_t count_on_channel(scratch& s, record_place at, const core::sync_record& r) {
    const std::uint32_t number = find_channel(s, at, r);
    if (number >= met_before) return number;
    scratch::found& f = s.channels[number];
    ++f.count;
    if ((r.flags & peculiar) == 0 && (r.flags & posts) != 0) {
      f.comm = r.comm;
      f.peer = r.peer;
      f.posts = r.flags & posts;
    }
    if (s.recent != no_channel) s.channels[s.recent].successor = number;
    return s.recent = number;
  }

  std::uint32_t find_channel(scratch& s, record_place at, const core::sync_record& r) {
    using namespace core;
    const call_role role = role_of(r);
    if (r.has(sync_flag::cancelled | sync_flag::proc_null | sync_flag::failed)) return no_channel;
    if (r.comm >= rank_->communicators.size()) return no_channel;
    // The message of a wildcard that was freed or never completed is unknown.
    const bool wildcard = r.has(sync_flag::any_source) || r.has(sync_flag::any_tag);
    const bool completes = role == call_role::receive || r.has(sync_flag::complete);
    if (role != call_role::probe && wildcard && !completes && !r.has(sync_flag::resolved)) {
      if (rank_->continues) uncertain.push_back(at);
      return no_channel;
    }
    const communicator& comm = rank_->communicators[r.comm];
    const std::int32_t peer = world_rank(comm, r.peer);
    if (comm.id == 0 || peer < 0) return no_channel;
    if (r.has(sync_flag::met) || (r.has(sync_flag::matched) && r.posting <= rank_->posted_before)) return met_before;
    const bool of_sends = r.has(sync_flag::posts_send);
    const stable_key key =
        combine(of_sends ? comm.id : ~comm.id,
                (static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 32) | static_cast<std::uint32_t>(r.tag));
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
    return number;
  }

  static void sort_channels(scratch& s) {
    const auto before = [&s](std::uint32_t a, std::uint32_t b) {
      const scratch::found &x = s.channels[a], &y = s.channels[b];
      return x.sends != y.sends ? x.sends : x.channel < y.channel;
    };
    s.order.clear();
    const bool few = s.channels.size() <= 32;  // small lists, as on most ranks, are sorted by insertion
    for (std::uint32_t number = 0; number != s.channels.size(); ++number) {
      s.order.push_back(number);
      for (std::size_t i = number; few && i != 0 && before(number, s.order[i - 1]); --i) std::swap(s.order[i], s.order[i - 1]);
    }
    if (!few) small_stable_sort(s.order, before);
  }

  void sort_channel(const scratch::found& f) {
    const auto count = static_cast<std::size_t>(f.at - f.first);
    const auto posting = [this](const auto& p) { return record({p.record, p.location}).posting; };
    if (f.sends) {
      base::small_stable_sort(sends_ + f.first, count,
                              [&](const endpoint& a, const endpoint& b) { return posting(a) < posting(b); });
      return;
    }
    posted_receive* const first = receives_ + f.first;
    base::small_stable_sort(first, count, [&](const posted_receive& a, const posted_receive& b) {
      const std::uint32_t x = posting(a), y = posting(b);
      return x != y ? x < y : a.kind < b.kind;
    });
    for (std::size_t i = 1; i < count; ++i) {
      const bool shared = first[i - 1].kind == posted_receive::matched_probe && posting(first[i]) == posting(first[i - 1]);
      if (shared) first[i - 1].kind = posted_receive::shared_probe;
    }
  }

  static constexpr unsigned moved(unsigned flags, unsigned from, unsigned to) noexcept {
    return from >= to ? (flags & from) / (from / to) : (flags & from) * (to / from);
  }
  unsigned flags_of(const core::sync_record& r) const noexcept {
    return partial_ | moved(r.flags, core::sync_flag::ambiguous, endpoint_flag::ambiguous) |
           moved(r.flags, core::sync_flag::synchronous, endpoint_flag::synchronous) |
           moved(r.flags, core::sync_flag::any_source, endpoint_flag::wildcard);
  }

  // A call that completes any of several requests may have returned because of a receive that was posted long before.
  // All other calls wait only for what happens after their own beginning, which is not before the posting.
  bool late_only(const location_history& here, core::call_role role, bool completes_here,
                 const core::sync_record& r) const noexcept {
    const bool may_wait = r.has(core::sync_flag::synchronous) || r.bytes >= endpoint_flag::always_buffered_bytes;
    if (all_synchronous_ && may_wait) return false;
    if (role == core::call_role::send) return true;
    return completes_here && core::role_of(here.records[r.completion]) != core::call_role::complete_any;
  }

  const rank_history* rank_;
  std::unique_ptr<unsigned char[]> memory_, receive_memory_;  // hold the three lists below
  message_channel* channels_ = nullptr;
  endpoint* sends_ = nullptr;
  posted_receive* receives_ = nullptr;
  std::size_t channel_count_ = 0, send_channels_ = 0, receive_count_ = 0;
  unsigned partial_ = 0;  ///< endpoint_flag bits of all endpoints
  bool all_synchronous_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
