#ifndef WHYWAIT_EXPLAIN_CLASS_PACKET_HPP
#define WHYWAIT_EXPLAIN_CLASS_PACKET_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/merge_scratch.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace explain {

// Classes on their way up to rank 0, as they travel: one after the other by key and slot, each with its lists behind it.
// Merging reads two such packets and writes a third one, each byte once and in order. Sums only, so the order of merging
// does not matter.

/// The head of one class.
struct packed_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< number of its leader; then the rest, then those without a shape
  std::uint32_t terms = 0, waiters = 0, causers = 0;  ///< how many of each follow
  class_sums sums;

  bool before(const packed_class& o) const noexcept { return key != o.key ? key < o.key : slot < o.slot; }
};

/// One line of its residual; they come by name.
struct packed_term {
  core::stable_key block, within;
  term_sums sums;

  bool before(const packed_term& o) const noexcept { return block != o.block ? block < o.block : within < o.within; }
};

/// Reads classes out of a packet. Throws std::out_of_range on a truncated one.
class class_reader {
 public:
  class_reader(const unsigned char* data, std::size_t size) : in_(data, size) { next(); }

  bool done() const noexcept { return bytes_ == nullptr; }
  void next() {
    bytes_ = nullptr;
    if (in_.empty()) return;
    const unsigned char* const begin = in_.skip(sizeof head_);
    std::memcpy(&head_, begin, sizeof head_);
    terms_ = in_.skip(head_.terms * sizeof(packed_term));
    shares_ = in_.skip((std::size_t{head_.waiters} + head_.causers) * sizeof(location_share));
    bytes_ = begin;
  }

  const packed_class& head() const noexcept { return head_; }
  packed_term term(std::size_t i) const noexcept {
    packed_term t;
    std::memcpy(&t, terms_ + i * sizeof t, sizeof t);
    return t;
  }
  void waiters(base::vector<location_share>& into) const { shares(into, 0, head_.waiters); }
  void causers(base::vector<location_share>& into) const { shares(into, head_.waiters, head_.causers); }
  const unsigned char* bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept {
    return sizeof head_ + head_.terms * sizeof(packed_term) +
           (std::size_t{head_.waiters} + head_.causers) * sizeof(location_share);
  }

 private:
  void shares(base::vector<location_share>& into, std::size_t first, std::size_t count) const {
    into.resize(count);
    if (count != 0) std::memcpy(into.data(), shares_ + first * sizeof(location_share), count * sizeof(location_share));
  }

  base::packet_reader in_;
  const unsigned char* bytes_ = nullptr;
  const unsigned char* terms_ = nullptr;
  const unsigned char* shares_ = nullptr;
  packed_class head_;
};

namespace detail {

// Behind its terms, which are written; the head stands at `at`.
inline void finish_class(base::packet& out, std::size_t at, packed_class& head, const merge_scratch& scratch) {
  head.waiters = static_cast<std::uint32_t>(scratch.waiters.size());
  head.causers = static_cast<std::uint32_t>(scratch.causers.size());
  std::memcpy(out.data() + at, &head, sizeof head);
  put_bytes(out, scratch.waiters.data(), scratch.waiters.size() * sizeof(location_share));
  put_bytes(out, scratch.causers.data(), scratch.causers.size() * sizeof(location_share));
}

inline void join_class(base::packet& out, const class_reader& a, const class_reader& b, merge_scratch& scratch) {
  packed_class head = a.head();
  head.sums.add(b.head().sums);
  const std::size_t at = out.size();
  put(out, head);
  std::uint32_t i = 0, j = 0;
  while (i != a.head().terms && j != b.head().terms) {
    packed_term x = a.term(i);
    const packed_term y = b.term(j);
    if (x.before(y)) {
      ++i;
    } else if (y.before(x)) {
      x = y;
      ++j;
    } else {
      x.sums.add(y.sums);
      ++i;
      ++j;
    }
    put(out, x);
  }
  for (; i != a.head().terms; ++i) put(out, a.term(i));
  for (; j != b.head().terms; ++j) put(out, b.term(j));
  head.terms = static_cast<std::uint32_t>((out.size() - at - sizeof head) / sizeof(packed_term));
  base::vector<location_share>& more = scratch.shares;
  a.waiters(scratch.waiters);
  b.waiters(more);
  add_shares(scratch.waiters, more);
  a.causers(scratch.causers);
  b.causers(more);
  add_shares(scratch.causers, more);
  finish_class(out, at, head, scratch);
}

}  // namespace detail

/// The classes of two packets, into `mine`.
inline void join_classes(base::packet& mine, const unsigned char* data, std::size_t size, merge_scratch& scratch) {
  base::packet& out = scratch.joined;
  out.clear();
  out.reserve(mine.size() + size);
  class_reader a(mine.data(), mine.size()), b(data, size);
  while (!a.done() || !b.done()) {
    if (b.done() || (!a.done() && a.head().before(b.head()))) {
      base::put_bytes(out, a.bytes(), a.size());
      a.next();
    } else if (a.done() || b.head().before(a.head())) {
      base::put_bytes(out, b.bytes(), b.size());
      b.next();
    } else {
      detail::join_class(out, a, b, scratch);
      a.next();
      b.next();
    }
  }
  mine.swap(out);
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
