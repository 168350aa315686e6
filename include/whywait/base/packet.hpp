#ifndef WHYWAIT_BASE_PACKET_HPP
#define WHYWAIT_BASE_PACKET_HPP

#include <whywait/base/pod_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace base {

/// Serialised data for another rank. All ranks of a run share one architecture, so plain values are copied bytewise.
using packet = base::pod_vector<unsigned char>;

/// Tags of the parts of a packet of the first exchanges; each part begins with its tag as a std::uint32_t.
namespace packet_part {
enum : std::uint32_t {
  sends = 1,
  receives,
  participation,
  answer,
  give,
  need,
  unmet,
  progress_query,
  progress_answer,
  lock_held,
  lock_blocked,
  lock_answer,
  thread_wait,
  thread_cause
};
}

[[noreturn, gnu::cold, gnu::noinline]] inline void truncated() { throw std::out_of_range("whywait-X001: truncated packet"); }

// The first allocation has 256 bytes: most packets hold several small values, and each doubling copies them.
[[gnu::noinline]] inline void make_room(packet& out, std::size_t size) {
  out.reserve(std::max<std::size_t>({256, 2 * out.capacity(), out.size() + size}));
}
[[gnu::noinline]] inline void put_bytes(packet& out, const void* from, std::size_t size) {
  if (out.capacity() - out.size() < size) make_room(out, size);
  out.append(static_cast<const unsigned char*>(from), size);
}

/// Appends a plain value. Amortised O(size).
template <class T>
void put(packet& out, const T& value) {
  static_assert(std::is_trivially_copyable<T>::value, "only plain values travel");
  if (out.capacity() - out.size() < sizeof(T)) base::make_room(out, sizeof(T));
  out.append(reinterpret_cast<const unsigned char*>(&value), sizeof(T));
}

/// Appends a list of plain values, with its length.
template <class List>
void put_all(packet& out, const List& values) {
  static_assert(std::is_trivially_copyable<typename List::value_type>::value, "only plain values travel");
  put(out, static_cast<std::uint64_t>(values.size()));
  base::put_bytes(out, values.data(), values.size() * sizeof(typename List::value_type));
}

/// Appends a text, with its length.
[[gnu::noinline]] inline void put_text(packet& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  base::put_bytes(out, text.data(), text.size());
}

/// Reads plain values in the order they were put. Throws std::out_of_range on a truncated packet.
class packet_reader {
 public:
  packet_reader(const unsigned char* data, std::size_t size) noexcept : at_(data), end_(data + size) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable<T>::value, "only plain values travel");
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) base::truncated();
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  /// Skips `size` bytes and returns a pointer to them.
  const unsigned char* skip(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) base::truncated();
    const unsigned char* here = at_;
    at_ += size;
    return here;
  }

  /// Reads the length of a list of elements of `size` bytes and checks that the packet has as many.
  [[gnu::noinline]] std::size_t get_count(std::size_t size) {
    const auto count = get<std::uint64_t>();
    if (count > static_cast<std::size_t>(end_ - at_) / size) base::truncated();
    return static_cast<std::size_t>(count);
  }

  /// Reads a text that put_text wrote. Points into the packet.
  [[gnu::noinline]] std::string_view text() {
    const auto size = get<std::uint32_t>();
    return {reinterpret_cast<const char*>(skip(size)), size};
  }

  bool empty() const noexcept { return at_ == end_; }
  const unsigned char* rest() const noexcept { return at_; }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
};

/// Reads a list that put_all wrote and replaces `values` by it.
template <class List>
void get_all(packet_reader& in, List& values) {
  constexpr std::size_t each = sizeof(typename List::value_type);
  values.resize(in.get_count(each));
  const std::size_t size = values.size() * each;
  if (size != 0) std::memcpy(static_cast<void*>(values.data()), in.skip(size), size);
}
template <class T>
void get_all(packet_reader& in, pod_vector<T>& values) {
  const std::size_t count = in.get_count(sizeof(T));
  values.assign_bytes(in.skip(count * sizeof(T)), count);
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
