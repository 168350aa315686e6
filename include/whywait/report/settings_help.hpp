#ifndef WHYWAIT_REPORT_SETTINGS_HELP_HPP
#define WHYWAIT_REPORT_SETTINGS_HELP_HPP

#include <whywait/core/safe_write.hpp>
#include <whywait/core/setting_table.hpp>
#include <whywait/core/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// What WHYWAIT_HELP=1 prints: every setting with its value range, default, meaning, and the value that is set.
inline std::string settings_text() {
  std::string out = "whywait: settings (environment variables)\n";
  core::each_setting([&out](const core::setting& each) {
    const std::string name = each.name;
    out += "  " + name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + each.text + "\n";
    out += std::string(20, ' ') + each.values + "; default " + (*each.fallback == '\0' ? "not set" : each.fallback);
    const char* const value = std::getenv(each.name);
    if (value != nullptr && name != "WHYWAIT_HELP") out += std::string("; set to ") + value;
    out += "\n";
  });
  return out;
}

/// Prints that table in one piece. Without memory for it nothing is printed.
inline void print_settings(std::FILE* stream) noexcept {
  try {
    const std::string text = settings_text();
    core::write_text(text.data(), text.size(), stream);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
