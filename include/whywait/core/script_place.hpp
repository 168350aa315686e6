#ifndef WHYWAIT_CORE_SCRIPT_PLACE_HPP
#define WHYWAIT_CORE_SCRIPT_PLACE_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

// A line of a script has no code address, so call sites in scripts have an address that no code can have: it is above the
// addresses of programs, and contains the number of a place in the site table of the process (core/site.hpp).

inline constexpr uint64_t script_addresses = 0x00ff707900000000u;

inline const void* address_of_script(uint32_t site) noexcept {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(script_addresses | site));
}
/// Number of the place in the site table; 0 for an address of code.
inline uint32_t script_site_of(const void* address) noexcept {
  const uint64_t at = reinterpret_cast<uintptr_t>(address);
  return (at & 0xffffffff00000000u) == script_addresses ? static_cast<uint32_t>(at) : 0;
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
