#ifndef WHYWAIT_CORE_PATH_FOLDER_HPP
#define WHYWAIT_CORE_PATH_FOLDER_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/stable_key.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Folds a path on line, as it is run: nested regions into a tree, repetitions on each level into counts and loops, as in
/// `(a b (c)x8)x100`. Exact: unfolding gives the sequence back. Which of several equivalent foldings it finds is its
/// choice: the first that can be seen. O(1) amortised for each event: a look at the last few equal nodes, by hash; a
/// folding is checked node by node and removes what it checks.
///
/// Memory: at most `most` nodes of 80 bytes twice, touched as they are used; when they are used up the rest is only counted
/// (`lost`) until `finish`. After `open` nothing allocates or fails. One thread. (Loops as in ScalaTrace's
/// regular section descriptors, Noeth et al. 2009; the search by hash is ours.)
class path_folder {
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
    *this = path_folder();
  }

  /// One visit of a step.
  void step(uint32_t number) noexcept {
    if (pending_ && list_[size_ - 1].symbol == number && list_[size_ - 1].count != ~uint32_t(0)) {
      ++list_[size_ - 1].count;
      return;
    }
    if (!room(1)) return;
    push(number);
    pending_ = true;
  }

  /// A region begins; `flags`: region, and continued if it had begun before.
  void enter(uint32_t number, uint32_t flags = order_flag::region) noexcept {
    if (!room(1)) return;
    push(number | flags);
    list_[size_ - 1].outer = open_;
    open_ = size_;  // its node + 1
  }

  /// The innermost region ends; without one: lost. `flags`: 0, or unfinished if it goes on.
  void leave(uint32_t flags = 0) noexcept {
    if (full_ || open_ == 0) {
      ++lost_;
      return;
    }
    settle();
    const uint32_t at = open_ - 1;
    open_ = list_[at].outer;
    list_[at].symbol |= flags;
    close(at, size_ - at - 1);
    merge_run();
    pending_ = true;
  }

  /// Time of the innermost region; outside any it belongs to nobody.
  void spend(uint64_t ticks) noexcept {
    if (!full_ && open_ != 0 && static_cast<int64_t>(ticks) > 0) list_[open_ - 1].ticks += ticks;
  }

  /// What `finish` gave elsewhere, continued here: `nodes` in preorder, as they are or renumbered. Regions that go on are
  /// left open, those that began before are entered only if they are not open here.
  void append(const order_node* nodes, uint32_t count) noexcept {
    append(nodes, count, 0);
  }

  /// Number of open regions that were told.
  uint32_t depth() const noexcept {
    uint32_t depth = 0;
    for (uint32_t o = open_; o != 0; o = list_[o - 1].outer) ++depth;
    return depth;
  }
  /// Symbol of the innermost open region; 0: none.
  uint32_t innermost() const noexcept { return open_ != 0 ? list_[open_ - 1].symbol : 0; }
  /// At most so many nodes will `finish` give.
  uint32_t size() const noexcept { return size_ + used_; }
  bool empty() const noexcept { return size_ == 0 && lost_ == 0; }
  /// Events since memory was used up.
  uint64_t lost() const noexcept { return lost_; }

  /// Ends the path: calls sink(const order_node&) in preorder, regions still open marked unfinished, and begins anew.
  template <class Sink>
  void finish(Sink&& sink) noexcept {
    full_ = false;  // closing needs no room
    while (open_ != 0) leave(order_flag::unfinished);
    settle();
    for (uint32_t i = 0; i < size_; ++i) hand_over(list_[i], sink);
    while (size_ != 0) forget(--size_);
    used_ = 0;
    lost_ = 0;
  }

 private:
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
  static constexpr uint32_t looks = 8;

  static uint64_t mix(uint64_t a, uint64_t b) noexcept { return combine(a, b); }

  bool room(uint32_t nodes) noexcept {
    if (!full_) {
      settle();
      if (size_ + used_ + nodes <= most_) return true;
      full_ = true;
    }
    ++lost_;
    return false;
  }

  void push(uint32_t symbol) noexcept {
    node& n = list_[size_];
    n.symbol = symbol;
    n.count = 1;
    n.ticks = 0;
    n.body = n.length = n.all = n.outer = 0;
    n.inside = 0;
    n.used = used_;
    n.kind = mix(symbol, 0);
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

  void rehash(node& n) noexcept { n.hash = mix(n.kind, n.count); }

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
    n.kind = mix(mix(n.symbol, length), n.inside);
    size_ = at + 1;
  }

  // The last node is like the one before it: one more of that. True if so; then that is not remembered.
  bool merge_run() noexcept {
    const uint32_t last = size_ - 1;
    if (last == level()) return false;
    node& to = list_[last - 1];
    const node& from = list_[last];
    if (!same_kind(to, from) || to.count > ~uint32_t(0) - from.count) return false;
    forget(last - 1);
    add_times(to, from);
    to.count += from.count;
    used_ = from.used;
    --size_;
    return true;
  }

  // The last node will not change any more: looks for what it completes.
  void settle() noexcept {
    if (!pending_) return;
    pending_ = false;
    for (;;) {
      const uint32_t last = size_ - 1;
      node& n = list_[last];
      rehash(n);
      n.before = before(last);
      if (!merge_run() && !fold()) return remember(last);
    }
  }

  bool fold() noexcept {
    const uint32_t last = size_ - 1, first = level();
    uint32_t entry = head(list_[last].hash);
    for (uint32_t look = 0; look < looks && entry != 0; ++look) {
      const uint32_t at = entry / 2 - 1;
      if (at < first) return false;
      const node& n = list_[at];
      if ((entry & 1) != 0) {  // a loop that ends like this
        if (last - at == n.length && window(at + 1, size_) == n.inside && one_more(at)) return true;
        entry = n.same_end;
      } else {
        const uint32_t width = last - at;
        if (at + 1 >= first + width && window(at + 1, size_) == window(at + 1 - width, at + 1) &&
            twice(at + 1 - width, width))
          return true;
        entry = n.same;
      }
    }
    return false;
  }

  // The nodes after the loop `at` are another round of it.
  bool one_more(uint32_t at) noexcept {
    node& loop = list_[at];
    if (loop.count == ~uint32_t(0)) return false;
    for (uint32_t i = 0; i < loop.length; ++i)
      if (!same(arena_[loop.body + i], list_[at + 1 + i])) return false;
    for (uint32_t i = 0; i < loop.length; ++i) add_times(arena_[loop.body + i], list_[at + 1 + i]);
    for (uint32_t i = size_ - 1; i != at; --i)
      if (i != size_ - 1) forget(i);
    forget(at);
    used_ = list_[at + 1].used;
    size_ = at + 1;
    ++loop.count;
    return true;
  }

  // `width` nodes from `at` on, and the same once more: a loop.
  bool twice(uint32_t at, uint32_t width) noexcept {
    for (uint32_t i = 0; i < width; ++i)
      if (!same(list_[at + i], list_[at + width + i])) return false;
    for (uint32_t i = 0; i < width; ++i) add_times(list_[at + i], list_[at + width + i]);
    for (uint32_t i = size_ - 1; i-- != at;) forget(i);
    used_ = list_[at + width].used;
    node loop{};
    loop.count = 2;
    loop.body = used_;
    loop.length = width;
    loop.used = list_[at].used;
    for (uint32_t i = 0; i < width; ++i) {
      take_in(loop, list_[at + i]);
      arena_[used_++] = list_[at + i];
    }
    loop.kind = mix(mix(0, width), loop.inside);
    list_[at] = loop;
    size_ = at + 1;
    return true;
  }

  // `level`: how many regions are open around these nodes. Only regions that go on have others of them inside.
  void append(const order_node* nodes, uint32_t count, uint32_t level) noexcept {
    for (uint32_t i = 0; i < count; i += nodes[i].body + 1) {
      const order_node& n = nodes[i];
      if (n.is(order_flag::continued | order_flag::unfinished)) {
        if (!n.is(order_flag::continued) || open_at(level) != n.number())
          enter(n.number(), order_flag::region | (n.symbol & order_flag::continued));
        spend(static_cast<uint64_t>(n.ticks));
        append(nodes + i + 1, n.body, level + 1);
        if (!n.is(order_flag::unfinished)) leave();
      } else if (room(n.body + 1)) {
        copy(n, nodes + i + 1);
        pending_ = true;
      }
    }
  }

  // Number of the open region at `level`, 0 the outermost; 0: none.
  uint32_t open_at(uint32_t level) const noexcept {
    const uint32_t all = depth();
    if (level >= all) return 0;
    uint32_t open = open_;
    for (uint32_t i = all - 1; i != level; --i) open = list_[open - 1].outer;
    return list_[open - 1].symbol & order_node::number_mask;
  }

  // Puts a folded node and its body as the last one, without looking for more.
  void copy(const order_node& n, const order_node* body) noexcept {
    push(n.symbol);
    const uint32_t at = size_ - 1;
    list_[at].count = n.count;
    list_[at].ticks = static_cast<uint64_t>(n.ticks);
    const uint32_t level_around = open_;
    open_ = at + 1;
    for (uint32_t i = 0; i < n.body; i += body[i].body + 1) {
      copy(body[i], body + i + 1);
      const uint32_t child = size_ - 1;
      rehash(list_[child]);
      list_[child].before = before(child);
      remember(child);
    }
    open_ = level_around;
    if (n.symbol == 0 || n.is(order_flag::region)) close(at, size_ - at - 1);
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
  uint64_t lost_ = 0;
  bool pending_ = false;  // the last node may still grow: it is not remembered
  bool full_ = false;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
