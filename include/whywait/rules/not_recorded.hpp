#ifndef WHYWAIT_RULES_NOT_RECORDED_HPP
#define WHYWAIT_RULES_NOT_RECORDED_HPP

#include <whywait/rules/fact_types.hpp>
#include <whywait/rules/scope.hpp>

#include <initializer_list>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {
namespace detail {

/// Why a run cannot fill an event type, or a parameter of one (`parameter` not empty); null: no reason is known. The
/// event "call" stands for what tracing rules see.
inline const char* not_recorded(std::string_view event, std::string_view parameter = {}) noexcept {
  const auto any = [&](std::initializer_list<const char*> all) {
    for (const char* one : all)
      if (parameter == one) return true;
    return false;
  };
  if (event == "call" && any({"start_time", "end_time", "wait_start_time", "ordinal", "instance", "wait", "matched"}))
    return "calls with equal parameters are one event, without times and order; use 'duration', 'count' and 'site', or the "
           "facts 'wait' and 'point_to_point'";
  if (event == "point_to_point" &&
      any({"bytes", "tag", "communicator", "source", "destination", "send_end_time", "recv_end_time"}))
    return "it is the mean of many waits; sizes, tags and ranks are in 'send' and 'receive'";
  if (!parameter.empty()) return nullptr;
  if (event == "collective") return "the order of single operations is not kept; use 'wait', 'completion' or 'arrival'";
  if (event == "lock") return "whywait does not observe locks";
  if (event == "transfer") return "communicated data is analysed separately (whywait/communication.hpp)";
  return nullptr;
}

/// The same for a parameter that an expression names.
inline const char* not_recorded(const knowledge& known, const scope& names, std::string_view qualifier,
                                std::string_view parameter) noexcept {
  for (const scope_row& row : names.rows) {
    if (row.name != qualifier) continue;
    std::string_view event = row.columns == &call_columns() ? "call" : "";
    for (const event_type& t : known.types)
      if (row.columns == &t.columns) event = t.source == event_source::simple ? std::string_view("call") : t.name;
    if (const char* const why = not_recorded(event, parameter)) return why;
  }
  return nullptr;
}

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
