#ifndef WHYWAIT_BASE_VECTOR_HPP
#define WHYWAIT_BASE_VECTOR_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

// Throws; ends a program that is compiled without exceptions.
template <class Exception, class... Reason>
[[noreturn, gnu::cold]] void refuse(Reason... reason) {
#ifdef __cpp_exceptions
  throw Exception(reason...);
#else
  static_cast<void>(sizeof...(reason));
  __builtin_trap();
#endif
}

/// Moves `count` elements of `element` bytes each to memory without elements, also to the places of earlier ones that were moved.
using mover = void (*)(void* to, void* from, std::size_t count, std::size_t element);

[[gnu::noinline]] inline void move_bytes(void* to, void* from, std::size_t count, std::size_t element) noexcept {
  std::memmove(to, from, count * element);
}
template <class T>
void move_each(void* to, void* from, std::size_t count, std::size_t) noexcept {
  T* source = static_cast<T*>(from);
  for (T* target = static_cast<T*>(to); count != 0; --count, ++source, ++target) {
    ::new (static_cast<void*>(target)) T(static_cast<T&&>(*source));
    source->~T();
  }
}
template <class T>
constexpr mover relocation() noexcept {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "operator new aligns no better");
  if constexpr (std::is_trivially_copyable<T>::value) return &move_bytes;
  else return &move_each<T>;
}

/// The part of a vector that does not depend on the type of its elements: compiled once.
class vector_memory {
 protected:
  [[gnu::always_inline]] vector_memory() noexcept {}
  [[gnu::always_inline]] vector_memory(vector_memory&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr, other.size_ = other.capacity_ = 0;
  }
  vector_memory(const vector_memory&) = delete;
  vector_memory& operator=(const vector_memory&) = delete;

  void exchange(vector_memory& other) noexcept {
    void* const data = data_;
    const std::size_t size = size_, capacity = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = data, other.size_ = size, other.capacity_ = capacity;
  }

  /// Allocates room for exactly `count` elements and moves the present ones there.
  [[gnu::noinline]] void move_to(std::size_t count, std::size_t element, mover move) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / element) refuse<std::bad_array_new_length>();
    void* const fresh = ::operator new(count* element);
    if (size_ != 0) move(fresh, data_, size_, element);
    ::operator delete(data_);
    data_ = fresh;
    capacity_ = count;
  }
  /// Makes room for `more` elements behind the present ones; at least doubles the capacity.
  [[gnu::noinline]] void grow(std::size_t more, std::size_t element, mover move) {
    const std::size_t least = size_ + more, doubled = 2 * capacity_;
    move_to(least > doubled ? least : doubled, element, move);
  }
  /// Moves the elements from `middle` on to `to`, which is less, before those that are there.
  [[gnu::noinline]] void rotate(std::size_t to, std::size_t middle, std::size_t element, mover move) {
    char* const all = static_cast<char*>(data_);
    const std::size_t before = middle - to;
    void* const kept = ::operator new(before* element);
    move(kept, all + to * element, before, element);
    move(all + to * element, all + middle * element, size_ - middle, element);
    move(all + (size_ - before) * element, kept, before, element);
    ::operator delete(kept);
  }

  void* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace detail

/// std::vector with a tenth of its functions per type of element: compile time and memory of the cold rooms follow their
/// number (g++ 12, -O0, <whywait/mpi.hpp>: 10,200 functions instead of 18,200). The members are those of std::vector,
/// iterators are pointers; moving an element must not throw. Conversions from and to std::vector copy, so they are explicit. pod_vector is
/// cheaper still where elements are plain bytes.
template <class T>
class vector : private detail::vector_memory {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  // Delegating constructors: when copying an element throws, the destructor frees the others.
  [[gnu::always_inline]] vector() noexcept {}
  explicit vector(std::size_t count) : vector() { resize(count); }
  vector(std::size_t count, const T& value) : vector() { resize(count, value); }
  vector(std::initializer_list<T> values) : vector(values.begin(), values.end()) {}
  template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
  vector(Iterator first, Iterator last) : vector() {
    append(first, last);
  }
  explicit vector(const std::vector<T>& other) : vector(other.data(), other.data() + other.size()) {}
  vector(const vector& other) : vector(other.begin(), other.end()) {}
  [[gnu::always_inline]] vector(vector&& other) noexcept : vector_memory(static_cast<vector_memory&&>(other)) {}
  vector& operator=(vector other) noexcept {
    exchange(other);
    return *this;
  }
  ~vector() {
    truncate(0);
    ::operator delete(data_);
  }
  explicit operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  [[gnu::always_inline]] T* data() noexcept { return static_cast<T*>(data_); }
  [[gnu::always_inline]] const T* data() const noexcept { return static_cast<const T*>(data_); }
  [[gnu::always_inline]] std::size_t size() const noexcept { return size_; }
  [[gnu::always_inline]] std::size_t capacity() const noexcept { return capacity_; }
  [[gnu::always_inline]] bool empty() const noexcept { return size_ == 0; }
  [[gnu::always_inline]] T* begin() noexcept { return static_cast<T*>(data_); }
  [[gnu::always_inline]] const T* begin() const noexcept { return static_cast<const T*>(data_); }
  [[gnu::always_inline]] T* end() noexcept { return static_cast<T*>(data_) + size_; }
  [[gnu::always_inline]] const T* end() const noexcept { return static_cast<const T*>(data_) + size_; }
  auto rbegin() const noexcept { return std::reverse_iterator<const T*>(end()); }
  auto rend() const noexcept { return std::reverse_iterator<const T*>(begin()); }
  [[gnu::always_inline]] T& operator[](std::size_t at) noexcept { return static_cast<T*>(data_)[at]; }
  [[gnu::always_inline]] const T& operator[](std::size_t at) const noexcept { return static_cast<const T*>(data_)[at]; }
  T& at(std::size_t i) { return const_cast<T&>(static_cast<const vector&>(*this).at(i)); }
  const T& at(std::size_t i) const {
    if (i >= size_) detail::refuse<std::out_of_range>("base::vector");
    return (*this)[i];
  }
  [[gnu::always_inline]] T& front() noexcept { return *begin(); }
  [[gnu::always_inline]] const T& front() const noexcept { return *begin(); }
  [[gnu::always_inline]] T& back() noexcept { return (*this)[size_ - 1]; }
  [[gnu::always_inline]] const T& back() const noexcept { return (*this)[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count > capacity_) move_to(count, sizeof(T), detail::relocation<T>());
  }
  template <class... Parts>
  T& emplace_back(Parts&&... parts) {
    // The element is made first, because a part of it may be one of the elements.
    if constexpr (std::is_arithmetic<T>::value) {
      push_back(static_cast<T>(parts)...);
    } else {
      T made(static_cast<Parts&&>(parts)...);
      push_back(static_cast<T&&>(made));
    }
    return back();
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(1, sizeof(T), detail::relocation<T>());
    ::new (place(size_)) T(static_cast<T&&>(value));
    ++size_;
  }
  void pop_back() noexcept { truncate(size_ - 1); }
  void clear() noexcept { truncate(0); }
  void resize(std::size_t count) {
    truncate(count);
    if (count > capacity_) grow(count - size_, sizeof(T), detail::relocation<T>());
    for (; size_ < count; ++size_) ::new (place(size_)) T();
  }
  void resize(std::size_t count, const T& value) {
    truncate(count);
    if (count == size_) return;
    const T copy(value);  // it may be one of the elements
    if (count > capacity_) grow(count - size_, sizeof(T), detail::relocation<T>());
    for (; size_ < count; ++size_) ::new (place(size_)) T(copy);
  }
  void assign(std::size_t count, const T& value) {
    vector fresh(count, value);
    exchange(fresh);
  }
  template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
  void assign(Iterator first, Iterator last) {
    vector fresh(first, last);
    exchange(fresh);
  }
  T* insert(const T* before, T value) {
    const std::size_t at = static_cast<std::size_t>(before - begin());
    push_back(static_cast<T&&>(value));
    if (at != size_ - 1) rotate(at, size_ - 1, sizeof(T), detail::relocation<T>());
    return begin() + at;
  }
  /// `first` to `last` must not be its own elements.
  template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
  T* insert(const T* before, Iterator first, Iterator last) {
    const std::size_t at = static_cast<std::size_t>(before - begin()), old = size_;
    append(first, last);
    if (at != old) rotate(at, old, sizeof(T), detail::relocation<T>());
    return begin() + at;
  }
  T* erase(const T* first, const T* last) noexcept {
    T* to = begin() + (first - begin());
    T* const next = to;
    if (first == last) return next;
    for (T* from = begin() + (last - begin()); from != end(); ++from, ++to) *to = static_cast<T&&>(*from);
    truncate(static_cast<std::size_t>(to - begin()));
    return next;
  }
  T* erase(const T* at) noexcept { return erase(at, at + 1); }
  void swap(vector& other) noexcept { exchange(other); }

  friend bool operator==(const vector& a, const vector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i != a.size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }
  friend bool operator!=(const vector& a, const vector& b) { return !(a == b); }
  friend bool operator<(const vector& a, const vector& b) {
    for (std::size_t i = 0; i != a.size_ && i != b.size_; ++i) {
      if (a[i] < b[i]) return true;
      if (b[i] < a[i]) return false;
    }
    return a.size_ < b.size_;
  }

 private:
  void* place(std::size_t at) noexcept { return static_cast<char*>(data_) + at * sizeof(T); }
  void truncate(std::size_t count) noexcept {
    if constexpr (std::is_trivially_destructible<T>::value) {
      if (size_ > count) size_ = count;
    } else {
      while (size_ > count) (*this)[--size_].~T();
    }
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    const std::size_t count = static_cast<std::size_t>(std::distance(first, last));
    if (count > capacity_ - size_) grow(count, sizeof(T), detail::relocation<T>());
    for (; first != last; ++first, ++size_) ::new (place(size_)) T(static_cast<T>(*first));
  }
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
