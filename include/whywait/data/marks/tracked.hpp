#ifndef WHYWAIT_DATA_MARKS_TRACKED_HPP
#define WHYWAIT_DATA_MARKS_TRACKED_HPP

#include <whywait/data/marks/data_thread.hpp>
#include <whywait/data/marks/disabled_data_marks.hpp>

#include <stddef.h>
#include <stdint.h>

// Each access calls `touch`. In disabled builds `touch` is empty and all classes behave like a plain T. The inline
// namespace distinguishes both variants.
#ifdef WHYWAIT_DISABLE
#define WHYWAIT_DETAIL_SPACE v0_off
#else
#define WHYWAIT_DETAIL_SPACE v0
#endif

namespace whywait {
inline namespace WHYWAIT_DETAIL_SPACE {

namespace access_detail {

#ifdef WHYWAIT_DISABLE
enum class access : uint8_t { read, write, update };
template <class T>
__attribute__((always_inline)) inline void touch(access, const T*) noexcept {}
#else
using data::access;
using data::touch;
#endif

// The operations of a T&, recorded per element. Compound assignments such as `+=` are updates, because they commute.
template <class Self, class T>
class operations {
 public:
  __attribute__((always_inline)) operator T() const noexcept {
    touch(access::read, at());
    return *at();
  }
  template <class U>
  __attribute__((always_inline)) void store(const U& value) const noexcept {
    touch(access::write, at());
    *at() = value;
  }
  template <class U>
  __attribute__((always_inline)) const Self& operator+=(const U& value) const noexcept {
    touch(access::update, at());
    *at() += value;
    return self();
  }
  template <class U>
  __attribute__((always_inline)) const Self& operator-=(const U& value) const noexcept {
    touch(access::update, at());
    *at() -= value;
    return self();
  }
  template <class U>
  __attribute__((always_inline)) const Self& operator*=(const U& value) const noexcept {
    touch(access::update, at());
    *at() *= value;
    return self();
  }
  template <class U>
  __attribute__((always_inline)) const Self& operator/=(const U& value) const noexcept {
    touch(access::read, at());
    touch(access::write, at());
    *at() /= value;
    return self();
  }
  __attribute__((always_inline)) const Self& operator++() const noexcept { return *this += 1; }
  __attribute__((always_inline)) const Self& operator--() const noexcept { return *this -= 1; }

 private:
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
  T* at() const noexcept { return self().address(); }
};

}  // namespace access_detail

/// An element of an array_view. Conversion to T reads it, assignment writes it.
template <class T>
class element : public access_detail::operations<element<T>, T> {
 public:
  __attribute__((always_inline)) explicit element(T* at) noexcept : at_(at) {}
  element(const element&) noexcept = default;
  /// Reads the other element, writes this one.
  __attribute__((always_inline)) const element& operator=(const element& other) const noexcept {
    this->store(static_cast<T>(other));
    return *this;
  }
  __attribute__((always_inline)) element& operator=(const element& other) noexcept {
    this->store(static_cast<T>(other));
    return *this;
  }
  template <class U>
  __attribute__((always_inline)) const element& operator=(const U& value) const noexcept {
    this->store(value);
    return *this;
  }
  T* address() const noexcept { return at_; }

 private:
  T* at_;
};
/// A read-only element.
template <class T>
class element<const T> {
 public:
  __attribute__((always_inline)) explicit element(const T* at) noexcept : at_(at) {}
  __attribute__((always_inline)) operator T() const noexcept {
    access_detail::touch(access_detail::access::read, at_);
    return *at_;
  }

 private:
  const T* at_;
};

/// A row-major view of an array that records which elements are read and written if the array is registered. The record
/// is exact, or a sample (registered_array::sampled). 1.5 to 2 ns per access; no cost with WHYWAIT_DISABLE. It has no
/// state and may be copied and shared between threads. Indices are not checked.
template <class T, unsigned Dimensions = 1>
class array_view {
 public:
  /// Extents of all dimensions, slowest first.
  template <class... Extents>
  __attribute__((always_inline)) explicit array_view(T* first, Extents... extents) noexcept
      : first_(first), extent_{static_cast<size_t>(extents)...} {
    static_assert(sizeof...(Extents) == Dimensions, "one extent for each dimension");
  }
  template <class... Indices>
  __attribute__((always_inline)) element<T> operator()(Indices... indices) const noexcept {
    static_assert(sizeof...(Indices) == Dimensions, "one index for each dimension");
    const size_t index[] = {static_cast<size_t>(indices)...};
    size_t at = index[0];
    for (unsigned d = 1; d != Dimensions; ++d) at = at * extent_[d] + index[d];
    return element<T>(first_ + at);
  }
  template <class Index>
  __attribute__((always_inline)) element<T> operator[](Index index) const noexcept {
    static_assert(Dimensions == 1, "write view(i, j)");
    return element<T>(first_ + static_cast<ptrdiff_t>(index));
  }
  T* data() const noexcept { return first_; }
  size_t extent(unsigned dimension) const noexcept { return extent_[dimension]; }
  size_t size() const noexcept {
    size_t n = 1;
    for (unsigned d = 0; d != Dimensions; ++d) n *= extent_[d];
    return n;
  }

 private:
  T* first_;
  size_t extent_[Dimensions];
};

/// A T that records its reads and writes if it lies in a registered array (of `tracked<T>`, or one that begins with
/// it). It has the size of a T and costs the same as an element of array_view.
template <class T>
class tracked : public access_detail::operations<tracked<T>, T> {
 public:
  tracked() noexcept = default;
  __attribute__((always_inline)) tracked(const T& value) noexcept { this->store(value); }
  __attribute__((always_inline)) tracked(const tracked& other) noexcept : access_detail::operations<tracked<T>, T>() {
    this->store(static_cast<T>(other));
  }
  __attribute__((always_inline)) tracked& operator=(const tracked& other) noexcept {
    this->store(static_cast<T>(other));
    return *this;
  }
  template <class U>
  __attribute__((always_inline)) tracked& operator=(const U& value) noexcept {
    this->store(value);
    return *this;
  }
  /// The address of the value. Accesses through it are not recorded.
  T* address() const noexcept { return &value_; }

 private:
  mutable T value_{};  // mutable, because the operations are const like those of a reference
};

}  // namespace WHYWAIT_DETAIL_SPACE
}  // namespace whywait

#undef WHYWAIT_DETAIL_SPACE

#endif
