#ifndef WHYWAIT_REPORT_RUN_SETTINGS_HPP
#define WHYWAIT_REPORT_RUN_SETTINGS_HPP

#include <whywait/report/model.hpp>

#include <unistd.h>

#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Adds the settings of this process: its WHYWAIT_* variables.
inline void add_settings(run_facts& facts) {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (text.compare(0, 8, "WHYWAIT_") == 0 && equals != std::string::npos)
      facts.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
