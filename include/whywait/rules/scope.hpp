#ifndef WHYWAIT_RULES_SCOPE_HPP
#define WHYWAIT_RULES_SCOPE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/knowledge.hpp>

#include <cstddef>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// One event whose parameters an expression may name.
struct scope_row {
  std::string_view name;               ///< qualifier before the dot; empty: parameters are unqualified
  const base::vector<column>* columns;
  std::size_t visible;                 ///< number of visible columns: a parameter may use earlier ones
};

/// The names visible in an expression. Row i of the running program is rows[i].
struct scope {
  base::pod_vector<scope_row> rows;
  bool at_entry = false;                          ///< an `in` parameter, which must not use values known only at exit
  bool about_finding = false;                     ///< `instances`, `total` and `share` are defined
  base::vector<aggregate>* aggregates = nullptr;   ///< collects count(), sum() ...; null: not allowed
  const char* subject = "event";                  ///< for messages: "call", "composite event"
};

/// A function of the language: its name, its number of arguments, and whether it needs an event that gathers.
struct function {
  const char* name;
  std::size_t least, most;
  bool gathers = false;
};

template <class Visitor>
void for_each_function(const Visitor& visit) {
  static constexpr function all[] = {
      {"min", 2, 16},        {"max", 2, 16},          {"abs", 1, 1},       {"floor", 1, 1},      {"round", 1, 1},
      {"if", 3, 3},          {"percent", 1, 1},       {"text", 1, 1},      {"plural", 3, 3},     {"contains", 2, 2},
      {"starts_with", 2, 2}, {"count", 0, 0, true},   {"sum", 1, 1, true}, {"mean", 1, 1, true}, {"least", 1, 1, true},
      {"most", 1, 1, true},  {"distinct", 1, 1, true}};
  for (const function& f : all) visit(f);
}

/// The function of that name, or null.
inline const function* find_function(std::string_view name) noexcept {
  const function* found = nullptr;
  for_each_function([&](const function& f) {
    if (name == f.name) found = &f;
  });
  return found;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
