#ifndef WHYWAIT_BASE_PACKED_LIST_HPP
#define WHYWAIT_BASE_PACKED_LIST_HPP

#include <whywait/base/pod_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

/// Four numbers that follow others. An entry takes one byte if each number grew by as much as before; otherwise the byte holds
/// two bits for each number, low ones first, with the length of its new difference: 0 (the former one), 1, 2 or 4 bytes.
struct packed_quad {
  std::uint32_t value[4] = {}, step[4] = {};

  [[gnu::noinline]] void pack(const std::uint32_t* next, pod_vector<unsigned char>& out) {
    unsigned char bytes[17];
    std::size_t size = 1;
    bytes[0] = 0;
    for (unsigned k = 0; k != 4; ++k) {
      const std::uint32_t by = next[k] - value[k];
      value[k] = next[k];
      if (by == step[k]) continue;
      step[k] = by;
      const auto grown = static_cast<std::int32_t>(by);
      const unsigned code = grown == static_cast<std::int8_t>(by) ? 1 : grown == static_cast<std::int16_t>(by) ? 2 : 3;
      bytes[0] = static_cast<unsigned char>(bytes[0] | code << 2 * k);
      for (unsigned i = 0; i != (1u << code >> 1); ++i) bytes[size++] = static_cast<unsigned char>(by >> 8 * i);
    }
    out.append(bytes, size);
  }
  /// Returns the bytes that follow.
  [[gnu::always_inline]] const unsigned char* unpack(const unsigned char* from) noexcept {
    unsigned codes = *from;
    for (std::uint32_t* s = step; codes != 0; codes >>= 2, ++s) {
      if ((codes & 3) == 0) continue;
      const unsigned size = 1u << (codes & 3) >> 1;
      std::uint32_t by = 0;
      for (unsigned i = 0; i != size; ++i) by |= static_cast<std::uint32_t>(*++from) << 8 * i;
      const unsigned above = 32 - 8 * size;
      *s = static_cast<std::uint32_t>(static_cast<std::int32_t>(by << above) >> above);  // with the sign
    }
    for (unsigned k = 0; k != 4; ++k) value[k] += step[k];
    return from + 1;
  }
};

}  // namespace detail

/// A list that is written at its end and read from its beginning, for entries of 16 bytes that follow a pattern: they are taken as
/// four numbers, and take 1 byte if each grows as before, otherwise at most 17. Not thread safe.
class packed_list {
 public:
  explicit packed_list(memory_pool& pool) noexcept : bytes_(pool) {}

  /// `Entry`: the same type for all entries, without padding.
  template <class Entry>
  [[gnu::always_inline]] void push_back(const Entry& entry) {
    static_assert(sizeof(Entry) == 16 && std::is_trivially_copyable<Entry>::value, "entries are four numbers");
    static_assert(std::has_unique_object_representations_v<Entry>, "padding has no pattern");
    std::uint32_t next[4];
    std::memcpy(next, &entry, sizeof next);
    last_.pack(next, bytes_);
    ++size_;
  }
  std::size_t size() const noexcept { return size_; }
  /// Frees the memory.
  void release() noexcept {
    bytes_.release();
    last_ = {};
    size_ = 0;
  }

  /// A place in a list, which must not change meanwhile. O(1) per entry.
  class reader {
   public:
    reader() = default;
    explicit reader(const packed_list& of) noexcept : left_(of.size_ + 1), next_(of.bytes_.data()) { pop(); }

    [[gnu::always_inline]] bool empty() const noexcept { return left_ == 0; }
    template <class Entry>
    [[gnu::always_inline]] Entry front() const noexcept {
      Entry entry;
      std::memcpy(&entry, at_.value, sizeof entry);
      return entry;
    }
    [[gnu::noinline]] void pop() noexcept {
      if (--left_ != 0) next_ = at_.unpack(next_);
    }

   private:
    std::size_t left_ = 0;  ///< with the entry at the front
    const unsigned char* next_ = nullptr;
    detail::packed_quad at_;
  };

 private:
  pod_vector<unsigned char> bytes_;
  detail::packed_quad last_;
  std::size_t size_ = 0;
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
