#ifndef WHYWAIT_REPORT_CODE_PLACE_HPP
#define WHYWAIT_REPORT_CODE_PLACE_HPP

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace report {

/// A code address as something that is the same on every rank although each rank loads its libraries elsewhere.
struct module_offset {
  const char* module = "";  ///< base name of the executable or library; lives as long as it stays loaded
  uint64_t offset = 0;      ///< in the module's own numbering: what objdump shows and `addr2line -e module` takes
};

/// Module and offset of an address; empty and the bare address for code that belongs to no file (just-in-time code).
/// Needs no debug information, allocates nothing; about 0.3 us (takes the loader's lock: not from a signal handler).
/// Two libraries with the same base name in different folders are not told apart.
inline module_offset module_offset_of(const void* address) noexcept {
  Dl_info info{};
  struct link_map* map = nullptr;
  module_offset out;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) {
    out.offset = reinterpret_cast<uintptr_t>(address);
    return out;
  }
  const char* const path = info.dli_fname != nullptr ? info.dli_fname : "";
  const char* const slash = strrchr(path, '/');
  out.module = slash != nullptr ? slash + 1 : path;
  out.offset = reinterpret_cast<uintptr_t>(address) - map->l_addr;  // l_addr is 0 for executables at a fixed address
  return out;
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
