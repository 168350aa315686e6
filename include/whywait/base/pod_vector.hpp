#ifndef WHYWAIT_BASE_POD_VECTOR_HPP
#define WHYWAIT_BASE_POD_VECTOR_HPP

#include <whywait/base/mapped_block.hpp>
#include <whywait/base/memory_pool.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <initializer_list>
#include <new>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

/// The part of pod_vector that depends on the element size only; compiled once for all element types.
class plain_memory {
 protected:
  [[gnu::always_inline]] plain_memory() noexcept {}
  explicit plain_memory(memory_pool* pool) noexcept : pool_(pool) {}
  [[gnu::always_inline]] plain_memory(plain_memory&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_), pool_(other.pool_) {
    other.data_ = nullptr, other.size_ = other.capacity_ = 0, other.pool_ = nullptr;
  }
  plain_memory(const plain_memory&) = delete;
  plain_memory& operator=(const plain_memory&) = delete;

  void exchange(plain_memory& other) noexcept {
    void* const data = data_;
    const uint32_t size = size_, capacity = capacity_;
    memory_pool* const pool = pool_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_, pool_ = other.pool_;
    other.data_ = data, other.size_ = size, other.capacity_ = capacity, other.pool_ = pool;
  }

  /// Reallocates to a capacity of exactly `count` elements and keeps the elements.
  [[gnu::noinline]] void move_to(size_t count, size_t element) {
    // Requests above 2^32 - 1 elements go to `operator new`, which throws std::bad_alloc even in code compiled without
    // exceptions.
    const size_t bytes = count > UINT32_MAX ? size_t{PTRDIFF_MAX} : count * element;
    const size_t old_bytes = capacity_ * element;
    if (bytes >= mapped_bytes && old_bytes >= mapped_bytes) {
      data_ = map_block(bytes, data_, old_bytes);
    } else {
      void* const fresh = bytes >= mapped_bytes ? map_block(bytes)
                          : pool_ != nullptr    ? pool_->take(bytes)
                                                : ::operator new(bytes);
      if (size_ != 0) memcpy(fresh, data_, size_ * element);
      give_back(element);
      data_ = fresh;
    }
    capacity_ = static_cast<uint32_t>(count);
  }
  /// Grows the capacity for `more` further elements and doubles it.
  [[gnu::noinline]] void grow(size_t more, size_t element) {
    const size_t least = size_ + more, doubled = size_t{2} * capacity_, first = element < 16 ? 64 / element : 4;
    const size_t most = doubled > UINT32_MAX && least <= UINT32_MAX ? size_t{UINT32_MAX} : doubled;
    move_to(least > most ? (least > first ? least : first) : most, element);
  }
  [[gnu::noinline]] void append_bytes(const void* first, size_t count, size_t element) {
    if (count == 0) return;
    if (count > capacity_ - size_) size_ == 0 && count > capacity_ ? move_to(count, element) : grow(count, element);
    memcpy(static_cast<char*>(data_) + size_ * element, first, count * element);
    size_ += static_cast<uint32_t>(count);
  }
  /// Appends one element, which may be in this vector.
  static constexpr size_t large_element = 32;
  [[gnu::noinline]] void append_large(const void* value, size_t element) {
    const char* from = static_cast<const char*>(value);
    if (size_ == capacity_) {
      const size_t at = static_cast<size_t>(from - static_cast<const char*>(data_));
      const bool own = size_ != 0 && from >= data_ && at < size_ * element;
      grow(1, element);
      if (own) from = static_cast<const char*>(data_) + at;
    }
    memcpy(static_cast<char*>(data_) + size_++ * element, from, element);
  }
  [[gnu::noinline]] void copy_bytes(const plain_memory& other, size_t element) {
    if (this == &other) return;
    size_ = 0;
    append_bytes(other.data_, other.size_, element);
  }
  [[gnu::noinline]] void take(plain_memory& other, size_t element) noexcept {
    plain_memory gone(static_cast<plain_memory&&>(other));
    exchange(gone);
    gone.give_back(element);
  }
  /// Moves the elements from index `from` on to index `to`; the capacity must suffice.
  void shift(size_t to, size_t from, size_t element) noexcept {
    char* const begin = static_cast<char*>(data_);
    if (size_ != from) memmove(begin + to * element, begin + from * element, (size_ - from) * element);
    size_ = static_cast<uint32_t>(size_ + to - from);
  }
  // Out of line: every list is destroyed, and few destructions are hot.
  [[gnu::noinline]] void give_back(size_t element) noexcept {
    if (data_ == nullptr) return;
    if (capacity_ * element >= mapped_bytes) return unmap_block(data_, capacity_ * element);
    if (pool_ != nullptr) return pool_->give(data_, capacity_ * element);
    ::operator delete(data_);
  }

  void* data_ = nullptr;
  uint32_t size_ = 0, capacity_ = 0;
  memory_pool* pool_ = nullptr;
};

}  // namespace detail

/// A std::vector for trivially copyable elements that compiles faster: an element type costs a quarter of the time of
/// std::vector (g++ 12, -O2; an eighth at -O0), because the code that moves memory is compiled once. Iterators are
/// pointers. At most 2^32 - 1 elements; beyond that std::bad_alloc. With a borrowed `memory_pool` it allocates there;
/// copies do not use the pool, moves and swaps take the pool along.
template <class T>
class pod_vector : private detail::plain_memory {
  static_assert(__is_trivially_copyable(T), "elements are moved as bytes");
  static_assert(alignof(T) <= 16, "memory is aligned for 16");

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  [[gnu::always_inline]] pod_vector() noexcept {}
  explicit pod_vector(memory_pool& pool) noexcept : plain_memory(&pool) {}
  explicit pod_vector(size_t count, const T& value = T()) { resize(count, value); }
  pod_vector(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  pod_vector(const T* first, const T* last) { append(first, static_cast<size_t>(last - first)); }
  [[gnu::always_inline]] pod_vector(const pod_vector& other) : plain_memory() {
    append_bytes(other.data_, other.size_, sizeof(T));
  }
  [[gnu::always_inline]] pod_vector(pod_vector&& other) noexcept : plain_memory(static_cast<plain_memory&&>(other)) {}
  [[gnu::always_inline]] pod_vector& operator=(const pod_vector& other) {
    copy_bytes(other, sizeof(T));
    return *this;
  }
  [[gnu::always_inline]] pod_vector& operator=(pod_vector&& other) noexcept {
    take(other, sizeof(T));
    return *this;
  }
  // Inline, because it would be one more function per type.
  [[gnu::always_inline]] ~pod_vector() { give_back(sizeof(T)); }

  [[gnu::always_inline]] T* data() noexcept { return static_cast<T*>(data_); }
  [[gnu::always_inline]] const T* data() const noexcept { return static_cast<const T*>(data_); }
  [[gnu::always_inline]] size_t size() const noexcept { return size_; }
  [[gnu::always_inline]] size_t capacity() const noexcept { return capacity_; }
  [[gnu::always_inline]] bool empty() const noexcept { return size_ == 0; }
  [[gnu::always_inline]] T* begin() noexcept { return data(); }
  [[gnu::always_inline]] const T* begin() const noexcept { return data(); }
  [[gnu::always_inline]] T* end() noexcept { return data() + size_; }
  [[gnu::always_inline]] const T* end() const noexcept { return data() + size_; }
  [[gnu::always_inline]] T& operator[](size_t at) noexcept { return data()[at]; }
  [[gnu::always_inline]] const T& operator[](size_t at) const noexcept { return data()[at]; }
  [[gnu::always_inline]] T& front() noexcept { return data()[0]; }
  [[gnu::always_inline]] const T& front() const noexcept { return data()[0]; }
  [[gnu::always_inline]] T& back() noexcept { return data()[size_ - 1]; }
  [[gnu::always_inline]] const T& back() const noexcept { return data()[size_ - 1]; }

  void reserve(size_t count) {
    if (count > capacity_) move_to(count, sizeof(T));
  }
  void push_back(const T& value) {
    if constexpr (sizeof(T) > large_element) return append_large(&value, sizeof(T));
    const T copy = value;  // `value` may be an element of this vector
    if (size_ == capacity_) grow(1, sizeof(T));
    ::new (static_cast<void*>(data() + size_)) T(copy);
    ++size_;
  }
  template <class... Parts>
  T& emplace_back(Parts&&... parts) {
    const T made{static_cast<Parts&&>(parts)...};
    if (size_ == capacity_) grow(1, sizeof(T));
    return *::new (static_cast<void*>(data() + size_++)) T(made);
  }
  [[gnu::always_inline]] void pop_back() noexcept { --size_; }
  [[gnu::always_inline]] void clear() noexcept { size_ = 0; }
  /// Frees the memory and keeps the pool.
  void release() noexcept {
    give_back(sizeof(T));
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void resize(size_t count) { resize(count, T()); }
  void resize(size_t count, const T& value) {
    const T copy = value;
    if (count > capacity_) grow(count - size_, sizeof(T));
    T* const end = data() + count;  // a local, so that the loop over bytes becomes a memset
    for (T* to = data() + size_; to < end; ++to) ::new (static_cast<void*>(to)) T(copy);
    size_ = static_cast<uint32_t>(count);
  }
  void assign(size_t count, const T& value) {
    const T copy = value;
    clear();
    resize(count, copy);
  }
  /// The range must not be part of this vector.
  void assign(const T* first, const T* last) {
    clear();
    append(first, static_cast<size_t>(last - first));
  }
  /// Replaces the elements by `count` others, given as bytes that need no alignment.
  [[gnu::always_inline]] void assign_bytes(const void* first, size_t count) {
    clear();
    append_bytes(first, count, sizeof(T));
  }
  /// Appends elements, which must not be part of this vector.
  void append(const T* first, size_t count) {
    if (count == 0) return;
    if (count > capacity_ - size_) size_ == 0 ? reserve(count) : grow(count, sizeof(T));
    memcpy(static_cast<void*>(data() + size_), first, count * sizeof(T));
    size_ += static_cast<uint32_t>(count);
  }
  T* insert(const T* before, const T& value) {
    const T copy = value;
    const auto at = static_cast<size_t>(before - data());
    if (size_ == capacity_) grow(1, sizeof(T));
    shift(at + 1, at, sizeof(T));
    return ::new (static_cast<void*>(data() + at)) T(copy);
  }
  /// The range must not be part of this vector.
  T* insert(const T* before, const T* first, const T* last) {
    const auto at = static_cast<size_t>(before - data()), count = static_cast<size_t>(last - first);
    if (count > capacity_ - size_) grow(count, sizeof(T));
    shift(at + count, at, sizeof(T));
    if (count != 0) memcpy(static_cast<void*>(data() + at), first, count * sizeof(T));
    return data() + at;
  }
  T* erase(const T* first, const T* last) noexcept {
    const auto at = static_cast<size_t>(first - data());
    if (first != last) shift(at, static_cast<size_t>(last - data()), sizeof(T));
    return data() + at;
  }
  T* erase(const T* at) noexcept { return erase(at, at + 1); }
  /// An empty vector with the same pool.
  pod_vector sibling() const noexcept { return pool_ != nullptr ? pod_vector(*pool_) : pod_vector(); }
  void swap(pod_vector& other) noexcept { exchange(other); }

  friend bool operator==(const pod_vector& a, const pod_vector& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i != a.size(); ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }
  friend bool operator!=(const pod_vector& a, const pod_vector& b) { return !(a == b); }
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
