#ifndef WHYWAIT_EXPLAIN_LINKS_HPP
#define WHYWAIT_EXPLAIN_LINKS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/changed_entries.hpp>
#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Flow control of the snapshots between this rank and others: at most `window` are outstanding per pair of ranks,
/// direction and kind, so that a rank that never waits cannot fill the memory of a rank that always does. A receiver
/// acknowledges half a window when it has used it. Whole snapshots may arrive in another order than they are used; a
/// receiver that is stuck therefore acknowledges half a window when it has received it. The number of acknowledgements
/// follows from the number of snapshots, so none is left in the network at the end.
class link_book {
 public:
  static constexpr std::uint32_t window = 256, half = window / 2;

  /// The counts of one kind of snapshots in both directions.
  struct traffic {
    std::uint32_t to_send = 0, sent = 0, acknowledged = 0;  ///< acknowledged: halves acknowledged by the peer
    std::uint32_t received = 0, used = 0, answered = 0;     ///< answered: halves acknowledged by this rank

    bool open() const noexcept { return sent - acknowledged * half < window; }
    bool quiet() const noexcept { return sent == to_send && acknowledged == to_send / half; }
  };
  struct link {
    std::int32_t rank = 0;
    std::uint32_t latest = 0;  ///< 1 + the last record of the peer that is served ahead
    traffic whole, ahead;      ///< ahead: modes own and relative

    traffic& of(snapshot_mode mode) noexcept { return mode == snapshot_mode::whole ? whole : ahead; }
  };

  /// `scratch`: buffers for packets and received snapshots; borrowed.
  link_book(std::int32_t own_rank, forward_scratch& scratch)
      : own_(own_rank),
        numbers_(scratch.merging.memory),
        links_(scratch.merging.memory),
        full_(scratch.merging.memory),
        inbox_(scratch.merging.memory),
        out_(&scratch.out),
        scratch_(&scratch) {}

  std::uint32_t of(std::int32_t rank) {
    const auto fresh = static_cast<std::uint32_t>(links_.size());
    if (numbers_.size() == 0) {
      for (std::uint32_t i = 0; i != fresh; ++i) {
        if (links_[i].rank == rank) return i;
      }
      if (fresh == few) {
        for (std::uint32_t i = 0; i != fresh; ++i) numbers_.intern(key(links_[i].rank), i);
      }
    }
    if (fresh >= few) {
      const std::uint32_t number = numbers_.intern(key(rank), fresh);
      if (number != fresh) return number;
    }
    links_.emplace_back();
    links_.back().rank = rank;
    return fresh;
  }
  std::size_t size() const noexcept { return links_.size(); }
  link& operator[](std::uint32_t number) noexcept { return links_[number]; }

  bool may_send(std::uint32_t number, snapshot_mode mode) noexcept {
    link& l = links_[number];
    return l.rank == own_ || l.of(mode).open();
  }

  /// `write(packet)` appends the entries and returns their number.
  template <class Write, class Post>
  void send_snapshot(std::uint32_t number, snapshot_head head, Write&& write, Post&& post) {
    link& l = links_[number];
    traffic& t = l.of(head.mode);
    ++t.sent;
    base::packet& out = *out_;
    out.resize(sizeof snapshot_kind + sizeof head);
    head.entries = head.sent = write(out);
    if (l.rank != own_ && head.entries >= changed_entries::least)
      head.sent = changed_entries::write(out, sizeof snapshot_kind + sizeof head, last_of(number, head.mode, true));
    std::memcpy(out.data(), &snapshot_kind, sizeof snapshot_kind);
    std::memcpy(out.data() + sizeof snapshot_kind, &head, sizeof head);
    if (l.rank != own_) return post(l.rank, out);
    t.acknowledged = t.sent / half;
    keep(head, out.data() + sizeof snapshot_kind + sizeof head);
  }

  void receive(std::int32_t source, const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    const std::uint32_t number = of(source);
    while (!in.empty()) {
      const auto kind = in.get<std::uint32_t>();
      if (kind != snapshot_kind) {
        ++(kind == whole_used ? links_[number].whole : links_[number].ahead).acknowledged;
        continue;
      }
      const auto head = in.get<snapshot_head>();
      if (head.entries >= changed_entries::least) {
        base::packet& last = last_of(number, head.mode, false);
        changed_entries::read(in, head, last);
        keep(head, last.data());
      } else {
        keep(head, in.skip(head.entries * sizeof(snapshot_entry)));
      }
      traffic& t = links_[number].of(head.mode);
      ++t.received;
      if (head.mode == snapshot_mode::whole && t.received >= (t.answered + 1) * half) full_.push_back(number);
    }
  }

  /// Moves a snapshot for a record of this rank to forward_scratch::taken. Returns false if it has not arrived yet.
  bool receive_snapshot(std::uint16_t location, std::uint32_t record, std::uint32_t number) {
    const std::uint64_t wanted = inbox_key(location, record, number);
    std::uint32_t found = latest_;
    if (wanted == latest_key_) {
      latest_key_ = 0;
    } else {
      if (inbox_.size() == 0) return false;
      found = inbox_.find(wanted);
      if (found == base::key_map::none) return false;
      inbox_.erase(wanted);
    }
    scratch_->take(found);
    return true;
  }

  /// Counts a used snapshot of `rank`, and acknowledges if half a window is used.
  template <class Post>
  void acknowledge_use(std::int32_t rank, snapshot_mode mode, Post&& post) {
    if (rank == own_) return;
    link& l = links_[of(rank)];
    traffic& t = l.of(mode);
    if (++t.used >= (t.answered + 1) * half) acknowledge(l, mode, post);
  }

  /// Acknowledges received whole snapshots when this rank is stuck, because their senders may also be stuck.
  template <class Post>
  void acknowledge_received(Post&& post) {
    for (const std::uint32_t number : full_) {
      link& l = links_[number];
      while (l.whole.received >= (l.whole.answered + 1) * half) acknowledge(l, snapshot_mode::whole, post);
    }
    full_.clear();
  }

  /// Whether everything was sent and every expected acknowledgement has arrived.
  bool quiet() const noexcept {
    for (const link& l : links_) {
      if (!l.whole.quiet() || !l.ahead.quiet()) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t snapshot_kind = 1, whole_used = 2, ahead_used = 3;

  static constexpr std::uint32_t few = 8;  ///< up to this number, links are found by linear search

  static std::uint64_t key(std::int32_t rank) noexcept { return static_cast<std::uint64_t>(rank) + 1; }
  static std::uint64_t inbox_key(std::uint16_t location, std::uint32_t record, std::uint32_t number) noexcept {
    return ((std::uint64_t{number} << 48 | std::uint64_t{location} << 32) | record) + 1;
  }

  // The entries of the last snapshot of a kind that was sent to, or received from, the peer of a link.
  base::packet& last_of(std::uint32_t number, snapshot_mode mode, bool sent) {
    if (last_.size() < 4 * links_.size()) last_.resize(4 * links_.size());
    return last_[4 * number + (mode == snapshot_mode::whole ? 2 : 0) + (sent ? 1 : 0)];
  }

  void keep(const snapshot_head& head, const unsigned char* data) {
    if (latest_key_ != 0) inbox_.intern(latest_key_, latest_);
    latest_ = scratch_->keep(head, data);
    latest_key_ = inbox_key(head.location, head.record, head.number);
  }

  template <class Post>
  void acknowledge(link& l, snapshot_mode mode, Post&& post) {
    ++l.of(mode).answered;
    out_->clear();
    put(*out_, mode == snapshot_mode::whole ? whole_used : ahead_used);
    post(l.rank, *out_);
  }

  std::int32_t own_;
  base::key_map numbers_;  ///< link of each rank; empty up to `few` links
  base::pod_vector<link> links_;
  base::pod_vector<std::uint32_t> full_;
  std::uint64_t latest_key_ = 0;  ///< key of the latest snapshot if it is not used yet: usually the only one
  std::uint32_t latest_ = 0;  ///< slot of the latest snapshot
  base::key_map inbox_;  ///< slots of all other unused snapshots
  base::packet* out_;  ///< the packet under construction
  base::vector<base::packet> last_;  ///< by link, of two kinds in both directions; empty without long snapshots
  forward_scratch* scratch_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
