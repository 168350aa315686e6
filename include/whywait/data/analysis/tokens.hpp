#ifndef WHYWAIT_DATA_ANALYSIS_TOKENS_HPP
#define WHYWAIT_DATA_ANALYSIS_TOKENS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_table.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// What a packet between ranks holds next.
namespace token_part {
enum : std::uint32_t { offer = 1, tokens, end };
}

/// What a sender sends about data, once per receiver: everything that its part of the class consists of.
struct sent_data {
  core::stable_key data = 0;
  core::stable_key from = 0;
  std::uint32_t kind = 0;
  std::uint32_t number = 0;  ///< of this offer, as the sender counts
  class_chain previous;      ///< class of the transfer that brought the data, or what stands in its place
};

/// The sender's side of `count` messages that follow each other on one channel and carry the same. It travels after the
/// run on behalf of the message.
struct token {
  core::stable_key channel = 0;
  std::uint32_t order = 0;  ///< of the first
  std::uint32_t count = 1;
  std::uint32_t offer = 0;
  std::uint32_t fan_out = 1;  ///< number of ranks to which this rank sent the same data
  std::uint16_t hops = 1;
  std::uint8_t unchanged = 0;
  std::uint8_t unwritten = 0;  ///< no write of it is recorded
  std::uint32_t region = 0;  ///< a hash of where the sender has it

  bool carries_same(const token& o) const noexcept {
    return channel == o.channel && offer == o.offer && fan_out == o.fan_out && hops == o.hops && unchanged == o.unchanged &&
           unwritten == o.unwritten && region == o.region;
  }
};

/// A channel of messages between two ranks, which the caller identifies.
inline core::stable_key message_channel(core::stable_key group, std::int32_t tag) noexcept {
  return core::combine(group, (std::uint64_t{1} << 32) | static_cast<std::uint32_t>(tag));
}
inline core::stable_key collective_channel(core::stable_key group) noexcept { return core::combine(group, 1); }

/// Tokens of one channel that wait for their receives, by order; runs of equal ones are one entry. Taken in any order
/// at O(log entries), plus a move of later entries when a run is removed from the middle. Memory is proportional to the
/// messages in flight.
class token_queue {
 public:
  void push(const token& t) {
    if (!list_.empty() && list_.back().count != 0) {
      token& last = list_.back();
      if (last.carries_same(t) && last.order + last.count == t.order) {
        last.count += t.count;
        return;
      }
    }
    std::size_t at = list_.size();
    while (at != head_ && list_[at - 1].order > t.order) --at;  // threads may hand out orders a little out of order
    list_.insert(list_.begin() + at, t);
  }

  /// Takes the token of this message; false if it is not here (yet).
  bool take(std::uint32_t order, token& out) {
    std::size_t low = head_, high = list_.size();
    while (low != high) {
      const std::size_t middle = (low + high) / 2;
      if (list_[middle].order <= order) low = middle + 1;
      else high = middle;
    }
    if (low == head_) return false;
    token& t = list_[low - 1];
    if (order - t.order >= t.count) return false;
    out = t;
    if (order == t.order) {
      ++t.order;
      --t.count;
    } else {
      token rest = t;
      rest.order = order + 1;
      rest.count = t.order + t.count - rest.order;
      t.count = order - t.order;
      if (rest.count != 0) list_.insert(list_.begin() + low, rest);
    }
    if (list_[low - 1].count == 0) clear_out(low - 1);
    return true;
  }

  std::int64_t left() const noexcept {
    std::int64_t n = 0;
    for (std::size_t i = head_; i != list_.size(); ++i) n += list_[i].count;
    return n;
  }
  std::size_t entries() const noexcept { return list_.size() - head_; }

 private:
  void clear_out(std::size_t emptied) {
    if (emptied == head_) {
      while (head_ != list_.size() && list_[head_].count == 0) ++head_;
    } else {
      ++dead_;
    }
    if (head_ == list_.size()) {
      list_.clear();
      head_ = dead_ = 0;
    } else if ((head_ + dead_) * 2 > list_.size() && head_ + dead_ > 64) {
      std::size_t kept = 0;
      for (std::size_t i = head_; i != list_.size(); ++i) {
        if (list_[i].count != 0) list_[kept++] = list_[i];
      }
      list_.resize(kept);
      head_ = dead_ = 0;
    }
  }

  base::pod_vector<token> list_;
  std::size_t head_ = 0, dead_ = 0;
};

/// Queues by channel and source.
class token_queues {
 public:
  token_queue& operator[](core::stable_key key) {
    const auto fresh = static_cast<std::uint32_t>(list_.size());
    const std::uint32_t number = numbers_.intern(key, fresh);
    if (number == fresh) list_.push_back({key, {}});
    return list_[number].tokens;
  }
  std::int64_t left() const noexcept {
    std::int64_t n = 0;
    for (const one_queue& q : list_) n += q.tokens.left();
    return n;
  }
  /// So that a program which uses ever other channels does not keep them all.
  void forget_empty() {
    base::vector<one_queue> kept;
    for (one_queue& q : list_) {
      if (q.tokens.entries() != 0) kept.push_back(std::move(q));
    }
    list_ = std::move(kept);
    numbers_ = {};
    for (std::size_t i = 0; i != list_.size(); ++i) numbers_.intern(list_[i].key, static_cast<std::uint32_t>(i));
  }

 private:
  struct one_queue {
    core::stable_key key;
    token_queue tokens;
  };

  base::vector<one_queue> list_;
  base::key_map numbers_;
};

/// The messages of a channel that carry registered data, as ranges of orders. The sender announces them first, so that
/// the receiver never waits for the token of a message without registered data.
struct order_range {
  core::stable_key channel = 0;
  std::uint32_t first = 0, last = 0;
};

/// Ranges of orders by channel, built from rising orders mostly. 16 bytes a range.
class announcements {
 public:
  void add(core::stable_key channel, std::uint32_t first, std::uint32_t last) {
    const auto fresh = static_cast<std::uint32_t>(channels_.size());
    const std::uint32_t number = numbers_.intern(channel, fresh);
    if (number == fresh) channels_.push_back({channel, {}});
    base::pod_vector<order_range>& ranges = channels_[number].ranges;
    if (!ranges.empty() && ranges.back().last + 1 == first) {
      ranges.back().last = last;
    } else {
      sorted_ = sorted_ && (ranges.empty() || ranges.back().last < first);
      ranges.push_back({channel, first, last});
    }
  }
  bool holds(core::stable_key channel, std::uint32_t order) {
    if (!sorted_) sort();
    const std::uint32_t number = numbers_.find(channel);
    if (number == base::key_map::none) return false;
    const base::pod_vector<order_range>& ranges = channels_[number].ranges;
    std::size_t low = 0, high = ranges.size();
    while (low != high) {
      const std::size_t middle = (low + high) / 2;
      if (ranges[middle].last < order) low = middle + 1;
      else high = middle;
    }
    return low != ranges.size() && ranges[low].first <= order;
  }
  bool empty() const noexcept { return channels_.empty(); }
  void pack(base::packet& out) const {
    for (const auto& c : channels_) {
      for (const order_range& r : c.ranges) base::put(out, r);
    }
  }
  void receive(const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    while (!in.empty()) {
      const auto r = in.get<order_range>();
      add(r.channel, r.first, r.last);
    }
  }

 private:
  struct one_channel {
    core::stable_key key;
    base::pod_vector<order_range> ranges;
  };
  void sort() {
    for (one_channel& c : channels_) {
      base::small_stable_sort(c.ranges, [](const order_range& a, const order_range& b) { return a.first < b.first; });
    }
    sorted_ = true;
  }

  base::key_map numbers_;
  base::vector<one_channel> channels_;
  bool sorted_ = true;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
