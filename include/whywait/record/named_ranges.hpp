#ifndef WHYWAIT_RECORD_NAMED_RANGES_HPP
#define WHYWAIT_RECORD_NAMED_RANGES_HPP

#include <whywait/record/disabled_marks.hpp>
#include <whywait/record/region.hpp>

#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace record {

/// Regions of interfaces that do not repeat the name at the end (Kokkos Tools, NVTX): a stack of names per thread. Allocates for
/// names of more than 15 characters and for deeper stacks. Calling thread only.
class named_ranges {
 public:
  /// `file` stands for the place in the report, for example "kokkos". Returns the number of ranges around the new one.
  static int begin(const char* name, const char* file) {
    stack().push_back({name != nullptr && *name != '\0' ? name : "(unnamed)", file});
    whywait::begin(stack().back().name, file, 0);
    return static_cast<int>(stack().size()) - 1;
  }
  /// Ends the innermost range; the number of ranges that are still open, or -1 if none was.
  static int end() {
    std::vector<range>& open = stack();
    if (open.empty()) return -1;
    whywait::end(open.back().name, open.back().file, 0);
    open.pop_back();
    return static_cast<int>(open.size());
  }

 private:
  struct range {
    std::string name;
    const char* file;
  };
  static std::vector<range>& stack() {
    thread_local std::vector<range> open;
    return open;
  }
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
