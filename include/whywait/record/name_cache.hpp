#ifndef WHYWAIT_RECORD_NAME_CACHE_HPP
#define WHYWAIT_RECORD_NAME_CACHE_HPP

#include <whywait/core/site.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// Numbers of places whose names are known only at run time. A text mostly comes from the same address again, so the
/// address selects the entry. The texts are compared as well, because an address may be reused for
/// another text. About 5 ns where site_table::intern costs 30 or more. One thread; zeroed memory is an empty cache.
class name_cache {
 public:
  uint32_t find(core::site_table& sites, core::site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
    if (name == nullptr) name = "";
    if (file == nullptr) file = "";
    const uint64_t mixed =
        (reinterpret_cast<uintptr_t>(name) ^ (uint64_t(line) << 48) ^ (uint64_t(kind) << 40)) * 0x9e3779b97f4a7c15u;
    uint32_t& known = numbers_[mixed >> 56];
    const core::site_info& site = sites[known];  // 0: "no site", which is of no kind
    if (__builtin_expect(site.line == line && site.kind == kind && strcmp(site.name, name) == 0 && strcmp(site.file, file) == 0,
                         1))
      return known;
    return known = sites.intern(kind, name, file, line);
  }

 private:
  uint32_t numbers_[256];
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
