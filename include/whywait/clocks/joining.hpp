#ifndef WHYWAIT_CLOCKS_JOINING_HPP
#define WHYWAIT_CLOCKS_JOINING_HPP

#include <whywait/base/packet.hpp>

#include <cstddef>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Joins a list to another; both are ascending and without duplicates. Common elements are added in place, which is all
/// of them where every rank runs the same code. O(both).
template <class List, class Before, class Add>
void join_ascending(List& into, List&& from, Before before, Add add) {
  using element = typename List::value_type;
  if (into.empty()) into.swap(from);
  List fresh;
  std::size_t at = 0;
  for (const element& e : from) {
    while (at != into.size() && before(into[at], e)) ++at;
    if (at == into.size() || before(e, into[at])) {
      fresh.push_back(e);
    } else {
      add(into[at], e);
    }
  }
  if (fresh.empty()) return;
  List all;
  all.reserve(into.size() + fresh.size());
  std::size_t a = 0;
  for (const element& f : fresh) {
    for (; a != into.size() && before(into[a], f); ++a) all.push_back(into[a]);
    all.push_back(f);
  }
  for (; a != into.size(); ++a) all.push_back(into[a]);
  into = std::move(all);
}

/// Joins a list that put_all wrote.
template <class List, class Before, class Add>
void join_ascending(List& into, base::packet_reader& in, Before before, Add add) {
  List from;
  get_all(in, from);
  join_ascending(into, std::move(from), before, add);
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
