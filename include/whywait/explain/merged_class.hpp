#ifndef WHYWAIT_EXPLAIN_MERGED_CLASS_HPP
#define WHYWAIT_EXPLAIN_MERGED_CLASS_HPP

#include <whywait/explain/packet.hpp>
#include <whywait/explain/wait_class.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One block's part in a shape, in keys that all ranks share.
struct shape_entry {
  core::stable_key block, within;
  double share;
};

/// The first instance of a class, proposed as the representative of its shape. The order is canonical: by
/// time, then by content, never by rank.
struct shape_leader {
  core::stable_key key = 0;  ///< (pattern, operation, cause)
  std::int64_t first_ns = 0, wait_ns = 0, count = 0;
  std::vector<shape_entry> shape;  ///< sorted by block

  bool operator<(const shape_leader& o) const noexcept {
    const auto head = [](const shape_leader& l) { return std::tie(l.key, l.first_ns, l.wait_ns, l.count); };
    if (head(*this) != head(o)) return head(*this) < head(o);
    return std::lexicographical_compare(
        shape.begin(), shape.end(), o.shape.begin(), o.shape.end(), [](const shape_entry& a, const shape_entry& b) {
          return std::tie(a.block, a.within, a.share) < std::tie(b.block, b.within, b.share);
        });
  }
};

/// Total variation distance over the union of blocks: half the sum of |differences of shares| (definitions
/// 1.7), 0 for equal shapes, 1 for disjoint ones. Both sorted by block. O(a + b).
[[gnu::cold]] inline double distance(const std::vector<shape_entry>& a, const std::vector<shape_entry>& b) noexcept {
  double apart = 0;
  std::size_t i = 0, j = 0;
  const auto name = [](const shape_entry& e) { return std::tie(e.block, e.within); };
  while (i != a.size() || j != b.size()) {
    if (j == b.size() || (i != a.size() && name(a[i]) < name(b[j]))) {
      apart += a[i++].share;
    } else if (i == a.size() || name(b[j]) < name(a[i])) {
      apart += b[j++].share;
    } else {
      apart += std::fabs(a[i++].share - b[j++].share);
    }
  }
  return apart / 2;
}

template <class T>
void put_all(packet& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint64_t>(values.size()));
  for (const T& v : values) put(out, v);
}
template <class T>
void get_all(packet_reader& in, std::vector<T>& values) {
  values.resize(in.get<std::uint64_t>());
  for (T& v : values) v = in.get<T>();
}

[[gnu::cold]] inline void put_leader(packet& out, const shape_leader& l) {
  put(out, l.key);
  put(out, l.first_ns);
  put(out, l.wait_ns);
  put(out, l.count);
  put_all(out, l.shape);
}
[[gnu::cold]] inline shape_leader get_leader(packet_reader& in) {
  shape_leader l;
  l.key = in.get<core::stable_key>();
  l.first_ns = in.get<std::int64_t>();
  l.wait_ns = in.get<std::int64_t>();
  l.count = in.get<std::int64_t>();
  get_all(in, l.shape);
  return l;
}

/// What the virtual clocks say about one class.
struct class_clock {
  core::stable_key key = 0;
  std::uint32_t slot = 0;
  quality trust = quality::exact;
  std::int64_t ns = 0;  ///< its waits without measurement overhead
};

/// A class of the whole run on its way up to rank 0. Sums only, so the order of merging does not matter.
struct merged_class {
  core::stable_key key = 0;
  std::uint32_t slot = 0;  ///< number of its leader; then the rest, then those without a shape
  explanation sum;         ///< residual sorted by (block, within)

  bool same(const merged_class& o) const noexcept { return key == o.key && slot == o.slot; }
  bool operator<(const merged_class& o) const noexcept { return std::tie(key, slot) < std::tie(o.key, o.slot); }

  void merge(const explanation& from) {
    if (sum.count == 0) {
      sum.why = from.why;
      sum.operation = from.operation;
      sum.cause = from.cause;
      sum.first_ns = from.first_ns;
    }
    sum.trust = std::max(sum.trust, from.trust);
    sum.count += from.count;
    sum.wait_ns += from.wait_ns;
    sum.longest_ns = std::max(sum.longest_ns, from.longest_ns);
    sum.wrong_order_count += from.wrong_order_count;
    sum.wrong_order_ns += from.wrong_order_ns;
    sum.indirect_ns += from.indirect_ns;
    sum.unexplained_ns += from.unexplained_ns;
    sum.compensated_ns += from.compensated_ns;
    sum.compensated_trust = std::max(sum.compensated_trust, from.compensated_trust);
    sum.first_ns = std::min(sum.first_ns, from.first_ns);
    if (from.longest.outweighs(sum.longest)) sum.longest = from.longest;
    for (const location_share& s : from.waiters) add_share(sum.waiters, s);
    for (const location_share& s : from.causers) add_share(sum.causers, s);
    std::vector<residual_term> joined;
    joined.reserve(sum.residual.size() + from.residual.size());
    const auto name = [](const residual_term& t) { return std::tie(t.block, t.within); };
    auto a = sum.residual.begin();
    auto b = from.residual.begin();
    while (a != sum.residual.end() || b != from.residual.end()) {
      if (b == from.residual.end() || (a != sum.residual.end() && name(*a) < name(*b))) {
        joined.push_back(*a++);
      } else if (a == sum.residual.end() || name(*b) < name(*a)) {
        joined.push_back(*b++);
      } else {
        joined.push_back(*a++);
        class_book::accumulate(joined.back(), *b++);
      }
    }
    sum.residual.swap(joined);
  }

  void write(packet& out) const {
    put(out, key);
    put(out, slot);
    put(out, sum.why);
    put(out, sum.trust);
    for (const core::stable_key k : {sum.operation, sum.cause}) put(out, k);
    for (const std::int64_t v : {sum.count, sum.wait_ns, sum.longest_ns, sum.wrong_order_count, sum.wrong_order_ns,
                                 sum.indirect_ns, sum.unexplained_ns, sum.first_ns}) {
      put(out, v);
    }
    put(out, sum.longest);
    put_all(out, sum.residual);
    put_all(out, sum.waiters);
    put_all(out, sum.causers);
  }

  static merged_class read(packet_reader& in) {
    merged_class c;
    c.key = in.get<core::stable_key>();
    c.slot = in.get<std::uint32_t>();
    c.sum.why = in.get<pattern>();
    c.sum.trust = in.get<quality>();
    for (core::stable_key* k : {&c.sum.operation, &c.sum.cause}) *k = in.get<core::stable_key>();
    for (std::int64_t* v : {&c.sum.count, &c.sum.wait_ns, &c.sum.longest_ns, &c.sum.wrong_order_count,
                            &c.sum.wrong_order_ns, &c.sum.indirect_ns, &c.sum.unexplained_ns, &c.sum.first_ns}) {
      *v = in.get<std::int64_t>();
    }
    c.sum.longest = in.get<wait_sample>();
    get_all(in, c.sum.residual);
    get_all(in, c.sum.waiters);
    get_all(in, c.sum.causers);
    return c;
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
