#ifndef WHYWAIT_RECORD_DATA_GATHERING_HPP
#define WHYWAIT_RECORD_DATA_GATHERING_HPP

#include <whywait/core/data_record.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace record {
namespace data {

/// Bytes of one array that were touched alike, as at most 64 intervals, sorted and disjoint. Trivial; zeroed memory is
/// empty. An interval more costs a binary search, and a move of those behind it unless it joins its neighbours.
class gathering {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == most; }

  /// Not while it is full.
  void add(uint64_t begin, uint64_t end) noexcept {
    unsigned low = 0, high = count_;
    while (low != high) {  // the first that ends at or behind `begin`
      const unsigned middle = (low + high) / 2;
      if (list_[middle].end < begin) low = middle + 1;
      else high = middle;
    }
    unsigned behind = low;
    while (behind != count_ && list_[behind].begin <= end) ++behind;
    if (behind == low) {
      memmove(list_ + low + 1, list_ + low, sizeof(interval) * (count_ - low));
      ++count_;
      list_[low] = {begin, end};
      return;
    }
    if (list_[low].begin < begin) begin = list_[low].begin;
    if (list_[behind - 1].end > end) end = list_[behind - 1].end;
    list_[low] = {begin, end};
    memmove(list_ + low + 1, list_ + behind, sizeof(interval) * (count_ - behind));
    count_ -= behind - low - 1;
  }

  /// Calls emit(record) with begin, end, stride and piece for all of it, in rising order: equal pieces at one distance
  /// are one record. Empty afterwards.
  template <class Emit>
  void take(const core::data_record& alike, Emit&& emit) noexcept {
    for (unsigned i = 0; i != count_;) {
      core::data_record r = alike;
      const uint64_t piece = list_[i].end - list_[i].begin;
      unsigned next = i + 1;
      if (next != count_ && list_[next].end - list_[next].begin == piece && piece <= ~uint32_t(0)) {
        r.stride = list_[next].begin - list_[i].begin;
        r.piece = static_cast<uint32_t>(piece);
        while (next != count_ && list_[next].end - list_[next].begin == piece &&
               list_[next].begin - list_[next - 1].begin == r.stride)
          ++next;
      }
      r.begin = list_[i].begin;
      r.end = list_[next - 1].end;
      emit(r);
      i = next;
    }
    count_ = 0;
  }

 private:
  struct interval {
    uint64_t begin;
    uint64_t end;
  };
  static constexpr unsigned most = 64;
  interval list_[most];
  unsigned count_ = 0;
};

}  // namespace data
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
