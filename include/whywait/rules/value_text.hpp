#ifndef WHYWAIT_RULES_VALUE_TEXT_HPP
#define WHYWAIT_RULES_VALUE_TEXT_HPP

#include <whywait/base/number_text.hpp>
#include <whywait/rules/type.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// How a template shows a value of this type that is not a text.
inline std::string value_text(double value, type what) {
  if (what.is(type::kind::boolean)) return value != 0 ? "yes" : "no";
  if (what.seconds == 1 && what.bytes == 0) return base::duration_text(value);
  if (what.seconds == 0 && what.bytes == 1) return base::size_text(value);
  if (what.seconds == -1 && what.bytes == 1) return base::size_text(value) + "/s";
  if (what.seconds == -1 && what.bytes == 0) return base::number_text(value) + "/s";
  return base::number_text(value);
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
