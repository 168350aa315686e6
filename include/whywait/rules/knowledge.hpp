#ifndef WHYWAIT_RULES_KNOWLEDGE_HPP
#define WHYWAIT_RULES_KNOWLEDGE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/rules/rule_machine.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// A parameter of an event type.
struct column {
  std::string name;
  type what;
  bool at_exit = false;  ///< known only when the call has ended (the paper's `out`)
};

enum class event_source : std::uint8_t {
  fact,       ///< made by the analysis: wait, block, run, ...
  simple,     ///< made from MPI calls by a tracing rule
  own,        ///< made by the program: whywait::event
  composite,  ///< made of other events, one of each member
  gathered    ///< made of all events that share their keys (`all`)
};

/// A type of events: its parameters, and for composite events the types of its members.
struct event_type {
  std::string name;
  event_source source = event_source::fact;
  bool single = false;  ///< there is at most one: joining with it needs no equality
  base::vector<column> columns;
  base::vector<std::pair<std::string, std::uint32_t>> members;  ///< name and event type

  /// Index of a parameter; columns.size() if there is none.
  std::size_t find(std::string_view parameter) const noexcept {
    std::size_t i = 0;
    while (i < columns.size() && columns[i].name != parameter) ++i;
    return i;
  }
  static constexpr std::size_t gathered_members = 8;
  /// How many members an event of this type remembers.
  std::size_t member_count() const noexcept { return source == event_source::gathered ? gathered_members : members.size(); }

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  event_type() = default;
  [[gnu::noinline]] event_type(const event_type&) = default;
  [[gnu::noinline]] event_type(event_type&&) = default;
  [[gnu::noinline]] event_type& operator=(const event_type&) = default;
  [[gnu::noinline]] event_type& operator=(event_type&&) = default;
  [[gnu::noinline]] ~event_type() = default;
};

/// A tracing rule: which calls become events, and how their parameters are computed.
struct simple_rule {
  std::uint32_t type = 0;
  base::pod_vector<core::mpi_call> functions;
  base::vector<program> values;  ///< one for each column
};

/// How one member joins those before it.
struct join_step {
  std::uint32_t member = 0;
  program filter;                ///< over this member only
  base::vector<program> own;      ///< keys of this member ...
  base::vector<program> others;   ///< ... and what they must equal, over members of earlier steps
  program rest;                  ///< what remains of the condition once this member is bound

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  join_step() = default;
  [[gnu::noinline]] join_step(const join_step&) = default;
  [[gnu::noinline]] join_step(join_step&&) = default;
  [[gnu::noinline]] join_step& operator=(const join_step&) = default;
  [[gnu::noinline]] join_step& operator=(join_step&&) = default;
  [[gnu::noinline]] ~join_step() = default;
};

enum class aggregate_kind : std::uint8_t { count, sum, mean, least, most, distinct };
struct aggregate {
  aggregate_kind kind = aggregate_kind::count;
  program value;  ///< empty for count
};

/// A construction rule of a composite event.
struct composite_rule {
  std::uint32_t type = 0;
  base::pod_vector<char> shared;          ///< for each member
  base::vector<join_step> steps;      ///< gathered: one step, the filter
  base::vector<program> keys;         ///< gathered: `by`
  base::vector<aggregate> aggregates; ///< gathered
  base::vector<program> values;       ///< one for each column

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  composite_rule() = default;
  [[gnu::noinline]] composite_rule(const composite_rule&) = default;
  [[gnu::noinline]] composite_rule(composite_rule&&) = default;
  [[gnu::noinline]] composite_rule& operator=(const composite_rule&) = default;
  [[gnu::noinline]] composite_rule& operator=(composite_rule&&) = default;
  [[gnu::noinline]] ~composite_rule() = default;
};

/// A problem rule.
struct problem_rule {
  std::string name;
  std::string instead_of;   ///< this problem hides that one at the same wait
  std::uint32_t type = 0;   ///< event type, composite or fact
  program when;
  program duration;
  program saving;           ///< empty: the duration
  program description;
  program advice;
  double threshold = -1;    ///< share of the run below which it stays silent; negative: that of the knowledge
  bool built_in = false;
  std::uint32_t source = 0;

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  problem_rule() = default;
  [[gnu::noinline]] problem_rule(const problem_rule&) = default;
  [[gnu::noinline]] problem_rule(problem_rule&&) = default;
  [[gnu::noinline]] problem_rule& operator=(const problem_rule&) = default;
  [[gnu::noinline]] problem_rule& operator=(problem_rule&&) = default;
  [[gnu::noinline]] ~problem_rule() = default;
};

/// All rules, checked and compiled. Made by `compile`; read by any number of threads.
struct knowledge {
  base::vector<event_type> types;
  base::vector<simple_rule> simples;
  base::vector<composite_rule> composites;  ///< members before what is made of them
  base::vector<problem_rule> problems;
  text_pool texts;
  double threshold = 0.01;                 ///< share of rank time below which no problem is reported
  diagnostics log;

  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < types.size(); ++i)
      if (types[i].name == name) return static_cast<std::uint32_t>(i);
    return none;
  }
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
