#ifndef WHYWAIT_REPORT_CODE_PLACE_HPP
#define WHYWAIT_REPORT_CODE_PLACE_HPP

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A code address in a form that is the same on every rank, although each rank loads its libraries at other addresses.
struct module_offset {
  const char* module = "";  ///< base name of the executable or library; valid while it stays loaded
  uint64_t offset = 0;      ///< address in the file, as objdump prints it and `addr2line -e module` expects it
};

/// Module and offset of an address; for code without a file (just-in-time code) an empty name and the address itself.
/// Needs no debug information and does not allocate. Costs about 0.3 us and takes the loader's lock, so signal handlers
/// must not call it. Two libraries with the same base name in different folders are not distinguished.
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

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
