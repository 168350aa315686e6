#ifndef WHYWAIT_TESTS_TEMPORARY_FOLDER_HPP
#define WHYWAIT_TESTS_TEMPORARY_FOLDER_HPP

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

/// A folder below $TMPDIR or /tmp that the destructor removes with its content. A test that is killed leaves its folder;
/// later tests remove folders older than an hour.
class temporary_folder {
 public:
  temporary_folder() {
    namespace fs = std::filesystem;
    static const bool swept = (remove_abandoned(fs::temp_directory_path()), true);
    static_cast<void>(swept);
    path = (fs::temp_directory_path() / (prefix() + "XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) {
      std::perror(path.c_str());
      std::abort();
    }
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);  // tests may have removed them
    std::filesystem::remove_all(path, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  /// Names of the entries, without hidden ones.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (name[0] != '.') found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string path;

 private:
  static std::string prefix() { return "whywait_test_"; }

  static void remove_abandoned(const std::filesystem::path& where) {
    std::error_code ignored;
    const auto limit = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (std::filesystem::directory_iterator at(where, ignored), end; !ignored && at != end; at.increment(ignored)) {
      std::error_code unknown;
      const auto written = at->last_write_time(unknown);
      if (!unknown && written < limit && at->path().filename().string().rfind(prefix(), 0) == 0)
        std::filesystem::remove_all(at->path(), unknown);
    }
  }
};

#endif
