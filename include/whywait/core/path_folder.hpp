#ifndef WHYWAIT_CORE_PATH_FOLDER_HPP
#define WHYWAIT_CORE_PATH_FOLDER_HPP

#include <whywait/core/path_nodes.hpp>
#include <whywait/core/path_order.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Folds a path on line, as it is run: nested regions into a tree, repetitions on each level into counts and loops, as in
/// `(a b (c)x8)x100`. Exact: unfolding gives the sequence back. Which of several equivalent foldings it finds is its
/// choice: the first that can be seen. O(1) amortised for each event: a look at the last few equal nodes, by hash; a
/// folding is checked node by node and removes what it checks.
///
/// Memory: at most `most` nodes of 80 bytes twice, touched as they are used; when they are used up the rest is only
/// counted (`lost`) until `finish`. After `open` nothing allocates or fails. One thread. (Loops as in ScalaTrace's
/// regular section descriptors, Noeth et al. 2009; the search by hash is ours.)
class path_folder : private detail::path_nodes {
 public:
  using path_nodes::open;
  void release() noexcept {
    path_nodes::release();
    *this = path_folder();
  }

  /// One visit of a step.
  void step(uint32_t number) noexcept {
    if (following_) {
      if (follow(number)) return;
      stop_following();
    }
    if (pending_ && list_[size_ - 1].symbol == number && list_[size_ - 1].count != ~uint32_t(0)) {
      ++list_[size_ - 1].count;
      return;
    }
    if (!room(1) || begins_round(number)) return;
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
    if (!full_) settle();
    if (full_ || open_ == 0) {
      ++lost_;
      return;
    }
    const uint32_t at = open_ - 1;
    open_ = list_[at].outer;
    list_[at].symbol |= flags;
    close(at, size_ - at - 1);
    merge_run();
    pending_ = true;
  }

  /// Adds time to the innermost region; time outside any region is dropped.
  void spend(uint64_t ticks) noexcept {
    if (!full_ && open_ != 0 && static_cast<int64_t>(ticks) > 0) list_[open_ - 1].ticks += ticks;
  }

  /// Continues a path that `finish` of another folder returned: `nodes` in preorder, unchanged or renumbered. Unfinished
  /// regions stay open; regions that began earlier are entered only if they are not open here.
  void append(const order_node* nodes, uint32_t count) noexcept { append(nodes, count, 0); }

  /// Number of open regions.
  uint32_t depth() const noexcept {
    uint32_t depth = 0;
    for (uint32_t o = open_; o != 0; o = list_[o - 1].outer) ++depth;
    return depth;
  }
  /// Symbol of the innermost open region; 0: none.
  uint32_t innermost() const noexcept { return open_ != 0 ? list_[open_ - 1].symbol : 0; }
  /// Upper bound of the number of nodes that `finish` returns.
  uint32_t size() const noexcept { return size_ + used_ + (following_ ? list_[size_ - 1].length : 0); }
  bool empty() const noexcept { return size_ == 0 && lost_ == 0; }
  /// Events since memory was used up.
  uint64_t lost() const noexcept { return lost_; }

  /// Ends the path: calls sink(const order_node&) in preorder, open regions marked unfinished, then starts a new path.
  template <class Sink>
  void finish(Sink&& sink) noexcept {
    settle();
    full_ = false;  // closing needs no room
    while (open_ != 0) leave(order_flag::unfinished);
    settle();
    for (uint32_t i = 0; i < size_; ++i) hand_over(list_[i], sink);
    while (size_ != 0) forget(--size_);
    used_ = 0;
    lost_ = 0;
  }

 private:
  static constexpr uint32_t looks = 8;

  bool room(uint32_t nodes) noexcept {
    if (!full_) settle();
    full_ = full_ || size_ + used_ + nodes > most_;
    if (full_) ++lost_;
    return !full_;
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

  // One more round of the loop that is the last node, step by step: as long as it is like its body nothing is written
  // but where it is. Such loops are most of what long paths are made of.
  bool begins_round(uint32_t number) noexcept {
    if (size_ == level()) return false;
    const node& loop = list_[size_ - 1];
    if (loop.symbol != 0 || arena_[loop.body].symbol != number) return false;
    following_ = true;
    round_at_ = round_count_ = 0;
    return follow(number);
  }
  bool follow(uint32_t number) noexcept {
    node& loop = list_[size_ - 1];
    const node& next = arena_[loop.body + round_at_];
    if (next.symbol != number) return false;
    if (++round_count_ != next.count) return true;
    round_count_ = 0;
    if (++round_at_ != loop.length) return true;
    round_at_ = 0;
    if (!pending_) forget(size_ - 1);
    pending_ = true;
    if (++loop.count == ~uint32_t(0)) following_ = false;
    return true;
  }
  // What was followed of a round that is not completed becomes nodes after the loop. They are not folded yet, for
  // they are read from the body of the loop; what comes after them will be.
  void stop_following() noexcept {
    following_ = false;
    const uint32_t body = list_[size_ - 1].body, all = round_at_ + (round_count_ != 0 ? 1 : 0);
    for (uint32_t i = 0; i < all; ++i) {
      const uint32_t count = i < round_at_ ? arena_[body + i].count : round_count_;
      if (pending_) {
        pending_ = false;
        keep();
      }
      full_ = full_ || size_ + used_ + 1 > most_;
      if (full_) {
        lost_ += count;
        continue;
      }
      push(arena_[body + i].symbol);
      list_[size_ - 1].count = count;
      pending_ = true;
    }
  }

  // The last node will not change any more: looks for what it completes.
  void settle() noexcept {
    if (following_) stop_following();
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
        if (at + 1 >= first + width && n.hash == list_[last].hash && list_[at - 1].hash == list_[last - 1].hash &&
            window(at + 1, size_) == window(at + 1 - width, at + 1) && twice(at + 1 - width, width))
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

  // Whether `width` nodes from `at` on repeat, which makes them a loop.
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
    loop.kind = combine(combine(0, width), loop.inside);
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

  uint64_t lost_ = 0;
  bool pending_ = false;  // the last node may still grow: it is not remembered
  bool following_ = false;  // the last node is a loop and its next round has begun: so far
  bool full_ = false;
  uint32_t round_at_ = 0;  // nodes of its body that this round has passed
  uint32_t round_count_ = 0;  // visits of the next node
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
