#ifndef WHYWAIT_COMPARISON_BASELINE_HPP
#define WHYWAIT_COMPARISON_BASELINE_HPP

#include <whywait/base/utf8.hpp>
#include <whywait/comparison/compare_words.hpp>
#include <whywait/comparison/compared_run.hpp>
#include <whywait/report/output_file.hpp>

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// The files of a folder whose names end in .json, by name. Throws `unreadable`.
inline std::vector<std::string> reports_in(const std::string& folder) {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) throw unreadable("cannot read " + folder + ": " + std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* each = ::readdir(open)) {
    const std::string name = each->d_name;
    if (name.size() > 5 && name.compare(name.size() - 5, 5, ".json") == 0 && name[0] != '.')
      names.push_back(folder + "/" + name);
  }
  ::closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

inline bool is_folder(const std::string& path) noexcept {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

/// Reports of earlier runs, in a folder: 000001.json, 000002.json, ... in the order of the runs. Runs before the last accepted
/// change are in its folder older/ and are no longer compared with.
class baseline {
 public:
  /// A folder that does not exist is empty. Throws `unreadable`.
  explicit baseline(std::string folder) : folder_(std::move(folder)) {
    if (is_folder(older())) older_ = reports_in(older());
    if (is_folder(folder_)) current_ = reports_in(folder_);
    else if (::access(folder_.c_str(), F_OK) == 0) throw unreadable(folder_ + " is not a folder");
  }

  /// The runs to compare with: the first `most` since the last accepted change. The reference does not move with each run, so
  /// that many small changes in one direction are seen.
  std::vector<std::string> reference(std::size_t most) const {
    return {current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(std::min(most, current_.size()))};
  }
  /// All runs, oldest first.
  std::vector<std::string> all() const {
    std::vector<std::string> both = older_;
    both.insert(both.end(), current_.begin(), current_.end());
    return both;
  }
  bool empty() const noexcept { return current_.empty(); }

  /// Moves all runs to older/, because the program changed. Throws `unreadable`.
  void begin_again() {
    if (current_.empty()) return;
    make(older());
    for (const std::string& path : current_) {
      const std::string moved = older() + "/" + std::string(base::last_of(path));
      if (std::rename(path.c_str(), moved.c_str()) != 0)
        throw unreadable("cannot move " + path + " to " + moved + ": " + std::strerror(errno));
      older_.push_back(moved);
    }
    current_.clear();
  }

  /// Copies a report into the folder. Throws `unreadable`.
  void add(const std::string& path) {
    make(folder_);
    long last = 0;
    for (const std::string& each : all())
      last = std::max(last, std::strtol(std::string(base::last_of(each)).c_str(), nullptr, 10));
    char name[32];
    std::snprintf(name, sizeof name, "/%06ld.json", last + 1);
    std::FILE* const from = std::fopen(path.c_str(), "rb");
    if (from == nullptr) throw unreadable("cannot read " + path + ": " + std::strerror(errno));
    reports::output_file to(folder_ + name);
    char buffer[65536];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, from)) != 0;) to.write(buffer, n);
    std::fclose(from);
    const std::string problem = to.commit();
    if (!problem.empty()) throw unreadable(problem);
    current_.push_back(folder_ + name);
  }

 private:
  std::string older() const { return folder_ + "/older"; }
  static void make(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0777) != 0 && !is_folder(folder))
      throw unreadable("cannot create the folder " + folder + ": " + std::strerror(errno));
  }

  std::string folder_;
  std::vector<std::string> older_, current_;
};

/// One line of a history.
struct history_row {
  std::string name, date, seconds, waiting, efficiency;
};

/// The newest `most` runs of a folder, oldest first. Files that cannot be read are left out.
inline std::vector<history_row> history_of(const std::vector<std::string>& files, std::size_t most) {
  std::vector<history_row> rows;
  for (std::size_t i = files.size() > most ? files.size() - most : 0; i != files.size(); ++i) {
    compared_run r;
    try {
      r = read_run(files[i]);
    } catch (const unreadable&) {
      continue;
    }
    if (r.date.empty()) {
      struct stat facts {};
      char text[32] = "";
      tm parts{};
      if (::stat(files[i].c_str(), &facts) == 0 && ::gmtime_r(&facts.st_mtime, &parts) != nullptr)
        ::strftime(text, sizeof text, "%Y-%m-%d", &parts);
      r.date = text;
    }
    rows.push_back({std::string(base::last_of(files[i])), r.date.substr(0, 10), base::duration(r.seconds),
                    base::percent(r.waiting_seconds / r.location_seconds),
                    r.parallel ? base::percent(*r.parallel) : "unknown"});
  }
  return rows;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
