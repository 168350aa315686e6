#ifndef WHYWAIT_DATA_MARKS_RANGE_HPP
#define WHYWAIT_DATA_MARKS_RANGE_HPP

#include <whywait/core/data_record.hpp>

#include <stdint.h>

// Arguments of data marks. They are plain values and are identical with WHYWAIT_DISABLE, where they are ignored.
namespace whywait {
inline namespace v0 {

/// One dimension of a distributed array. This rank has `here` elements, beginning with element `first` of `whole`.
struct part {
  uint64_t here;
  uint64_t first;
  uint64_t whole;
  /// Accepts any arithmetic types.
  template <class A, class B, class C>
  constexpr part(A here_count, B first_here, C whole_count) noexcept
      : here(static_cast<uint64_t>(here_count)),
        first(static_cast<uint64_t>(first_here)),
        whole(static_cast<uint64_t>(whole_count)) {}
};

/// Extents of an array, slowest dimension first (C order), one to four. Each is a number of elements or a `part`.
class shape {
 public:
  template <class... Dimensions>
  constexpr explicit shape(Dimensions... dimensions) noexcept {
    static_assert(sizeof...(Dimensions) >= 1 && sizeof...(Dimensions) <= core::data_object::most_dimensions,
                  "an array has one to four dimensions");
    (add(dimensions), ...);
  }
  /// Converts to the form that is stored.
  constexpr core::data_object object(core::stable_key key, uint32_t element_bytes) const noexcept {
    core::data_object o;
    o.key = key;
    o.element_bytes = element_bytes;
    o.dimensions = count_;
    for (unsigned d = 0; d != count_; ++d) {
      o.extent[d] = here_[d];
      o.first[d] = first_[d];
      o.whole[d] = whole_[d];
      o.global = o.global || whole_[d] != here_[d];
    }
    return o;
  }

 private:
  constexpr void add(const part& p) noexcept {
    here_[count_] = p.here;
    first_[count_] = p.first;
    whole_[count_++] = p.whole;
  }
  template <class Number>
  constexpr void add(Number n) noexcept {
    add(part(n, 0, n));
  }
  uint64_t here_[core::data_object::most_dimensions] = {};
  uint64_t first_[core::data_object::most_dimensions] = {};
  uint64_t whole_[core::data_object::most_dimensions] = {};
  uint16_t count_ = 0;
};

/// A box of an array, with indices [low, high) in each dimension, slowest first.
struct box {
  uint64_t low[core::data_object::most_dimensions] = {};
  uint64_t high[core::data_object::most_dimensions] = {};
  unsigned dimensions = 0;

  /// The limits {low, high} of one dimension.
  struct side {
    uint64_t low;
    uint64_t high;
    template <class A, class B>
    constexpr side(A from, B to) noexcept : low(static_cast<uint64_t>(from)), high(static_cast<uint64_t>(to)) {}
  };
  constexpr box(side a) noexcept { add(a); }
  constexpr box(side a, side b) noexcept { add(a), add(b); }
  constexpr box(side a, side b, side c) noexcept { add(a), add(b), add(c); }
  constexpr box(side a, side b, side c, side d) noexcept { add(a), add(b), add(c), add(d); }

 private:
  constexpr void add(side s) noexcept {
    low[dimensions] = s.low;
    high[dimensions++] = s.high;
  }
};

/// Elements of a registered array that a loop accessed.
struct data_range {
  const void* first;       ///< address of the first element; for a box, of the element {0, 0, ...}
  uint64_t count;          ///< number of pieces
  uint64_t stride;         ///< elements between the begins of two pieces
  uint64_t piece;          ///< elements per piece
  uint32_t element_bytes;
  bool boxed;
  uint8_t flags;           ///< data_flag bits
  box within;

  /// Marks every element as read, modified and written back by a commutative operation (`+=`). Use with WHYWAIT_WRITES.
  constexpr data_range updated() const noexcept { return with(core::data_flag::update); }
  /// Marks the accesses as atomic.
  constexpr data_range atomically() const noexcept { return with(core::data_flag::atomic); }
  /// Marks the range as a bound of an irregular access, for example through index arrays.
  constexpr data_range at_most() const noexcept { return with(core::data_flag::bounds); }

 private:
  constexpr data_range with(unsigned flag) const noexcept {
    data_range r = *this;
    r.flags = static_cast<uint8_t>(r.flags | flag);
    return r;
  }
};

namespace data {

template <class T>
struct size_of_element {
  static constexpr uint32_t value = sizeof(T);
};
template <>
struct size_of_element<void> {
  static constexpr uint32_t value = 1;
};
template <>
struct size_of_element<const void> {
  static constexpr uint32_t value = 1;
};

}  // namespace data

/// `count` elements from `first` on, every `stride`-th, or `count` pieces of `piece` elements every `stride`. void
/// counts bytes.
template <class T, class A, class B = uint64_t, class C = uint64_t>
constexpr data_range range(T* first, A count, B stride = 1, C piece = 1) noexcept {
  return {first,
          static_cast<uint64_t>(count),
          static_cast<uint64_t>(stride),
          static_cast<uint64_t>(piece),
          data::size_of_element<T>::value,
          false,
          0,
          box({0, 0})};
}
/// A box of the registered array whose element {0, 0, ...} is at `array`.
template <class T>
constexpr data_range range(T* array, const box& within) noexcept {
  return {array, 0, 0, 0, data::size_of_element<T>::value, true, 0, within};
}
/// One element.
template <class T>
constexpr data_range range(T* element) noexcept {
  return range(element, 1);
}

}  // namespace v0
}  // namespace whywait

#endif
