#ifndef WHYWAIT_POSTMORTEM_REPORT_LEFT_BEHIND_HPP
#define WHYWAIT_POSTMORTEM_REPORT_LEFT_BEHIND_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/safe_write.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/postmortem/dead_job.hpp>
#include <whywait/report/files.hpp>
#include <whywait/report/text.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <dirent.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

/// How report_left_behind presents its findings.
struct left_behind_options {
  std::FILE* text = stderr;  ///< output of the text report; null for none
  bool full = false;         ///< the full report instead of the short one
  std::string output;        ///< prefix of the files prefix.json, .txt and .html, prefix.2.json, ...; empty for none
  bool remove = true;        ///< whether reported files are removed
};

namespace postmortem {
namespace detail {

inline std::string time_text(std::uint64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / 1000000000u);
  std::tm parts{};
  char text[32] = "";
  if (::localtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// Prints and writes the report of one job.
inline void report_job(dead_job& job, const left_behind_options& options, std::size_t number) {
  const core::kept_header first = job.processes().front()->header();
  const reports::result result = job.report();
  if (options.text != nullptr) {
    const std::string program = first.program;
    const std::size_t slash = program.rfind('/');
    std::string text = "whywait: " + base::printable(program.substr(slash == std::string::npos ? 0 : slash + 1)) +
                       ", started " + time_text(first.started_ns) + " on " + base::printable(first.host) + ", did not finish";
    if (first.job != 0)
      text += " (" + std::to_string(job.processes().size()) + " of " + std::to_string(result.run.ranks) +
              " ranks left their records)";
    text += std::string(first.job != 0 ? ". Last activity of each rank" : ". Its last activity") + ":\n" +
            reports::text_of(result.last_words);
    if (!job.explained())
      for (const std::string& w : result.run.warnings) text += "  " + w + "\n";
    core::write_text(text.data(), text.size(), options.text);
    reports::text_options length;
    length.full = options.full;
    if (job.explained()) reports::print_text(result, options.text, length);
  }
  if (options.output.empty()) return;
  const std::string problem =
      reports::write_files(result, options.output + (number == 0 ? "" : "." + std::to_string(number + 1)), "", first.program);
  if (!problem.empty()) core::warn(problem.c_str());
}

// Removes a file with an incomplete name if the process that was creating it has died.
inline void remove_incomplete(const std::string& path, const std::string& name) {
  const long pid = std::strtol(name.c_str() + std::string("whywait.pid").size(), nullptr, 10);
  if (pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) ::unlink(path.c_str());
}

inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace detail
}  // namespace postmortem

/// Reports the kept files of killed programs in `directory` (their WHYWAIT_CRASH). The report contains what each rank
/// did last and, if the files of all ranks exist, why they had waited. Jobs with a running process are skipped, after half
/// a second if others of its processes have ended. Each
/// unreadable file gives one warning. Needs no MPI. Returns the number of reported jobs. If two processes scan the
/// directory at once, only one of them finds the files. Throws std::bad_alloc.
inline int report_left_behind(const std::string& directory, const left_behind_options& options = {}) {
  DIR* const list = ::opendir(directory.c_str());
  if (list == nullptr) return 0;
  if (::flock(::dirfd(list), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return ::closedir(list), 0;
  base::vector<std::string> names;
  while (const dirent* entry = ::readdir(list))
    if (std::string(entry->d_name).compare(0, 8, "whywait.") == 0) names.push_back(entry->d_name);
  base::small_stable_sort(names, [](const std::string& a, const std::string& b) { return a < b; });

  using state = postmortem::dead_memory::state;
  base::vector<postmortem::dead_job> jobs;
  const auto find_job = [&](std::uint64_t number) {
    std::size_t same = 0;
    while (same < jobs.size() && (number == 0 || jobs[same].processes().front()->header().job != number)) ++same;
    return same;
  };
  const auto open = [&](const std::string& name) {
    const std::string path = directory + "/" + name;
    auto file = std::make_unique<postmortem::dead_memory>(path);
    const state found = file->readable();
    if (found == state::damaged) {
      core::warn(path.c_str(), " ", file->problem(), options.remove ? "; it is removed" : "; it is skipped");
      if (options.remove) ::unlink(path.c_str());
    }
    if (found != state::readable) return found;
    auto process = std::make_unique<postmortem::dead_process>(std::move(file));
    if (!process->problem().empty()) {
      core::warn(path.c_str(), " ", process->problem().c_str());
      if (options.remove && !process->of_another_version()) ::unlink(path.c_str());
      return found;
    }
    const std::size_t same = find_job(process->header().job);  // 0 means a process without a job
    if (same == jobs.size()) jobs.emplace_back();
    jobs[same].add(std::move(process));
    return found;
  };
  base::vector<std::string> alive;
  for (const std::string& name : names) {
    if (postmortem::detail::ends_with(name, ".new")) postmortem::detail::remove_incomplete(directory + "/" + name, name);
    if (!postmortem::detail::ends_with(name, ".kept")) continue;
    if (open(name) == state::alive && name.compare(0, 11, "whywait.job") == 0) alive.push_back(name);
  }
  // A launcher may return before the last of its processes has ended: wait briefly where others of the job have.
  base::pod_vector<std::uint64_t> running;
  int waits = 50;
  for (const std::string& name : alive) {
    const std::uint64_t number = std::strtoull(name.c_str() + 11, nullptr, 16);
    if (find_job(number) == jobs.size()) continue;
    state now = open(name);
    for (; now == state::alive && waits != 0; --waits, now = open(name)) ::usleep(10000);
    if (now == state::alive) running.push_back(number);
  }

  std::size_t reported = 0;
  for (postmortem::dead_job& job : jobs) {
    const std::uint64_t number = job.processes().front()->header().job;
    if (number != 0 && std::find(running.begin(), running.end(), number) != running.end()) continue;
    try {
      postmortem::detail::report_job(job, options, reported);
    } catch (const std::exception& problem) {
      core::warn("cannot report the files of a program in ", directory.c_str(), ": ", problem.what());
    }
    ++reported;
    for (const auto& p : job.processes())
      if (options.remove) ::unlink(p->file().path().c_str());
  }
  ::closedir(list);
  return static_cast<int>(reported);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
