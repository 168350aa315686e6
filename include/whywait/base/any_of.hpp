#ifndef WHYWAIT_BASE_ANY_OF_HPP
#define WHYWAIT_BASE_ANY_OF_HPP

namespace whywait {
inline namespace v0 {
namespace base {

/// Whether `holds(element)` is true of an element of a range. Like std::any_of, which compiles to five functions for each condition.
template <class Range, class Condition>
bool any_of(const Range& all, const Condition& holds) {
  for (const auto& element : all)
    if (holds(element)) return true;
  return false;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
