#ifndef WHYWAIT_BASE_SORTING_HPP
#define WHYWAIT_BASE_SORTING_HPP

#include <whywait/base/pod_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

using number_before = bool (*)(const void* context, std::uint32_t a, std::uint32_t b);
using number_swap = void (*)(void* list, std::uint32_t a, std::uint32_t b);

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

// The part of a sort that does not depend on the element type.
[[gnu::noinline]] inline void sort_list(void* list, std::size_t size, number_before before, const void* context,
                                        number_swap swap) {
  if (in_order(size, before, context)) return;
  base::pod_vector<std::uint32_t> order(size);
  for (std::uint32_t i = 0; i != size; ++i) order[i] = i;
  sort_numbers(order, before, context);
  // Each cycle of the permutation is rotated once; the first element of a cycle is carried along to its end.
  for (std::uint32_t i = 0; i != size; ++i) {
    std::uint32_t to = i;
    for (std::uint32_t from = order[to]; from != i; from = order[to]) {
      swap(list, to, from);
      order[to] = to;
      to = from;
    }
    order[to] = to;
  }
}

template <class T>
void swap_numbers(void* list, std::uint32_t a, std::uint32_t b) {
  std::swap(static_cast<T*>(list)[a], static_cast<T*>(list)[b]);
}

}  // namespace detail

/// Stable sort by `before` for lists where compile time matters more than run time. O(n log n) comparisons through a
/// pointer, at most one swap and 8 bytes of memory per element; fewer than 2^32 elements. Throws std::bad_alloc. If it
/// or `before` throws, the list is unchanged.
template <class T, class Before>
void small_stable_sort(T* list, std::size_t size, Before before) {
  struct both {
    const T* list;
    const Before* before;
  };
  const both context{list, &before};
  const detail::number_before by_number = [](const void* c, std::uint32_t a, std::uint32_t b) {
    const both& all = *static_cast<const both*>(c);
    return static_cast<bool>((*all.before)(all.list[a], all.list[b]));
  };
  detail::sort_list(list, size, by_number, &context, &detail::swap_numbers<T>);
}
template <class List, class Before>
void small_stable_sort(List& list, Before before) {
  small_stable_sort(list.data(), list.size(), before);
}

/// Stable sort by operator<.
template <class List>
void small_stable_sort(List& list) {
  using element = typename List::value_type;
  small_stable_sort(list, [](const element& a, const element& b) { return a < b; });
}

/// Stable sort for mostly short lists where run time matters: up to 32 elements are sorted by insertion.
template <class List, class Before>
void sort_short(List& list, Before before) {
  if (list.size() > 32) return small_stable_sort(list, before);
  for (std::size_t i = 1; i < list.size(); ++i) {
    const typename List::value_type moving = list[i];
    std::size_t at = i;
    for (; at != 0 && before(moving, list[at - 1]); --at) list[at] = list[at - 1];
    list[at] = moving;
  }
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
