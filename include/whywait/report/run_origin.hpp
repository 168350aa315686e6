#ifndef WHYWAIT_REPORT_RUN_ORIGIN_HPP
#define WHYWAIT_REPORT_RUN_ORIGIN_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/version.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Which program made a run, where and when. Of the process that prints the report. Unknown members are empty or 0.
struct run_origin {
  std::string program;                  ///< as it was started, "./app"
  base::vector<std::string> arguments;  ///< the others of its command line
  std::string host;
  std::string date;     ///< begin of the run, ISO 8601 with the offset of the local time: "2026-11-24T15:04:05+01:00"
  std::string version;  ///< of whywait
  std::string compiler;  ///< of the analysis: "g++ 12.2.0"
  std::int64_t nodes = 0;  ///< machines
};

/// An instant in local time as ISO 8601, with the offset from UTC. Empty if it cannot be converted.
inline std::string iso_date(std::time_t instant) {
  std::tm local{};
  if (::localtime_r(&instant, &local) == nullptr) return {};
  char text[64], offset[16];
  const long minutes = local.tm_gmtoff / 60, size = minutes < 0 ? -minutes : minutes;
  std::snprintf(offset, sizeof offset, "%c%02ld:%02ld", minutes < 0 ? '-' : '+', size / 60 % 100, size % 60);
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
  return std::string(text, length) + offset;
}

/// The version of these headers, "0.1.0".
inline std::string own_version() {
  const core::version_number version = core::version();
  return std::to_string(version.major_part) + "." + std::to_string(version.minor_part) + "." +
         std::to_string(version.patch_part);
}

namespace detail {

/// The command line of this process: the kernel separates the words by null characters.
inline base::vector<std::string> command_line() {
  constexpr std::size_t most = std::size_t(64) << 10;  // longer command lines are cut
  base::vector<std::string> words;
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return words;
  std::string all;
  char part[4096];
  for (ssize_t got = 0; all.size() < most && (got = ::read(file, part, sizeof part)) > 0;)
    all.append(part, static_cast<std::size_t>(got));
  ::close(file);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace detail

/// The origin of a run of this process that began `seconds_ago`. Two small files are read.
inline run_origin origin_of_process(double seconds_ago) {
  run_origin out;
  base::vector<std::string> words = detail::command_line();
  for (std::size_t i = 1; i < words.size(); ++i) out.arguments.push_back(words[i]);
  if (!words.empty()) out.program = words[0];
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0) out.host = host;
  out.date = iso_date(std::time(nullptr) - static_cast<std::time_t>(seconds_ago > 0 ? seconds_ago : 0));
  out.version = own_version();
#if defined(__clang__)
  out.compiler = "clang " __clang_version__;
#else
  out.compiler = "g++ " __VERSION__;
#endif
  return out;
}

/// The name of a program in a headline: without its folder, with the script that an interpreter runs.
inline std::string program_name(const run_origin& o) {
  const auto base_name = [](const std::string& path) { return std::string(base::last_of(path)); };
  std::string name = base_name(o.program);
  if (name.compare(0, 6, "python") != 0) return name;
  for (const std::string& word : o.arguments)
    if (!word.empty() && word[0] != '-') return name + " " + base_name(word);
  return name;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
