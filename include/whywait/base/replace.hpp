#ifndef WHYWAIT_BASE_REPLACE_HPP
#define WHYWAIT_BASE_REPLACE_HPP

#include <new>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace base {

/// The same as `old = static_cast<T&&>(fresh)`, by destruction and construction. For structs with many members, whose assignment is
/// kilobytes of code beside those of both.
template <class T>
void replace(T& old, T&& fresh) noexcept {
  static_assert(std::is_nothrow_move_constructible<T>::value, "nothing is left if it throws");
  old.~T();
  ::new (static_cast<void*>(&old)) T(static_cast<T&&>(fresh));
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
