#ifndef WHYWAIT_REPORT_MODULE_LIST_HPP
#define WHYWAIT_REPORT_MODULE_LIST_HPP

#include <whywait/base/vector.hpp>
#include <whywait/report/code_place.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// An executable or library as a process loaded it.
struct loaded_module {
  std::string path;
  std::uint64_t base = 0;            ///< load address minus address in the file
  std::uint64_t begin = 0, end = 0;  ///< address range of the code
  bool file_is_same = false;  ///< the file at `path` is unchanged since it was loaded, so its symbols are valid
};

/// The modules of another process; module_offset_of reads those of this process from the loader.
class module_list {
 public:
  void add(loaded_module m) { modules_.push_back(std::move(m)); }
  const base::vector<loaded_module>& all() const noexcept { return modules_; }

  /// Module and offset of an address of that process. O(modules). Valid until the list changes.
  module_offset offset_of(const void* address) const noexcept {
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(address);
    module_offset out;
    out.offset = at;
    for (const loaded_module& m : modules_) {
      if (at < m.begin || at >= m.end) continue;
      const std::size_t slash = m.path.rfind('/');
      out.module = m.path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
      out.offset = at - m.base;
      break;
    }
    return out;
  }

 private:
  base::vector<loaded_module> modules_;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
