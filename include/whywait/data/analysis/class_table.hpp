#ifndef WHYWAIT_DATA_ANALYSIS_CLASS_TABLE_HPP
#define WHYWAIT_DATA_ANALYSIS_CLASS_TABLE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/data/analysis/ownership.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// What a transfer is without its history: data, region kind, sending and receiving block. The same on every rank.
struct transfer_base {
  core::stable_key data = 0;
  core::stable_key from = 0;  ///< block or call that sent
  core::stable_key to = 0;    ///< block or call that received
  std::uint32_t kind = 0;     ///< kind_of_region::code()
  std::uint32_t reserved = 0;

  core::stable_key key() const noexcept { return core::combine(core::combine(data, kind), core::combine(from, to)); }
  bool operator==(const transfer_base& o) const noexcept {
    return data == o.data && from == o.from && to == o.to && kind == o.kind;
  }
};

/// A class by value: its own base, those of the transfers before it, and how the chain ends. Plain, travels between ranks.
struct class_chain {
  static constexpr unsigned most = 4;

  transfer_base base[most];
  std::uint32_t depth = 0;
  origin_kind end = origin_kind::init;
  bool loop = false;  ///< transfers of this class follow on others of it: a relay loop
  core::stable_key producer = 0;  ///< block, if `end` is produced

  /// The same for equal chains, whatever `loop`.
  core::stable_key key() const noexcept {
    core::stable_key k = core::combine(producer, static_cast<core::stable_key>(end));
    for (unsigned i = depth; i-- != 0;) k = core::combine(base[i].key(), k);
    return k;
  }
};

/// The classes of one rank: K(e) = (base, K(previous transfer)), made finite as in definitions 2.1. A chain ends at INIT,
/// PRODUCED and MIXED. *Folding*: a relay whose ancestor (the previous class or one before it) is itself a relay of the
/// same base is that ancestor. *Cut*: of a longer chain the last four transfers count. Both depend on the chain alone, so
/// every rank finds the same classes. A known (base, previous) costs one hash look-up; memory grows with classes only.
class class_table {
 public:
  /// The class of a transfer with this base whose data came from `previous`.
  std::uint32_t intern(std::uint32_t base, origin previous) {
    const std::uint64_t edge = key_of(base, previous);
    const std::uint32_t known = edges_.find(edge);
    if (known != base::key_map::none) return known;
    return edges_.intern(edge, find_class(base, previous));
  }

  std::uint32_t intern_base(const transfer_base& base) {
    const auto fresh = static_cast<std::uint32_t>(bases_.size());
    const std::uint32_t number = base_numbers_.intern(base.key(), fresh);
    if (number == fresh) bases_.push_back(base);
    return number;
  }

  /// A block as origin.
  origin produced(core::stable_key block) {
    const auto fresh = static_cast<std::uint32_t>(producers_.size());
    const std::uint32_t number = producer_numbers_.intern(core::combine(block, 0), fresh);
    if (number == fresh) producers_.push_back(block);
    return {origin_kind::produced, number};
  }

  std::size_t size() const noexcept { return nodes_.size(); }
  bool is_relay(std::uint32_t id) const noexcept {
    const origin_kind k = nodes_[id].previous.kind();
    return k == origin_kind::relay || k == origin_kind::deep;
  }
  const transfer_base& base_of(std::uint32_t id) const noexcept { return bases_[nodes_[id].base]; }

  /// A class by value.
  class_chain chain(std::uint32_t id) const noexcept {
    class_chain out;
    out.loop = nodes_[id].loop;
    origin at(origin_kind::relay, id);
    for (; at.kind() == origin_kind::relay; at = nodes_[at.number()].previous) {
      out.base[out.depth++] = bases_[nodes_[at.number()].base];
    }
    out.end = at.kind();
    if (out.end == origin_kind::produced) out.producer = producers_[at.number()];
    return out;
  }
  class_chain chain(origin o) const noexcept {
    if (o.kind() == origin_kind::relay) return chain(o.number());
    class_chain out;
    out.end = o.kind();
    if (out.end == origin_kind::produced) out.producer = producers_[o.number()];
    return out;
  }
  /// The origin that another rank described; a chain without transfers is its end.
  origin import(const class_chain& c) {
    origin at = c.end == origin_kind::produced ? produced(c.producer) : origin(c.end);
    for (unsigned i = c.depth < class_chain::most ? c.depth : class_chain::most; i-- != 0;) {
      at = {origin_kind::relay, node_of(intern_base(c.base[i]), at)};
    }
    if (c.loop && at.kind() == origin_kind::relay) nodes_[at.number()].loop = true;
    return at;
  }

 private:
  struct node {
    std::uint32_t base;
    origin previous;
    std::uint32_t depth;
    bool loop;
  };

  static std::uint64_t key_of(std::uint32_t base, origin previous) noexcept {
    return core::combine((static_cast<std::uint64_t>(base) << 32) | previous.code(), 1);
  }

  std::uint32_t node_of(std::uint32_t base, origin previous) {
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    const std::uint32_t number = node_numbers_.intern(key_of(base, previous), fresh);
    if (number == fresh) {
      const std::uint32_t before = previous.kind() == origin_kind::relay ? nodes_[previous.number()].depth : 0;
      nodes_.push_back({base, previous, before + 1, false});
    }
    return number;
  }

  std::uint32_t find_class(std::uint32_t base, origin previous) {
    for (origin at = previous; at.kind() == origin_kind::relay; at = nodes_[at.number()].previous) {
      if (nodes_[at.number()].base == base && is_relay(at.number())) {
        nodes_[at.number()].loop = true;
        return at.number();
      }
    }
    return node_of(base, cut(previous, class_chain::most - 1));
  }

  origin cut(origin at, unsigned levels) {
    if (at.kind() != origin_kind::relay || nodes_[at.number()].depth <= levels) return at;
    if (levels == 0) return origin(origin_kind::deep);
    const node n = nodes_[at.number()];
    return {origin_kind::relay, node_of(n.base, cut(n.previous, levels - 1))};
  }

  base::pod_vector<node> nodes_;
  base::pod_vector<transfer_base> bases_;
  base::pod_vector<core::stable_key> producers_;
  base::key_map edges_, node_numbers_, base_numbers_, producer_numbers_;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
