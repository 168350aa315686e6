#ifndef WHYWAIT_EXPLAIN_CLASS_LEADERS_HPP
#define WHYWAIT_EXPLAIN_CLASS_LEADERS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One block of a shape: its part of the absolute differences, by keys that are the same on all ranks.
struct shape_entry {
  core::stable_key block, within;
  double share;
};

/// A shape, sorted by block. Borrows its memory from a list or a packet.
class shape_view {
 public:
  shape_view() = default;
  shape_view(const unsigned char* bytes, std::size_t size) noexcept : bytes_(bytes), size_(size) {}
  template <class List>
  shape_view(const List& all) noexcept : shape_view(reinterpret_cast<const unsigned char*>(all.data()), all.size()) {}

  std::size_t size() const noexcept { return size_; }
  const unsigned char* bytes() const noexcept { return bytes_; }
  shape_entry operator[](std::size_t i) const noexcept {
    shape_entry e;
    std::memcpy(&e, bytes_ + i * sizeof e, sizeof e);
    return e;
  }

 private:
  const unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// Total variation distance over the union of blocks: half the sum of |differences of shares| (docs/method.md 1.7).
/// 0 for equal shapes, 1 for disjoint ones. O(a + b).
inline double distance(shape_view a, shape_view b) noexcept {
  double apart = 0;
  std::size_t i = 0, j = 0;
  while (i != a.size() && j != b.size()) {
    const shape_entry x = a[i], y = b[j];
    const bool same = x.block == y.block && x.within == y.within;
    const bool less = x.block != y.block ? x.block < y.block : x.within < y.within;
    apart += same ? std::fabs(x.share - y.share) : less ? x.share : y.share;
    i += same || less ? 1 : 0;
    j += same || !less ? 1 : 0;
  }
  for (; i != a.size(); ++i) apart += a[i].share;
  for (; j != b.size(); ++j) apart += b[j].share;
  return apart / 2;
}

/// The first class of a shape, which represents that shape on all ranks.
struct shape_leader {
  core::stable_key key = 0;  ///< (pattern, operation, cause)
  std::int64_t first_ns = 0, wait_ns = 0, count = 0;
  std::uint32_t from = 0, size = 0;  ///< its shape in shape_leaders; in a packet the shape follows and `from` is 0
};

/// Returns a negative number, 0 or a positive number. The order is canonical: by time, then by content, never by rank.
inline int compare(const shape_leader& a, shape_view a_shape, const shape_leader& b, shape_view b_shape) noexcept {
  if (a.key != b.key) return a.key < b.key ? -1 : 1;
  if (a.first_ns != b.first_ns) return a.first_ns < b.first_ns ? -1 : 1;
  if (a.wait_ns != b.wait_ns) return a.wait_ns < b.wait_ns ? -1 : 1;
  if (a.count != b.count) return a.count < b.count ? -1 : 1;
  for (std::size_t k = 0; k != std::min(a_shape.size(), b_shape.size()); ++k) {
    const shape_entry x = a_shape[k], y = b_shape[k];
    if (x.block != y.block) return x.block < y.block ? -1 : 1;
    if (x.within != y.within) return x.within < y.within ? -1 : 1;
    if (x.share != y.share) return x.share < y.share ? -1 : 1;
  }
  return a_shape.size() == b_shape.size() ? 0 : a_shape.size() < b_shape.size() ? -1 : 1;
}

/// Reads leaders out of a packet: each head is followed by its shape. Throws std::out_of_range on a truncated packet.
class leader_reader {
 public:
  leader_reader(const unsigned char* data, std::size_t size) : in_(data, size) { next(); }

  bool done() const noexcept { return bytes_ == nullptr; }
  void next() {
    bytes_ = nullptr;
    if (in_.empty()) return;
    const unsigned char* const begin = in_.skip(sizeof head_);
    std::memcpy(&head_, begin, sizeof head_);
    in_.skip(head_.size * sizeof(shape_entry));
    bytes_ = begin;
  }
  const shape_leader& head() const noexcept { return head_; }
  shape_view shape() const noexcept { return {bytes_ + sizeof head_, head_.size}; }
  const unsigned char* bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return sizeof head_ + head_.size * sizeof(shape_entry); }
  bool before(const leader_reader& o) const noexcept { return compare(head_, shape(), o.head_, o.shape()) < 0; }

 private:
  base::packet_reader in_;
  const unsigned char* bytes_ = nullptr;
  shape_leader head_;
};

/// Leaders with their shapes, sorted by key.
class shape_leaders {
 public:
  std::size_t size() const noexcept { return heads_.size(); }
  const shape_leader& operator[](std::size_t i) const noexcept { return heads_[i]; }
  shape_view shape(std::size_t i) const noexcept {
    return {reinterpret_cast<const unsigned char*>(shapes_.data() + heads_[i].from), heads_[i].size};
  }

  void add(shape_leader head, shape_view shape) {
    head.from = static_cast<std::uint32_t>(shapes_.size());
    head.size = static_cast<std::uint32_t>(shape.size());
    heads_.push_back(head);
    for (std::size_t k = 0; k != shape.size(); ++k) shapes_.push_back(shape[k]);
  }

  /// The position of the first leader of a key, or the position where it would be inserted.
  std::size_t first_of(core::stable_key key) const noexcept {
    const auto before = [](const shape_leader& l, core::stable_key k) { return l.key < k; };
    return static_cast<std::size_t>(std::lower_bound(heads_.begin(), heads_.end(), key, before) - heads_.begin());
  }
  /// The number of leaders of a key.
  std::uint32_t count_of(core::stable_key key) const noexcept {
    std::uint32_t n = 0;
    for (std::size_t i = first_of(key); i != heads_.size() && heads_[i].key == key; ++i) ++n;
    return n;
  }
  /// Inserts the leaders of a packet behind those of the same key. Both are sorted by key.
  void insert(leader_reader more) {
    shape_leaders both;
    for (std::size_t i = 0; i != size() || !more.done();) {
      if (more.done() || (i != size() && heads_[i].key <= more.head().key)) {
        both.add(heads_[i], shape(i));
        ++i;
      } else {
        both.add(more.head(), more.shape());
        more.next();
      }
    }
    std::swap(*this, both);
  }

 private:
  base::pod_vector<shape_leader> heads_;
  base::pod_vector<shape_entry> shapes_;
};

/// Assigns each class of the ranks that a process hosts to a leader, round by round (merging.hpp). The candidates are
/// grouped by key, so that a round reads memory once and in the order of its addresses.
class leader_search {
 public:
  using share = class_scratch::share;
  /// The slot of a class that has no leader yet.
  static constexpr std::uint32_t open = 0xffffffffu;

  /// `earlier`: the leaders of earlier epochs. All arguments are borrowed.
  leader_search(const options& settings, const shape_leaders& earlier, class_scratch& scratch) noexcept
      : settings_(&settings), earlier_(&earlier), scratch_(&scratch) {}

  /// Adds a class whose slot is decided. Call before the first round; classes are numbered in the order of the calls.
  void add(std::uint32_t slot) { slots_.push_back(slot); }
  /// Adds a class that needs a leader. `blocks`: the block table of its shape. Borrows everything until
  /// `finish_rounds`.
  void add(core::stable_key key, const class_sums& sums, const share* shape, std::size_t size, const block_table& blocks) {
    const auto fresh = static_cast<std::uint32_t>(groups_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) groups_.push_back({key, 0, 0, 0});
    const candidate c{sums.first_ns, &sums, &blocks, shape, static_cast<std::uint32_t>(size), number, this->size()};
    slots_.push_back(earlier_->size() != 0 ? slot_among_earlier(key, c) : open);
    if (slots_.back() != open) return;
    all_.push_back(c);
    ++groups_[number].end;
  }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t slot(std::size_t number) const noexcept { return slots_[number]; }

  /// Writes the earliest candidate of every key that still has candidates, sorted by key.
  void propose(base::packet& out) {
    if (!grouped_) group();
    for (const group_range& g : groups_) {
      if (g.begin != g.end) write(out, all_[g.best]);
    }
  }

  /// Ends a round: each remaining candidate joins the new leader of its key if its shape is near.
  void join_leaders(const base::packet& leaders) {
    const std::uint32_t round = round_++;
    std::size_t at = 0;
    for (leader_reader leader(leaders.data(), leaders.size()); !leader.done(); leader.next()) {
      while (at != groups_.size() && groups_[at].key < leader.head().key) ++at;
      if (at != groups_.size() && groups_[at].key == leader.head().key) join_leader(groups_[at], leader, round);
    }
  }

  /// Releases the candidates after the last round; the slots stay.
  void finish_rounds() noexcept { all_.release(); }

 private:
  // A class that needs a leader.
  struct candidate {
    std::int64_t first_ns;
    const class_sums* sums;
    const block_table* blocks;
    const share* shape;
    std::uint32_t size, group, number;
  };
  // The candidates of one key in all_, and the earliest of them.
  struct group_range {
    core::stable_key key;
    std::uint32_t begin, end, best;
  };

  // Sorts candidates and groups by key, once, before the first round.
  void group() {
    grouped_ = true;
    base::pod_vector<std::uint32_t> order(groups_.size()), place(groups_.size());
    for (std::uint32_t g = 0; g != order.size(); ++g) order[g] = g;
    sort_short(order, [this](std::uint32_t a, std::uint32_t b) { return groups_[a].key < groups_[b].key; });
    base::pod_vector<group_range> sorted;
    sorted.reserve(groups_.size());
    std::uint32_t begin = 0;
    for (const std::uint32_t g : order) {
      place[g] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back({groups_[g].key, begin, begin, begin});
      begin += groups_[g].end;
    }
    groups_.swap(sorted);
    base::pod_vector<candidate> all(all_.size());
    for (candidate c : all_) {
      c.group = place[c.group];
      all[groups_[c.group].end++] = c;
    }
    all_.swap(all);
    for (group_range& g : groups_) {
      for (std::uint32_t i = g.begin; i != g.end; ++i) {
        if (before(all_[i], all_[g.best])) g.best = i;
      }
    }
  }

  // The canonical order of the candidates of one key: by time, then by content, never by rank.
  bool before(const candidate& a, const candidate& b) const {
    if (a.first_ns != b.first_ns) return a.first_ns < b.first_ns;
    if (a.sums->wait_ns != b.sums->wait_ns) return a.sums->wait_ns < b.sums->wait_ns;
    return a.sums->count != b.sums->count ? a.sums->count < b.sums->count : before_by_name(a, b);
  }
  static bool alike(const candidate& a, const candidate& b) noexcept {
    bool same = a.blocks == b.blocks && a.size == b.size;
    for (std::uint32_t i = 0; same && i != a.size; ++i) {
      same = a.shape[i].block == b.shape[i].block && a.shape[i].part == b.shape[i].part;
    }
    return same;
  }
  bool before_by_name(const candidate& a, const candidate& b) const {
    if (alike(a, b)) return false;
    base::packet first, second;
    write(first, a);
    write(second, b);
    return leader_reader(first.data(), first.size()).before({second.data(), second.size()});
  }

  // Appends a candidate in the form that `leader_reader` reads; block numbers become keys.
  void write(base::packet& out, const candidate& c) const {
    base::pod_vector<shape_entry> named;
    named.reserve(c.size);
    for (const share* s = c.shape; s != c.shape + c.size; ++s) {
      named.push_back({(*c.blocks)[s->block].block, (*c.blocks)[s->block].within, s->part});
    }
    sort_short(named, [](const shape_entry& a, const shape_entry& b) {
      return a.block != b.block ? a.block < b.block : a.within < b.within;
    });
    put(out, shape_leader{groups_[c.group].key, c.first_ns, c.sums->wait_ns, c.sums->count, 0, c.size});
    base::put_bytes(out, named.data(), named.size() * sizeof(shape_entry));
  }

  // The slot of the first leader of an earlier epoch that covers the candidate; the rest slot if all slots are taken.
  std::uint32_t slot_among_earlier(core::stable_key key, const candidate& c) const {
    base::packet named;
    write(named, c);
    const leader_reader mine(named.data(), named.size());
    std::uint32_t slot = 0;
    for (std::size_t i = earlier_->first_of(key); i != earlier_->size() && (*earlier_)[i].key == key; ++i, ++slot) {
      if (distance(earlier_->shape(i), mine.shape()) <= settings_->class_distance) return slot;
    }
    return slot >= settings_->classes_per_key ? settings_->classes_per_key : open;
  }

  void join_leader(group_range& g, const leader_reader& leader, std::uint32_t round) {
    const std::uint32_t place = earlier_->count_of(g.key) + round;
    const bool room = place + 1 < settings_->classes_per_key;
    const block_table* known = nullptr;
    std::uint32_t left = g.begin;
    for (std::uint32_t i = g.begin; i != g.end; ++i) {
      const candidate c = all_[i];
      if (c.blocks != known) {
        clear_parts();
        known = c.blocks;
        spread(leader.shape(), *known);
      }
      if (near(leader, c)) {
        slots_[c.number] = place;
      } else if (!room) {
        slots_[c.number] = settings_->classes_per_key;
      } else {
        all_[left] = c;
        if (left == g.begin || before(c, all_[g.best])) g.best = left;
        ++left;
      }
    }
    g.end = left;
    clear_parts();
  }

  // Writes a leader's shape to the scratch, by block number. Blocks that this process has not met are left out.
  void spread(shape_view shape, const block_table& blocks) {
    base::pod_vector<double>& parts = scratch_->parts;
    if (parts.size() < blocks.size()) parts.resize(blocks.size(), 0);
    for (std::size_t i = 0; i != shape.size(); ++i) {
      const shape_entry e = shape[i];
      const std::uint32_t b = blocks.find(e.block, e.within);
      if (b == base::key_map::none) continue;
      parts[b] = e.share;
      scratch_->order.push_back(b);
    }
  }
  void clear_parts() noexcept {
    for (const std::uint32_t b : scratch_->order) scratch_->parts[b] = 0;
    scratch_->order.clear();
  }

  // Whether the candidate's shape is near the leader's shape, which is in the scratch. Rounding depends on the order of
  // block numbers, which differs between ranks; shapes just at the limit are therefore compared by name.
  bool near(const leader_reader& leader, const candidate& c) const {
    const double more = scratch_->distance(c.shape, c.size) - settings_->class_distance;
    return std::fabs(more) > 1e-6 && leader.shape().size() != 0 ? more < 0 : near_by_name(leader, c);
  }
  bool near_by_name(const leader_reader& leader, const candidate& c) const {
    base::packet named;
    write(named, c);
    return distance(leader.shape(), leader_reader(named.data(), named.size()).shape()) <= settings_->class_distance;
  }

  const options* settings_;
  const shape_leaders* earlier_;
  class_scratch* scratch_;
  base::key_map numbers_;  ///< the group of each key, before the groups are sorted
  base::pod_vector<group_range> groups_;  ///< sorted by key once grouped_
  base::pod_vector<candidate> all_;  ///< sorted by key once grouped_
  base::pod_vector<std::uint32_t> slots_;  ///< by number
  std::uint32_t round_ = 0;
  bool grouped_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
