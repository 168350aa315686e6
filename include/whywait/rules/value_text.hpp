#ifndef WHYWAIT_RULES_VALUE_TEXT_HPP
#define WHYWAIT_RULES_VALUE_TEXT_HPP

#include <whywait/base/units.hpp>
#include <whywait/rules/type.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Formats a value that is not a text for a template.
inline std::string value_text(double value, type what) {
  if (what.is(type::kind::boolean)) return value != 0 ? "yes" : "no";
  if (what.seconds == 1 && what.bytes == 0) return base::duration(value);
  if (what.seconds == 0 && what.bytes == 1) return base::memory(value);
  if (what.seconds == -1 && what.bytes == 1) return base::memory(value) + "/s";
  if (what.seconds == -1 && what.bytes == 0) return base::number(value) + "/s";
  return base::number(value);
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
