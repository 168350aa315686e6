#ifndef WHYWAIT_EXPLAIN_SHAPE_LEADERS_HPP
#define WHYWAIT_EXPLAIN_SHAPE_LEADERS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One block's part in a shape, in keys that all ranks share.
struct shape_entry {
  core::stable_key block, within;
  double share;
};

/// A shape, sorted by block; borrowed, from a list or out of a packet.
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

/// Total variation distance over the union of blocks: half the sum of |differences of shares| (definitions
/// 1.7), 0 for equal shapes, 1 for disjoint ones. O(a + b).
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

/// The first instance of a class, proposed as the representative of its shape.
struct shape_leader {
  core::stable_key key = 0;  ///< (pattern, operation, cause)
  std::int64_t first_ns = 0, wait_ns = 0, count = 0;
  std::uint32_t from = 0, size = 0;  ///< its shape: in shape_leaders; in a packet it follows, and `from` is 0
};

/// Negative, 0 or positive. The order is canonical: by time, then by content, never by rank.
inline int compare(const shape_leader& a, shape_view a_shape, const shape_leader& b, shape_view b_shape) noexcept {
  const auto head = [](const shape_leader& l) { return std::tie(l.key, l.first_ns, l.wait_ns, l.count); };
  if (head(a) != head(b)) return head(a) < head(b) ? -1 : 1;
  for (std::size_t k = 0; k != std::min(a_shape.size(), b_shape.size()); ++k) {
    const shape_entry x = a_shape[k], y = b_shape[k];
    const auto all = [](const shape_entry& e) { return std::tie(e.block, e.within, e.share); };
    if (all(x) != all(y)) return all(x) < all(y) ? -1 : 1;
  }
  return a_shape.size() == b_shape.size() ? 0 : a_shape.size() < b_shape.size() ? -1 : 1;
}

/// Reads leaders as they travel: one after the other, each with its shape behind it. Throws std::out_of_range on a truncated
/// packet.
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

/// Leaders and their shapes, in two blocks of memory, by key.
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

  /// Where the first leader of a key is, or would be.
  std::size_t first_of(core::stable_key key) const noexcept {
    const auto before = [](const shape_leader& l, core::stable_key k) { return l.key < k; };
    return static_cast<std::size_t>(std::lower_bound(heads_.begin(), heads_.end(), key, before) - heads_.begin());
  }
  /// How many it has.
  std::uint32_t count_of(core::stable_key key) const noexcept {
    std::uint32_t n = 0;
    for (std::size_t i = first_of(key); i != heads_.size() && heads_[i].key == key; ++i) ++n;
    return n;
  }
  /// Others out of a packet, behind those of the same key that are here. Both by key.
  void join(leader_reader more) {
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

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
