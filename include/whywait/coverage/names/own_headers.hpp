#ifndef WHYWAIT_COVERAGE_NAMES_OWN_HEADERS_HPP
#define WHYWAIT_COVERAGE_NAMES_OWN_HEADERS_HPP

#include <whywait/base/vector.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace coverage {

/// Recognises the headers of whywait by the folder that they were included from. The name of a folder proves nothing:
/// users keep their own code in folders called whywait.
///
/// A file is a header of whywait if its path begins with the folder of this header, as the compiler spells it
/// (in single_include: if it is that file); or if it lies, on this machine, in a folder `whywait` that holds this header.
/// The second rule finds relative -I, symbolic links and other copies. Where neither applies (sources that are not on
/// this machine, compiled with a relative -I), functions are still recognised by their namespace.
class own_headers {
 public:
  /// `header`: the path of this header, or of the single header that contains it.
  explicit own_headers(std::string_view header = __FILE__) : root_(normal(header)) {
    const std::size_t folder = root_.size() - std::min(root_.size(), own_name.size());
    whole_folder_ = root_.compare(folder, std::string::npos, own_name) == 0 && (folder == 0 || root_[folder - 1] == '/');
    if (whole_folder_) root_.resize(folder);
  }

  bool contain(std::string_view file) const {
    const std::string path = normal(file);
    if (!root_.empty() && (whole_folder_ ? path.compare(0, root_.size(), root_) == 0 : path == root_)) return true;
    if (path.empty() || path[0] != '/') return false;
    constexpr std::string_view folder = "/whywait/";
    for (std::size_t at = path.find(folder); at != std::string::npos; at = path.find(folder, at + 1))
      if (holds_this_header(path.substr(0, at + folder.size()))) return true;
    return false;
  }

  /// Without "//", "./" and "name/..".
  static std::string normal(std::string_view path) {
    std::string result(path.substr(0, !path.empty() && path[0] == '/' ? 1 : 0));
    const std::size_t least = result.size();
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('/'));
      const bool folder = name.size() != path.size();
      path.remove_prefix(name.size() + (folder ? 1 : 0));
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        const std::size_t before = result.size() > least ? result.rfind('/', result.size() - 2) : std::string::npos;
        const std::size_t last = before == std::string::npos ? least : std::max(before + 1, least);
        if (result.size() > least && result.compare(last, std::string::npos, "../") != 0) {
          result.resize(last);
          continue;
        }
        if (least != 0) continue;  // the root is its own parent
      }
      result += name;
      if (folder) result += '/';
    }
    return result;
  }

 private:
  static constexpr std::string_view own_name = "coverage/names/own_headers.hpp";

  bool holds_this_header(std::string folder) const {
    for (const auto& known : known_)
      if (known.first == folder) return known.second;
    const bool holds = ::access((folder + std::string(own_name)).c_str(), F_OK) == 0;
    known_.push_back({std::move(folder), holds});
    return holds;
  }

  std::string root_;
  bool whole_folder_ = false;
  mutable base::vector<std::pair<std::string, bool>> known_;  ///< folders that were looked at
};

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif
