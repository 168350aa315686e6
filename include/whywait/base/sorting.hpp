#ifndef WHYWAIT_BASE_SORTING_HPP
#define WHYWAIT_BASE_SORTING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

using number_before = bool (*)(const void* context, std::uint32_t a, std::uint32_t b);

[[gnu::noinline]] inline bool in_order(std::size_t size, number_before before, const void* context) {
  for (std::uint32_t i = 1; i < size; ++i) {
    if (before(context, i, i - 1)) return false;
  }
  return true;
}

// Bottom-up merge sort, compiled once for all lists; std::stable_sort costs 2 to 10 KB of code per list type.
[[gnu::noinline]] inline void sort_numbers(base::pod_vector<std::uint32_t>& numbers, number_before before,
                                           const void* context) {
  const std::size_t n = numbers.size();
  base::pod_vector<std::uint32_t> other(n);
  for (std::size_t width = 1; width < n; width *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * width) {
      const std::size_t middle = begin + width < n ? begin + width : n;
      const std::size_t end = middle + width < n ? middle + width : n;
      std::size_t a = begin, b = middle;
      if (middle == end || !before(context, numbers[middle], numbers[middle - 1])) b = end;  // already in order
      for (std::size_t to = begin; to != end; ++to) {
        const bool second = b != end && (a == middle || before(context, numbers[b], numbers[a]));
        other[to] = numbers[second ? b++ : a++];
      }
    }
    numbers.swap(other);
  }
}

[[gnu::noinline]] inline void swap_bytes(void* list, std::uint32_t a, std::uint32_t b, std::size_t element) {
  unsigned char* const x = static_cast<unsigned char*>(list) + a * element;
  unsigned char* const y = static_cast<unsigned char*>(list) + b * element;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= element; at += sizeof(std::uint64_t)) {  // nearly all elements consist of words
    std::uint64_t first, second;
    std::memcpy(&first, x + at, sizeof first);
    std::memcpy(&second, y + at, sizeof second);
    std::memcpy(x + at, &second, sizeof second);
    std::memcpy(y + at, &first, sizeof first);
  }
  std::swap_ranges(x + at, x + element, y + at);
}

// Moves each element to its place, with at most one swap per element; then places[i] is i.
[[gnu::noinline]] inline void move_to_places(void* list, base::pod_vector<std::uint32_t>& places, std::size_t element) {
  for (std::uint32_t i = 0; i != places.size(); ++i) {
    while (places[i] != i) {
      const std::uint32_t to = places[i];
      swap_bytes(list, i, to, element);
      places[i] = places[to];
      places[to] = to;
    }
  }
}
inline void rearrange(void* list, const base::pod_vector<std::uint32_t>& order, mover move, std::size_t element) {
  char* const fresh = static_cast<char*>(::operator new(order.size() * element));
  for (std::uint32_t i = 0; i != order.size(); ++i)
    move(fresh + i * element, static_cast<char*>(list) + order[i] * element, 1, element);
  move(list, fresh, order.size(), element);
  ::operator delete(fresh);
}

// The part of a sort that does not depend on the element type. `move` is null for elements that are plain bytes.
[[gnu::noinline]] inline void sort_list(void* list, std::size_t size, number_before before, const void* context, mover move,
                                        std::size_t element) {
  if (in_order(size, before, context)) return;
  base::pod_vector<std::uint32_t> order(size);
  for (std::uint32_t i = 0; i != size; ++i) order[i] = i;
  sort_numbers(order, before, context);
  if (move != nullptr) return rearrange(list, order, move, element);
  base::pod_vector<std::uint32_t> places(size);
  for (std::uint32_t i = 0; i != size; ++i) places[order[i]] = i;
  move_to_places(list, places, element);
}

template <class T, class Before>
struct list_order {
  static bool before(const void* context, std::uint32_t a, std::uint32_t b) {
    const list_order& order = *static_cast<const list_order*>(context);
    return (*order.is_before)(order.list[a], order.list[b]);
  }
  const T* list;
  const Before* is_before;
};

}  // namespace detail

/// Stable sort by `before` for lists where compile time matters more than run time. O(n log n) comparisons through a
/// pointer; fewer than 2^32 elements. Plain bytes take at most one swap and 8 bytes of memory per element, others two
/// moves, which must not throw, and a second list. Throws std::bad_alloc. If it or `before` throws, the list is unchanged.
template <class T, class Before>
[[gnu::always_inline]] inline void small_stable_sort(T* list, std::size_t size, const Before& before) {
  const detail::list_order<T, Before> order{list, &before};
  detail::mover move = nullptr;
  if constexpr (!std::is_trivially_copyable<T>::value) move = detail::relocation<T>();
  detail::sort_list(list, size, &detail::list_order<T, Before>::before, &order, move, sizeof(T));
}
template <class List, class Before>
[[gnu::always_inline]] inline void small_stable_sort(List& list, const Before& before) {
  small_stable_sort(list.data(), list.size(), before);
}

/// Stable sort by operator<.
template <class List>
void small_stable_sort(List& list) {
  using element = typename List::value_type;
  small_stable_sort(list, [](const element& a, const element& b) { return a < b; });
}

namespace detail {
/// Sorts `numbers.size()` elements of `element` bytes by their `numbers`, which it overwrites.
[[gnu::noinline]] inline void sort_bytes_by_number(void* all, std::size_t element, pod_vector<std::uint32_t>& numbers,
                                                   std::size_t most, pod_vector<std::uint32_t>& room) {
  if (std::is_sorted(numbers.begin(), numbers.end())) return;
  room.assign(most + 1, 0);
  for (const std::uint32_t n : numbers) ++room[n + 1];
  for (std::size_t i = 1; i != room.size(); ++i) room[i] += room[i - 1];
  for (std::uint32_t& n : numbers) n = room[n]++;  // its place
  move_to_places(all, numbers, element);
}
}  // namespace detail

/// Stable sort by number(element), which is less than `most`, in place and by counting: O(size + most), and 4 bytes per element.
/// `room`: a buffer of 4 bytes per number. Elements are moved as bytes.
template <class T, class Number>
void sort_by_number(T* all, std::size_t size, std::size_t most, const Number& number, pod_vector<std::uint32_t>& room) {
  static_assert(std::is_trivially_copyable<T>::value, "elements are moved as bytes");
  pod_vector<std::uint32_t> numbers;
  numbers.reserve(size);
  for (const T* at = all; at != all + size; ++at) numbers.push_back(static_cast<std::uint32_t>(number(*at)));
  detail::sort_bytes_by_number(all, sizeof(T), numbers, most, room);
}
/// The same by the member `record`; records that do not exist come last. Lists of pod_vector.
template <class List>
void sort_by_record(List& list, std::size_t records, pod_vector<std::uint32_t>& room) {
  using element = typename List::value_type;
  const auto number = [records](const element& e) { return std::min<std::size_t>(e.record, records); };
  sort_by_number(list.data(), list.size(), records + 1, number, room);
}

namespace detail {
using number_joins = bool (*)(const void* context, std::size_t first, std::size_t other);

// The part of join_neighbours that does not depend on the type of elements that are plain bytes.
[[gnu::noinline]] inline std::size_t join_bytes(void* list, std::size_t size, number_joins joins, const void* context,
                                                std::size_t element) {
  unsigned char* const bytes = static_cast<unsigned char*>(list);
  std::size_t kept = 0;
  for (std::size_t i = 0; i != size; ++i) {
    if (kept != 0 && joins(context, kept - 1, i)) continue;
    if (kept != i) std::memcpy(bytes + kept * element, bytes + i * element, element);
    ++kept;
  }
  return kept;
}

template <class T, class Same, class Add>
struct list_join {
  static bool joins(const void* context, std::size_t first, std::size_t other) {
    const list_join& join = *static_cast<const list_join*>(context);
    if (!(*join.same)(join.list[first], join.list[other])) return false;
    (*join.add)(join.list[first], join.list[other]);
    return true;
  }
  T* list;
  const Same* same;
  const Add* add;
};
}  // namespace detail

/// Brings together neighbours for which `same(first, other)` holds: `add(first, other)`, and the other goes. O(n).
template <class List, class Same, class Add>
void join_neighbours(List& list, const Same& same, const Add& add) {
  using element = typename List::value_type;
  if constexpr (std::is_trivially_copyable<element>::value) {
    const detail::list_join<element, Same, Add> join{list.data(), &same, &add};
    list.resize(detail::join_bytes(list.data(), list.size(), &join.joins, &join, sizeof(element)));
    return;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i != list.size(); ++i) {
    if (kept != 0 && same(list[kept - 1], list[i])) {
      add(list[kept - 1], list[i]);
      continue;
    }
    if (kept != i) list[kept] = std::move(list[i]);
    ++kept;
  }
  list.resize(kept);
}

/// Sorts by `before` and joins the elements that are equal in this order.
template <class List, class Before, class Add>
void sort_and_join(List& list, const Before& before, const Add& add) {
  using element = typename List::value_type;
  small_stable_sort(list, before);
  join_neighbours(
      list, [&before](const element& a, const element& b) { return !before(a, b); }, add);
}

namespace detail {
// Elements of which each byte counts.
struct equal_bytes {
  static bool joins(const void* context, std::size_t first, std::size_t other) {
    const equal_bytes& e = *static_cast<const equal_bytes*>(context);
    return std::memcmp(e.list + first * e.element, e.list + other * e.element, e.element) == 0;
  }
  const unsigned char* list;
  std::size_t element;
};
}  // namespace detail

/// Sorts by operator< and removes repetitions.
template <class List>
void sort_and_unique(List& list) {
  using element = typename List::value_type;
  static_assert(std::has_unique_object_representations<element>::value, "elements are compared as bytes");
  small_stable_sort(list);
  const detail::equal_bytes same{reinterpret_cast<const unsigned char*>(list.data()), sizeof(element)};
  list.resize(detail::join_bytes(list.data(), list.size(), &same.joins, &same, sizeof(element)));
}

/// Stable sort for mostly short lists where run time matters: up to 32 elements are sorted by insertion.
template <class T, class Before>
void sort_short(T* list, std::size_t size, const Before& before) {
  if (size > 32) return small_stable_sort(list, size, before);
  for (std::size_t i = 1; i < size; ++i) {
    if (!before(list[i], list[i - 1])) continue;
    const T moving = list[i];
    std::size_t at = i;
    for (; at != 0 && before(moving, list[at - 1]); --at) list[at] = list[at - 1];
    list[at] = moving;
  }
}
template <class List, class Before>
void sort_short(List& list, const Before& before) {
  sort_short(list.data(), list.size(), before);
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
