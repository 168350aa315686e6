#ifndef WHYWAIT_DATA_ANALYSIS_OWNERSHIP_HPP
#define WHYWAIT_DATA_ANALYSIS_OWNERSHIP_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/data/analysis/data_region.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// Where data came from: the previous transfer or what stands in its place (definitions 2.1).
enum class origin_kind : std::uint8_t {
  init,      ///< there from the beginning
  produced,  ///< a block wrote it
  relay,     ///< received by a transfer and not written since
  mixed,     ///< several of these
  unknown,   ///< the sender has no record of the data
  deep       ///< "...": end of a chain that was cut
};

/// An origin as one rank numbers it: producing block or class.
class origin {
 public:
  constexpr origin() noexcept = default;
  constexpr origin(origin_kind kind, std::uint32_t number = 0) noexcept
      : code_(static_cast<std::uint32_t>(kind) << 29 | (number & 0x1fffffffu)) {}

  constexpr origin_kind kind() const noexcept { return static_cast<origin_kind>(code_ >> 29); }
  constexpr std::uint32_t number() const noexcept { return code_ & 0x1fffffffu; }
  constexpr std::uint32_t code() const noexcept { return code_; }
  constexpr bool operator==(origin other) const noexcept { return code_ == other.code_; }
  constexpr bool operator!=(origin other) const noexcept { return code_ != other.code_; }

 private:
  std::uint32_t code_ = 0;
};

/// The state of a byte on one rank.
struct byte_state {
  origin from;
  std::uint32_t data = 0;   ///< which data it is, if this array only carries it (`data_object::buffer`); 0: the array's own
  std::uint32_t stamp = 0;  ///< rises with every write and receive of the rank
  std::uint16_t hops = 0;   ///< how many transfers brought it here since it was written
  bool unread = false;      ///< received and not read yet

  bool alike(const byte_state& o) const noexcept {
    return from == o.from && data == o.data && hops == o.hops && unread == o.unread;
  }
};

/// What a region is made of.
struct region_state {
  byte_state state;        ///< of all of it; `from` is mixed if it differs; `stamp` and `hops` are the largest
  bool one_data = true;    ///< all carry the same data
};

/// The state of every byte of one object on one rank, as intervals. Exact while there are at most `most` intervals;
/// beyond, neighbours are joined: alike ones first, then any (as mixed), and `coarse()` is true. 24 bytes an interval.
/// A contiguous region costs a binary search and the intervals it covers, one of many pieces a pass over all intervals.
/// Not thread safe.
class ownership {
 public:
  explicit ownership(std::uint64_t bytes, std::size_t most = std::size_t{1} << 16) : bytes_(bytes), most_(most) {
    if (bytes != 0) list_.push_back({0, {}});
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t intervals() const noexcept { return list_.size(); }
  bool coarse() const noexcept { return coarse_; }

  /// `visit(begin, end, const byte_state&)` for all intervals of a region, in order.
  template <class Visit>
  void visit(const region& r, Visit&& visit) const {
    if (r.end <= r.begin) return;
    std::size_t i = find(r.begin);
    for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) {
      while (end_of(i) <= begin) ++i;
      for (std::size_t k = i; k != list_.size() && list_[k].begin < end; ++k) {
        visit(std::max(begin, list_[k].begin), std::min(end, end_of(k)), list_[k].state);
      }
    });
  }

  region_state look(const region& r) const {
    region_state out;
    bool first = true;
    visit(r, [&](std::uint64_t, std::uint64_t, const byte_state& s) {
      if (first) {
        out.state = s;
        first = false;
        return;
      }
      if (s.from != out.state.from) out.state.from = origin(origin_kind::mixed);
      if (s.data != out.state.data) out.one_data = false;
      out.state.stamp = std::max(out.state.stamp, s.stamp);
      out.state.hops = std::max(out.state.hops, s.hops);
      out.state.unread = out.state.unread || s.unread;
    });
    return out;
  }

  /// All bytes of the region now are in this state.
  void assign(const region& r, const byte_state& state) {
    if (r.end <= r.begin) return;
    if (r.pieces() > 4) {
      apply(r, [&state](byte_state& s) { s = state; });
    } else {
      for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) { splice(begin, end, state); });
    }
    if (list_.size() > most_) coarsen();
  }

  void forget_stamps() noexcept {
    for (interval& i : list_) i.state.stamp = 0;
  }

  /// Marks the region as read and calls `first_read(bytes, state)` for its unread parts.
  template <class First>
  void read(const region& r, First&& first_read) {
    bool any = false, splits = false;
    visit(r, [&](std::uint64_t begin, std::uint64_t end, const byte_state& s) {
      if (!s.unread) return;
      any = true;
      first_read(end - begin, s);
      const std::size_t i = find(begin);
      splits = splits || list_[i].begin != begin || end_of(i) != end;
    });
    if (!any) return;
    if (splits) {
      apply(r, [](byte_state& s) { s.unread = false; });
      if (list_.size() > most_) coarsen();
      return;
    }
    for (std::size_t i = find(r.begin); i != list_.size() && list_[i].begin < r.end; ++i) {
      if (list_[i].state.unread && touches(r, i)) list_[i].state.unread = false;
    }
  }

 private:
  struct interval {
    std::uint64_t begin;
    byte_state state;
  };

  std::uint64_t end_of(std::size_t i) const noexcept { return i + 1 != list_.size() ? list_[i + 1].begin : bytes_; }

  std::size_t find(std::uint64_t at) const noexcept {
    std::size_t low = 0, count = list_.size();
    while (count > 1) {
      const std::size_t half = count / 2;
      if (list_[low + half].begin <= at) low += half;
      count -= half;
    }
    return low;
  }

  bool touches(const region& r, std::size_t i) const noexcept {
    const std::uint64_t begin = std::max(list_[i].begin, r.begin), end = std::min(end_of(i), r.end);
    if (begin >= end) return false;
    if (r.contiguous()) return true;
    if (r.list != nullptr) {
      const std::uint64_t next = r.list->find(begin - r.begin);
      return next != r.list->count && r.begin + r.list->pieces[next].begin < end;
    }
    const std::uint64_t within = (begin - r.begin) % r.stride;
    return within < r.piece || within + (end - begin) > r.stride;
  }

  void splice(std::uint64_t begin, std::uint64_t end, const byte_state& state) {
    const std::size_t i = find(begin);
    std::size_t j = i;
    while (end_of(j) < end) ++j;
    const bool left = list_[i].begin<begin, right = end_of(j)> end;
    if (i == j && !left && !right) {
      list_[i].state = state;
      return;
    }
    interval fresh[3];
    std::size_t count = 0;
    if (left) fresh[count++] = list_[i];
    fresh[count++] = {begin, state};
    if (right) fresh[count++] = {end, list_[j].state};
    replace(i, j + 1, fresh, count);
  }

  void replace(std::size_t from, std::size_t to, const interval* fresh, std::size_t count) {
    const std::size_t old = to - from;
    if (count > old) {
      list_.insert(list_.begin() + from, fresh, fresh + (count - old));
    } else {
      list_.erase(list_.begin() + from, list_.begin() + from + (old - count));
    }
    std::copy(fresh, fresh + count, list_.begin() + from);
  }

  // One pass over all intervals: `change(state)` for every part of one that lies in the region.
  template <class Change>
  void apply(const region& r, Change&& change) {
    scratch_.clear();
    std::size_t i = 0;
    std::uint64_t at = 0;
    const auto copy_until = [&](std::uint64_t end, bool changes) {
      while (at < end) {
        while (end_of(i) <= at) ++i;
        interval part{at, list_[i].state};
        if (changes) change(part.state);
        const bool joins = changes && !scratch_.empty() && joins_ && scratch_.back().state.alike(part.state) &&
                           scratch_.back().state.stamp == part.state.stamp;
        if (!joins) scratch_.push_back(part);
        joins_ = changes;
        at = std::min(end_of(i), end);
      }
    };
    joins_ = false;
    for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) {
      copy_until(begin, false);
      copy_until(end, true);
    });
    copy_until(bytes_, false);
    list_.swap(scratch_);
  }

  void coarsen() {
    coarse_ = true;
    join([](const byte_state& a, const byte_state& b) { return a.alike(b); });
    while (list_.size() > most_ / 2 && list_.size() > 1) {
      bool second = false;
      join([&second](const byte_state&, const byte_state&) { return second = !second; });
    }
  }

  template <class Joins>
  void join(Joins&& joins) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < list_.size(); ++i) {
      byte_state& into = list_[kept].state;
      const byte_state& next = list_[i].state;
      if (!joins(into, next)) {
        list_[++kept] = list_[i];
        continue;
      }
      if (into.from != next.from) into.from = origin(origin_kind::mixed);
      if (into.data != next.data) into.data = 0;
      into.stamp = std::max(into.stamp, next.stamp);
      into.hops = std::max(into.hops, next.hops);
      into.unread = into.unread && next.unread;
    }
    list_.resize(kept + 1);
  }

  base::pod_vector<interval> list_, scratch_;
  std::uint64_t bytes_;
  std::size_t most_;
  bool joins_ = false, coarse_ = false;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
