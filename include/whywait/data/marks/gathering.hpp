#ifndef WHYWAIT_DATA_MARKS_GATHERING_HPP
#define WHYWAIT_DATA_MARKS_GATHERING_HPP

#include <whywait/core/data_record.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// Combines intervals of one array, in rising order, into records. Adjacent intervals merge, and equal intervals at a
/// constant stride share one record. About 2 ns per interval, no allocation. An interval out of order begins a new
/// record.
class gathering {
 public:
  /// Adds an interval. Calls emit(begin, end, stride, piece) for each completed record.
  template <class Emit>
  __attribute__((always_inline)) void add(uint64_t begin, uint64_t end, Emit&& emit) noexcept {
    if (begin != end_) {
      close(emit);
      begin_ = begin;
    }
    end_ = end;
  }

  /// Calls emit for the remaining record and becomes empty.
  template <class Emit>
  void take(Emit&& emit) noexcept {
    close(emit);
    if (count_ != 0) emit_row(emit);
    *this = gathering();
  }

 private:
  // Ends the open interval. It extends the current row or begins a new one.
  template <class Emit>
  void close(Emit&& emit) noexcept {
    if (end_ == none) return;
    const uint64_t bytes = end_ - begin_;
    if (count_ != 0 && bytes == piece_ && bytes <= ~uint32_t(0)) {
      if (count_ == 1 && begin_ >= first_ + piece_) stride_ = begin_ - first_;
      if (stride_ != 0 && begin_ == first_ + count_ * stride_) {
        ++count_;
        return;
      }
    }
    if (count_ != 0) emit_row(emit);
    first_ = begin_;
    piece_ = bytes;
    stride_ = 0;
    count_ = 1;
  }
  template <class Emit>
  void emit_row(Emit&& emit) noexcept {
    const bool single = count_ == 1;
    emit(first_, first_ + (count_ - 1) * stride_ + piece_, single ? 0 : stride_, single ? 0 : static_cast<uint32_t>(piece_));
  }

  static constexpr uint64_t none = ~uint64_t(0);
  uint64_t begin_ = none, end_ = none;  // the open interval, which may still grow
  uint64_t first_ = 0, piece_ = 0, stride_ = 0, count_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
