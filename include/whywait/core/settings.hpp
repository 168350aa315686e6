#ifndef WHYWAIT_CORE_SETTINGS_HPP
#define WHYWAIT_CORE_SETTINGS_HPP

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// What the environment asks for, read once when the first location appears. docs/configuration.md has the
/// meaning of each; a value that cannot be read keeps the default and is named in `bad` for one clear line.
struct settings {
  bool enable = true;                        ///< WHYWAIT_ENABLE: 0 leaves the program as if whywait were not there
  bool report = true;                        ///< WHYWAIT_REPORT: text (default) or none
  uint64_t memory_bytes = uint64_t(64) << 20;///< WHYWAIT_MEMORY: bytes a process may record; suffix K, M, G
  const char* output = nullptr;              ///< WHYWAIT_OUTPUT: prefix of the files to write; none without it
  const char* bad = nullptr;                 ///< name of the first variable whose value could not be read

  /// Reads the environment; no allocation. Call while no other thread changes the environment.
  static settings from_environment() noexcept {
    settings s;
    if (const char* text = getenv("WHYWAIT_ENABLE")) {
      if (strcmp(text, "0") == 0) s.enable = false;
      else if (strcmp(text, "1") != 0 && *text != '\0') s.bad = "WHYWAIT_ENABLE";
    }
    if (const char* text = getenv("WHYWAIT_REPORT")) {
      if (strcmp(text, "none") == 0) s.report = false;
      else if (strcmp(text, "text") != 0 && *text != '\0') s.bad = "WHYWAIT_REPORT";
    }
    if (const char* text = getenv("WHYWAIT_MEMORY")) {
      if (*text != '\0' && !parse_bytes(text, s.memory_bytes)) s.bad = "WHYWAIT_MEMORY";
    }
    if (const char* text = getenv("WHYWAIT_OUTPUT")) s.output = *text != '\0' ? text : nullptr;
    return s;
  }

  /// "64M" -> 67108864. False, and `bytes` unchanged, for anything else than digits and one suffix K, M or G.
  static bool parse_bytes(const char* text, uint64_t& bytes) noexcept {
    if (*text < '0' || *text > '9') return false;
    char* end = nullptr;
    const unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'k') shift = 10;
    else if (*end == 'M' || *end == 'm') shift = 20;
    else if (*end == 'G' || *end == 'g') shift = 30;
    if (shift != 0) ++end;
    if (*end != '\0' || number > (~uint64_t(0) >> shift)) return false;
    bytes = static_cast<uint64_t>(number) << shift;
    return true;
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
