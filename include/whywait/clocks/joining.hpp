#ifndef WHYWAIT_CLOCKS_JOINING_HPP
#define WHYWAIT_CLOCKS_JOINING_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Joins a list to another and adds common elements; both are ascending and without duplicates. O(n log n).
template <class List, class Before, class Add>
void join_ascending(List& into, const List& from, Before before, Add add) {
  into.append(from.data(), from.size());
  base::sort_and_join(into, before, add);
}

/// Joins a list that put_all wrote.
template <class List, class Before, class Add>
void join_ascending(List& into, base::packet_reader& in, Before before, Add add) {
  List from;
  get_all(in, from);
  join_ascending(into, from, before, add);
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
