#ifndef WHYWAIT_EXPLAIN_CLASS_PACKET_HPP
#define WHYWAIT_EXPLAIN_CLASS_PACKET_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace explain {

// Wait classes between ranks: sorted by key and slot, each followed by its lists. Merging reads two such packets and
// writes a third one, each byte once and in order. Classes hold sums only, so the result does not depend on the order
// of merging.

/// The maximum length of a list of locations; the share of further locations is added to rank -1.
constexpr std::size_t most_shares = 64;

/// Adds to a bounded list of locations.
inline void add_share(base::vector<location_share>& list, const location_share& share, std::size_t limit = most_shares) {
  for (location_share& known : list) {
    if (known.rank == share.rank && known.thread == share.thread) {
      known.ns += share.ns;
      return;
    }
  }
  if (list.size() < limit || share.rank < 0) {
    list.push_back(share);
  } else {
    add_share(list, {-1, 0, share.ns}, limit);
  }
}

/// Adds many shares: ranks above all listed ones are appended without a search.
inline void add_shares(base::vector<location_share>& list, const base::vector<location_share>& more) {
  std::int32_t greatest = -1;
  for (const location_share& known : list) greatest = std::max(greatest, known.rank);
  std::int64_t rest_ns = 0;
  for (const location_share& share : more) {
    if (share.rank <= greatest) {
      add_share(list, share);
    } else if (list.size() < most_shares) {
      list.push_back(share);
      greatest = share.rank;
    } else {
      rest_ns += share.ns;
    }
  }
  if (rest_ns != 0) add_share(list, {-1, 0, rest_ns});
}

/// Buffers for making and merging classes. All ranks of a process share one instance, so that it stays in the cache;
/// the content has no meaning between two calls.
struct class_scratch {
  /// A class with the slot that it goes to.
  struct placed_class {
    core::stable_key key;
    std::uint32_t slot, number;
  };
  /// One block of a shape: its number and its part of the absolute differences.
  struct share {
    std::uint32_t block;
    double part;
  };
  base::memory_pool memory;               ///< for the lists of all ranks and passes of one run
  base::pod_vector<double> parts;         ///< a shape, by block; all 0 between two calls
  base::pod_vector<std::uint32_t> order;  ///< the blocks of that shape
  base::pod_vector<placed_class> placed;
  base::pod_vector<residual_sums> terms;  ///< two lines for each block, in the order of names
  base::pod_vector<std::uint64_t> used;   ///< one bit for each element of `terms`; all 0 between two calls
  base::vector<location_share> waiters, causers, shares;
  base::packet joined;

  /// Total variation distance between a shape and the one in `parts`, whose missing parts are in blocks unknown here.
  double distance(const share* shape, std::size_t size) const noexcept {
    if (size == 0) return 1;
    double apart = 0, met = 0;
    for (const share* s = shape; s != shape + size; ++s) {
      apart += std::fabs(s->part - parts[s->block]);
      met += parts[s->block];
    }
    return (apart + std::max(0.0, 1 - met)) / 2;
  }
};

/// The head of one class in a packet. Its residual follows, sorted by `residual_term::before`, then its shares.
struct packed_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< number of its leader; then the rest class, then the class without a shape
  std::uint32_t terms = 0, waiters = 0, causers = 0;  ///< lengths of the lists that follow
  class_sums sums;

  bool before(const packed_class& o) const noexcept { return key != o.key ? key < o.key : slot < o.slot; }
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
    terms_ = in_.skip(head_.terms * sizeof(residual_term));
    shares_ = in_.skip((std::size_t{head_.waiters} + head_.causers) * sizeof(location_share));
    bytes_ = begin;
  }

  const packed_class& head() const noexcept { return head_; }
  residual_term term(std::size_t i) const noexcept {
    residual_term t;
    std::memcpy(static_cast<void*>(&t), terms_ + i * sizeof t, sizeof t);
    return t;
  }
  void waiters(base::vector<location_share>& into) const { read_shares(into, 0, head_.waiters); }
  void causers(base::vector<location_share>& into) const { read_shares(into, head_.waiters, head_.causers); }
  const unsigned char* bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept {
    return sizeof head_ + head_.terms * sizeof(residual_term) +
           (std::size_t{head_.waiters} + head_.causers) * sizeof(location_share);
  }

 private:
  void read_shares(base::vector<location_share>& into, std::size_t first, std::size_t count) const {
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

// Completes the class whose head stands at `at`, after its terms are written.
inline void finish_class(base::packet& out, std::size_t at, packed_class& head, const class_scratch& scratch) {
  head.waiters = static_cast<std::uint32_t>(scratch.waiters.size());
  head.causers = static_cast<std::uint32_t>(scratch.causers.size());
  std::memcpy(out.data() + at, &head, sizeof head);
  put_bytes(out, scratch.waiters.data(), scratch.waiters.size() * sizeof(location_share));
  put_bytes(out, scratch.causers.data(), scratch.causers.size() * sizeof(location_share));
}

inline void join_class(base::packet& out, const class_reader& a, const class_reader& b, class_scratch& scratch) {
  packed_class head = a.head();
  head.sums.add(b.head().sums);
  const std::size_t at = out.size();
  put(out, head);
  std::uint32_t i = 0, j = 0;
  while (i != a.head().terms && j != b.head().terms) {
    residual_term x = a.term(i);
    const residual_term y = b.term(j);
    if (x.before(y)) {
      ++i;
    } else if (y.before(x)) {
      x = y;
      ++j;
    } else {
      x.add(y);
      ++i;
      ++j;
    }
    put(out, x);
  }
  for (; i != a.head().terms; ++i) put(out, a.term(i));
  for (; j != b.head().terms; ++j) put(out, b.term(j));
  head.terms = static_cast<std::uint32_t>((out.size() - at - sizeof head) / sizeof(residual_term));
  a.waiters(scratch.waiters);
  b.waiters(scratch.shares);
  add_shares(scratch.waiters, scratch.shares);
  a.causers(scratch.causers);
  b.causers(scratch.shares);
  add_shares(scratch.causers, scratch.shares);
  finish_class(out, at, head, scratch);
}

}  // namespace detail

/// Merges the classes of a received packet into `mine`.
inline void join_classes(base::packet& mine, const unsigned char* data, std::size_t size, class_scratch& scratch) {
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

/// The compensated waits of one class, computed by the virtual clocks.
struct class_clock {
  core::stable_key key = 0;
  std::uint32_t slot = 0;
  quality trust = quality::exact;
  std::int64_t ns = 0;  ///< its waits without measurement overhead
};

/// A class of the whole run, on rank 0.
struct merged_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< as in packed_class
  explanation sum;  ///< the residual is sorted by `residual_term::before`

  merged_class() = default;
  /// Unpacks the class that `in` stands at.
  explicit merged_class(const class_reader& in) : key(in.head().key), slot(in.head().slot) {
    static_cast<class_sums&>(sum) = in.head().sums;
    sum.residual.reserve(in.head().terms);
    for (std::uint32_t i = 0; i != in.head().terms; ++i) sum.residual.push_back(in.term(i));
    in.waiters(sum.waiters);
    in.causers(sum.causers);
  }

  bool same(const merged_class& o) const noexcept { return key == o.key && slot == o.slot; }
  bool operator<(const merged_class& o) const noexcept { return key != o.key ? key < o.key : slot < o.slot; }

  void merge(const explanation& from) {
    static_cast<class_sums&>(sum).add(from);
    sum.compensated_ns += from.compensated_ns;
    sum.compensated_trust = std::max(sum.compensated_trust, from.compensated_trust);
    add_shares(sum.waiters, from.waiters);
    add_shares(sum.causers, from.causers);
    const base::vector<residual_term> mine = std::move(sum.residual);
    const base::vector<residual_term>& other = from.residual;
    base::vector<residual_term>& both = sum.residual;
    both = {};
    both.reserve(mine.size() + other.size());
    for (std::size_t i = 0, j = 0; i != mine.size() || j != other.size();) {
      const bool first = j == other.size() || (i != mine.size() && !other[j].before(mine[i]));
      const residual_term& t = first ? mine[i++] : other[j++];
      if (!both.empty() && both.back().same_line(t)) both.back().add(t);
      else both.push_back(t);
    }
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
