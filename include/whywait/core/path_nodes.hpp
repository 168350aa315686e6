#ifndef WHYWAIT_CORE_PATH_NODES_HPP
#define WHYWAIT_CORE_PATH_NODES_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/stable_key.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {
namespace detail {

/// The nodes of a path_folder and their hashes: a list of those that are not yet in any body, outermost level first,
/// and an arena of the bodies, which grows and shrinks with the list. Every change is at the end of both.
class path_nodes {
 public:
  /// False if there is no address space.
  bool open(uint32_t most) noexcept {
    most_ = most;
    while (slots_ < 2 * most) slots_ *= 2;
    list_ = static_cast<node*>(map_pages(sizeof(node) * most, false));
    arena_ = static_cast<node*>(map_pages(sizeof(node) * most, false));
    heads_ = static_cast<uint32_t*>(map_pages(sizeof(uint32_t) * slots_, false));
    return list_ != nullptr && arena_ != nullptr && heads_ != nullptr;
  }
  void release() noexcept {
    unmap_pages(list_, sizeof(node) * most_);
    unmap_pages(arena_, sizeof(node) * most_);
    unmap_pages(heads_, sizeof(uint32_t) * slots_);
  }

 protected:
  struct node {
    uint64_t hash;      // of symbol, body and count
    uint64_t kind;      // of symbol and body
    uint64_t inside;    // of the body
    uint64_t before;    // of all nodes before it on its level
    uint64_t ticks;
    uint32_t symbol;
    uint32_t count;
    uint32_t body;      // its first in the arena
    uint32_t length;
    uint32_t all;       // nodes in its body on all levels
    uint32_t used;      // of the arena, before anything in this node
    uint32_t outer;     // of an open region: the one around it, + 1
    uint32_t same;      // entry before it in the chain of its hash
    uint32_t same_end;  // of a loop: the same for the hash of its last
  };
  static constexpr uint64_t base = 0x9e3779b97f4a7c15u;

  void push(uint32_t symbol) noexcept {
    node& n = list_[size_];
    n.symbol = symbol;
    n.count = 1;
    n.ticks = 0;
    n.body = n.length = n.all = n.outer = 0;
    n.inside = 0;
    n.used = used_;
    n.kind = combine(symbol, 0);
    ++size_;
  }

  uint32_t level() const noexcept { return open_; }  // first place of the innermost open level

  // The polynomial of the hashes from `first` to before `last`, on one level.
  uint64_t window(uint32_t first, uint32_t last) const noexcept {
    uint64_t power = 1, square = base;
    for (uint32_t n = last - first; n != 0; n >>= 1, square *= square)
      if ((n & 1) != 0) power *= square;
    return before(last) - before(first) * power;
  }
  uint64_t before(uint32_t at) const noexcept {
    if (at == level()) return 0;
    return list_[at - 1].before * base + list_[at - 1].hash;
  }

  void rehash(node& n) noexcept { n.hash = combine(n.kind, n.count); }

  bool same_kind(const node& a, const node& b) const noexcept {
    if (a.kind != b.kind || a.symbol != b.symbol || a.length != b.length) return false;
    for (uint32_t i = 0; i < a.length; ++i)
      if (!same(arena_[a.body + i], arena_[b.body + i])) return false;
    return true;
  }
  bool same(const node& a, const node& b) const noexcept { return a.count == b.count && same_kind(a, b); }

  void add_times(node& to, const node& from) noexcept {
    to.ticks += from.ticks;
    for (uint32_t i = 0; i < to.length; ++i) add_times(arena_[to.body + i], arena_[from.body + i]);
  }

  // Chains of equal hashes, newest first; they shrink as they grew, so a head is all there is to restore.
  uint32_t& head(uint64_t hash) noexcept { return heads_[(hash >> 32) & (slots_ - 1)]; }
  void remember(uint32_t at) noexcept {
    node& n = list_[at];
    n.same = head(n.hash);
    head(n.hash) = at * 2 + 2;
    if (n.symbol != 0) return;
    uint32_t& end = head(arena_[n.body + n.length - 1].hash);
    n.same_end = end;
    end = at * 2 + 3;
  }
  void forget(uint32_t at) noexcept {
    node& n = list_[at];
    if (n.symbol == 0) head(arena_[n.body + n.length - 1].hash) = n.same_end;
    head(n.hash) = n.same;
  }

  static void take_in(node& n, const node& child) noexcept {
    n.inside = n.inside * base + child.hash;
    n.all += child.all + 1;
  }

  // Moves the `length` nodes after `at` into its body. They are remembered, `at` is not.
  void close(uint32_t at, uint32_t length) noexcept {
    node& n = list_[at];
    n.body = used_;
    n.length = length;
    for (uint32_t i = 0; i < length; ++i) take_in(n, list_[at + 1 + i]);
    for (uint32_t i = length; i != 0; --i) forget(at + i);
    for (uint32_t i = 0; i < length; ++i) arena_[used_++] = list_[at + 1 + i];
    n.kind = combine(combine(n.symbol, length), n.inside);
    size_ = at + 1;
  }

  // The last node is complete.
  void keep() noexcept {
    node& n = list_[size_ - 1];
    rehash(n);
    n.before = before(size_ - 1);
    remember(size_ - 1);
  }

  template <class Sink>
  void hand_over(const node& n, Sink& sink) const noexcept {
    sink(order_node{n.symbol, n.count, n.all, static_cast<float>(n.ticks)});
    for (uint32_t i = 0; i < n.length; ++i) hand_over(arena_[n.body + i], sink);
  }

  node* list_ = nullptr;   // the open levels, outermost first
  node* arena_ = nullptr;  // bodies of what is closed
  uint32_t* heads_ = nullptr;
  uint32_t most_ = 0;
  uint32_t slots_ = 64;
  uint32_t size_ = 0;
  uint32_t used_ = 0;
  uint32_t open_ = 0;
};

}  // namespace detail
}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
