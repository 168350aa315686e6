#ifndef WHYWAIT_RULES_PLACE_COLUMNS_HPP
#define WHYWAIT_RULES_PLACE_COLUMNS_HPP

#include <whywait/base/places.hpp>
#include <whywait/rules/event_store.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {
namespace detail {

/// A call as advice names it: "MPI_Send (halo.cpp:131)"; "the call" if it is unknown.
inline std::string call_of(const base::place* p) { return p == nullptr || p->call.empty() ? "the call" : brief_call_text(*p); }

inline action action_at(const base::place* p) {
  if (p == nullptr) return {{}, {}, {}, 0, "a call at an unknown place"};
  return {base::printable(p->call), within_text(*p), base::printable(p->file), p->line, call_text(*p)};
}

}  // namespace detail
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
