#ifndef WHYWAIT_EXPLAIN_SHAPE_LEADERS_HPP
#define WHYWAIT_EXPLAIN_SHAPE_LEADERS_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/explain/packet.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One block's part in a shape, in keys that all ranks share.
struct shape_entry {
  core::stable_key block, within;
  double share;
};

/// A shape, sorted by block; borrowed.
struct shape_view {
  const shape_entry* first = nullptr;
  std::size_t count = 0;

  shape_view(const shape_entry* entries, std::size_t size) : first(entries), count(size) {}
  shape_view(const std::vector<shape_entry>& all) : first(all.data()), count(all.size()) {}
};

/// Total variation distance over the union of blocks: half the sum of |differences of shares| (definitions
/// 1.7), 0 for equal shapes, 1 for disjoint ones. O(a + b).
[[gnu::cold]] inline double distance(shape_view a, shape_view b) noexcept {
  double apart = 0;
  std::size_t i = 0, j = 0;
  while (i != a.count && j != b.count) {
    const shape_entry &x = a.first[i], &y = b.first[j];
    const bool same = x.block == y.block && x.within == y.within;
    const bool less = x.block != y.block ? x.block < y.block : x.within < y.within;
    apart += same ? std::fabs(x.share - y.share) : less ? x.share : y.share;
    i += same || less ? 1 : 0;
    j += same || !less ? 1 : 0;
  }
  for (; i != a.count; ++i) apart += a.first[i].share;
  for (; j != b.count; ++j) apart += b.first[j].share;
  return apart / 2;
}

/// The first instance of a class, proposed as the representative of its shape.
struct shape_leader {
  core::stable_key key = 0;  ///< (pattern, operation, cause)
  std::int64_t first_ns = 0, wait_ns = 0, count = 0;
  std::uint32_t from = 0, size = 0;  ///< its shape in the list
};

/// Leaders and their shapes, in two blocks of memory. Their order is canonical: by time, then by content, never by rank.
class shape_leaders {
 public:
  std::size_t size() const noexcept { return heads_.size(); }
  const shape_leader& operator[](std::size_t i) const noexcept { return heads_[i]; }
  shape_view shape(std::size_t i) const noexcept { return {shapes_.data() + heads_[i].from, heads_[i].size}; }

  void clear() noexcept {
    heads_.clear();
    shapes_.clear();
  }
  void reserve(std::size_t leaders, std::size_t entries) {
    heads_.reserve(leaders);
    shapes_.reserve(entries);
  }
  void add(shape_leader head, shape_view shape) {
    head.from = static_cast<std::uint32_t>(shapes_.size());
    head.size = static_cast<std::uint32_t>(shape.count);
    heads_.push_back(head);
    shapes_.insert(shapes_.end(), shape.first, shape.first + shape.count);
  }

  /// Where the first leader of a key is, or would be. By key, like the next.
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
  /// Others, behind those of the same key that are here. Both by key.
  [[gnu::cold]] void join(const shape_leaders& more) {
    shape_leaders both;
    both.reserve(size() + more.size(), shapes_.size() + more.shapes_.size());
    for (std::size_t i = 0, j = 0; i != size() || j != more.size();) {
      if (j == more.size() || (i != size() && heads_[i].key <= more.heads_[j].key)) {
        both.add(heads_[i], shape(i));
        ++i;
      } else {
        both.add(more.heads_[j], more.shape(j));
        ++j;
      }
    }
    std::swap(*this, both);
  }

  /// Element i here against element j there: negative, 0 or positive.
  int compare(std::size_t i, const shape_leaders& o, std::size_t j) const noexcept {
    const auto head = [](const shape_leader& l) { return std::tie(l.key, l.first_ns, l.wait_ns, l.count); };
    if (head(heads_[i]) != head(o.heads_[j])) return head(heads_[i]) < head(o.heads_[j]) ? -1 : 1;
    const shape_view a = shape(i), b = o.shape(j);
    for (std::size_t k = 0; k != std::min(a.count, b.count); ++k) {
      const auto all = [](const shape_entry& e) { return std::tie(e.block, e.within, e.share); };
      if (all(a.first[k]) != all(b.first[k])) return all(a.first[k]) < all(b.first[k]) ? -1 : 1;
    }
    return a.count == b.count ? 0 : a.count < b.count ? -1 : 1;
  }

  void write(packet& out) const {
    put_all(out, heads_);
    put_all(out, shapes_);
  }
  void read(packet_reader& in) {
    get_all(in, heads_);
    get_all(in, shapes_);
    for (const shape_leader& l : heads_) {
      if (l.from > shapes_.size() || l.size > shapes_.size() - l.from) detail::truncated();
    }
  }

 private:
  std::vector<shape_leader> heads_;
  std::vector<shape_entry> shapes_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
