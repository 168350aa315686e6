#ifndef WHYWAIT_COVERAGE_NAMES_CODE_FILTER_HPP
#define WHYWAIT_COVERAGE_NAMES_CODE_FILTER_HPP

#include <whywait/base/cpp_name.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/coverage/names/own_headers.hpp>

#include <fnmatch.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace coverage {

/// Selects code by shell patterns (fnmatch(3)), separated by commas. They are matched against the short name of the
/// function, the path of the file and its base name. `a*` selects, `-a*` excludes; if there are selecting patterns, one
/// of them must match. Without patterns, system headers (/usr/) are excluded. Code of whywait itself is always
/// excluded.
class code_filter {
 public:
  explicit code_filter(std::string_view patterns = {}, own_headers own = own_headers()) : own_(std::move(own)) {
    while (!patterns.empty()) {
      const std::string_view one = patterns.substr(0, patterns.find(','));
      patterns.remove_prefix(one.size() < patterns.size() ? one.size() + 1 : one.size());
      if (one.empty() || one == "-") continue;
      if (one[0] == '-') out_.push_back(std::string(one.substr(1)));
      else kept_.push_back(std::string(one));
    }
  }

  /// `function` is the name as written in the source, or a part of it.
  bool keeps(const std::string& function, const std::string& file) const {
    const std::string name = base::short_name(function);
    if (name.compare(0, 9, "whywait::") == 0 || name.compare(0, 4, "MPI_") == 0) return false;
    if (own_.contain(file)) return false;
    if (matches(out_, name, file)) return false;
    if (!kept_.empty()) return matches(kept_, name, file);
    return file.compare(0, 5, "/usr/") != 0;
  }

 private:
  static bool matches(const base::vector<std::string>& patterns, const std::string& name, const std::string& file) {
    const std::string base(base::last_of(file));
    for (const std::string& p : patterns)
      for (const std::string* text : {&name, &file, &base})
        if (::fnmatch(p.c_str(), text->c_str(), 0) == 0) return true;
    return false;
  }

  own_headers own_;
  base::vector<std::string> kept_, out_;
};

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif
