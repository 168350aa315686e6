#ifndef WHYWAIT_REPORT_TERMINAL_HPP
#define WHYWAIT_REPORT_TERMINAL_HPP

#include <whywait/base/utf8.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Where a report is printed: its width, and what it can show.
struct terminal {
  std::size_t columns = 0;  ///< 0: no terminal, so that lines are not wrapped and can be searched
  bool colour = false;
  bool utf8 = true;
};

namespace detail {

inline bool is_set(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Whether the locale of the environment uses UTF-8 (POSIX: the first of these variables that is set and not empty).
inline bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

/// Reads a small file of /proc. Empty if there is none.
inline std::string read_proc(const std::string& path) {
  char text[512];
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = ::read(file, text, sizeof text);
  ::close(file);
  return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
}

/// The process that started this rank and passes its output on, such as mpirun; 0: there is none on this machine.
inline long launcher() {
  long process = ::getppid();
  for (int generation = 0; generation != 3 && process > 1; ++generation) {
    const std::string folder = "/proc/" + std::to_string(process) + "/";
    std::string name = read_proc(folder + "comm");
    name = name.substr(0, name.find('\n'));
    const auto begins = [&name](const char* with) { return name.compare(0, std::strlen(with), with) == 0; };
    if (begins("mpirun") || begins("mpiexec") || begins("orterun") || begins("prterun") || begins("prun")) return process;
    if (!begins("hydra_") && !begins("orted") && !begins("prted")) return 0;
    const std::string stat = read_proc(folder + "stat");  // "pid (name) state parent ..."
    const std::size_t at = stat.rfind(')');
    if (at == std::string::npos || at + 4 >= stat.size()) return 0;
    process = std::strtol(stat.c_str() + at + 4, nullptr, 10);
  }
  return 0;
}

/// The terminal on which what is written to `stream` appears, also through a launcher; -1: none. The caller closes it.
inline int open_terminal(std::FILE* stream) {
  const int own = ::fileno(stream);
  if (own < 0) return -1;
  if (::isatty(own) == 1) return ::dup(own);
  if (own != 2) return -1;
  const long process = launcher();
  if (process == 0) return -1;
  const int file = ::open(("/proc/" + std::to_string(process) + "/fd/2").c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file >= 0 && ::isatty(file) == 1) return file;
  if (file >= 0) ::close(file);
  return -1;
}

}  // namespace detail

/// What `stream` shows, by the environment and the terminal: COLUMNS before the width of the terminal; colour unless NO_COLOR
/// (no-color.org) is set or TERM is dumb; UTF-8 by LC_ALL, LC_CTYPE and LANG.
inline terminal terminal_of(std::FILE* stream) {
  terminal out;
  out.utf8 = detail::is_utf8_locale();
  const int device = detail::open_terminal(stream);
  if (device < 0) return out;
  out.columns = 80;
  winsize size{};
  if (::ioctl(device, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) out.columns = size.ws_col;
  ::close(device);
  if (detail::is_set("COLUMNS")) {
    const long wanted = std::strtol(std::getenv("COLUMNS"), nullptr, 10);
    if (wanted > 0 && wanted <= 10000) out.columns = static_cast<std::size_t>(wanted);
  }
  out.columns = std::max<std::size_t>(out.columns, 40);
  const char* const term = std::getenv("TERM");
  out.colour = !detail::is_set("NO_COLOR") && term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
  return out;
}

/// A text without characters beyond ASCII: signs of the report become similar ones, others a question mark.
inline std::string to_ascii(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const base::code_point c = base::code_point_at(text, at);
    if (c.value < 0x80) out += static_cast<char>(c.value);
    else if (c.value == 0xb7) out += '-';    // middle dot
    else if (c.value == 0xd7) out += 'x';    // times
    else if (c.value == 0xb1) out += "+-";
    else if (c.value == 0x2026) out += "...";
    else out += '?';
    at += c.bytes;
  }
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
