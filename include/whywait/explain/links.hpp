#ifndef WHYWAIT_EXPLAIN_LINKS_HPP
#define WHYWAIT_EXPLAIN_LINKS_HPP

#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Snapshots under way between this rank and others, at most `window` per pair of ranks, direction and kind:
/// a rank that never waits may not fill the memory of one that always does. A receiver acknowledges half a
/// window when it has used one; for whole snapshots also when it is stuck and has received one, because
/// they may come in another order than they are used. How many acknowledgements there will be is known
/// beforehand, so none is left in the network at the end.
class link_book {
 public:
  static constexpr std::uint32_t window = 256, half = window / 2;

  /// One kind of snapshots in both directions.
  struct traffic {
    std::uint32_t to_send = 0, sent = 0, acknowledged = 0;  ///< acknowledged: by the other side, in halves
    std::uint32_t received = 0, used = 0, answered = 0;     ///< answered: by this side, in halves

    bool open() const noexcept { return sent - acknowledged * half < window; }
    bool quiet() const noexcept { return sent == to_send && acknowledged == to_send / half; }
  };
  struct link {
    std::int32_t rank = 0;
    std::uint32_t latest = 0;  ///< the last record of the other side that is served ahead, plus 1
    traffic whole, ahead;      ///< ahead: those of the modes own and relative

    traffic& of(snapshot_mode mode) noexcept { return mode == snapshot_mode::whole ? whole : ahead; }
  };

  /// `scratch`: room for packets and for what was not used yet; borrowed.
  link_book(std::int32_t own_rank, forward_scratch& scratch) : own_(own_rank), out_(&scratch.out), scratch_(&scratch) {}

  std::uint32_t of(std::int32_t rank) {
    const auto fresh = static_cast<std::uint32_t>(links_.size());
    const std::uint32_t number = numbers_.intern(static_cast<std::uint64_t>(rank) + 1, fresh);
    if (number == fresh) {
      links_.emplace_back();
      links_.back().rank = rank;
    }
    return number;
  }
  link& operator[](std::uint32_t number) noexcept { return links_[number]; }

  bool may_send(std::uint32_t number, snapshot_mode mode) noexcept {
    link& l = links_[number];
    return l.rank == own_ || l.of(mode).open();
  }

  /// `write(packet)` appends the entries and says how many there are.
  template <class Write, class Post>
  void send_snapshot(std::uint32_t number, snapshot_head head, Write&& write, Post&& post) {
    link& l = links_[number];
    traffic& t = l.of(head.mode);
    ++t.sent;
    packet& out = *out_;
    out.resize(sizeof snapshot_kind + sizeof head);
    head.entries = write(out);
    std::memcpy(out.data(), &snapshot_kind, sizeof snapshot_kind);
    std::memcpy(out.data() + sizeof snapshot_kind, &head, sizeof head);
    if (l.rank != own_) return post(l.rank, out);
    t.acknowledged = t.sent / half;
    keep(head, out.data() + sizeof snapshot_kind + sizeof head);
  }

  void take(std::int32_t source, const unsigned char* data, std::size_t size) {
    packet_reader in(data, size);
    const std::uint32_t number = of(source);
    while (!in.empty()) {
      const auto kind = in.get<std::uint32_t>();
      if (kind != snapshot_kind) {
        ++(kind == whole_used ? links_[number].whole : links_[number].ahead).acknowledged;
        continue;
      }
      const auto head = in.get<snapshot_head>();
      keep(head, in.skip(head.entries * sizeof(snapshot_entry)));
      traffic& t = links_[number].of(head.mode);
      ++t.received;
      if (head.mode == snapshot_mode::whole && t.received >= (t.answered + 1) * half) full_.push_back(number);
    }
  }

  /// Moves the snapshot for a record of this rank into `into`; false if it has not come yet.
  bool arrived(std::uint16_t location, std::uint32_t record, snapshot_head& head, std::vector<snapshot_entry>& into) {
    const std::uint64_t key = inbox_key(location, record);
    const std::uint32_t found = inbox_.find(key);
    if (found == key_map::none) return false;
    forward_scratch::slot& s = scratch_->slots[found];
    into.swap(s.entries);
    head = s.head;
    scratch_->free.push_back(found);
    inbox_.erase(key);
    return true;
  }

  /// A snapshot of `rank` has been used.
  template <class Post>
  void used(std::int32_t rank, snapshot_mode mode, Post&& post) {
    if (rank == own_) return;
    link& l = links_[of(rank)];
    traffic& t = l.of(mode);
    if (++t.used >= (t.answered + 1) * half) acknowledge(l, mode, post);
  }

  /// This rank is stuck: lets those go on who wait for its acknowledgement only.
  template <class Post>
  void stuck(Post&& post) {
    for (const std::uint32_t number : full_) {
      link& l = links_[number];
      while (l.whole.received >= (l.whole.answered + 1) * half) acknowledge(l, snapshot_mode::whole, post);
    }
    full_.clear();
  }

  void approach() const noexcept {
    numbers_.approach();
    inbox_.approach();
    core::approach(links_.data(), links_.size() * sizeof(link));
  }

  /// Everything was sent and every acknowledgement that will come has come.
  bool quiet() const noexcept {
    for (const link& l : links_) {
      if (!l.whole.quiet() || !l.ahead.quiet()) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t snapshot_kind = 1, whole_used = 2, ahead_used = 3;

  static std::uint64_t inbox_key(std::uint16_t location, std::uint32_t record) noexcept {
    return ((static_cast<std::uint64_t>(location) << 32) | record) + 1;
  }

  void keep(const snapshot_head& head, const unsigned char* data) {
    std::vector<std::uint32_t>& free = scratch_->free;
    if (free.empty()) {
      free.push_back(static_cast<std::uint32_t>(scratch_->slots.size()));
      scratch_->slots.emplace_back();
    }
    const std::uint32_t number = inbox_.intern(inbox_key(head.location, head.record), free.back());
    if (number == free.back()) free.pop_back();
    forward_scratch::slot& s = scratch_->slots[number];
    s.entries.resize(head.entries);
    if (head.entries != 0) std::memcpy(s.entries.data(), data, head.entries * sizeof(snapshot_entry));
    s.head = head;
  }

  template <class Post>
  void acknowledge(link& l, snapshot_mode mode, Post&& post) {
    ++l.of(mode).answered;
    out_->clear();
    put(*out_, mode == snapshot_mode::whole ? whole_used : ahead_used);
    post(l.rank, *out_);
  }

  std::int32_t own_;
  key_map numbers_;
  std::vector<link> links_;
  std::vector<std::uint32_t> full_;
  key_map inbox_;  ///< the slot of each snapshot that was not used yet
  packet* out_;  ///< what is being sent
  forward_scratch* scratch_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
