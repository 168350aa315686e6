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
  bool at_exit = false;  ///< known only at the end of the call (`out` in the paper)
};

enum class event_source : std::uint8_t {
  fact,       ///< made by the analysis: wait, block, run, ...
  simple,     ///< made from MPI calls by a tracing rule
  own,        ///< made by the program: whywait::event
  composite,  ///< made of other events, one per member
  gathered    ///< made of all events with equal keys (`all`)
};

/// A type of events: its parameters, and for composite events the types of its members.
struct event_type {
  std::string name;
  event_source source = event_source::fact;
  bool single = false;  ///< at most one event exists, so joins need no equality
  base::vector<column> columns;
  base::vector<std::pair<std::string, std::uint32_t>> members;  ///< name and event type

  /// Index of a parameter, or columns.size().
  std::size_t find(std::string_view parameter) const noexcept {
    std::size_t i = 0;
    while (i < columns.size() && columns[i].name != parameter) ++i;
    return i;
  }
  static constexpr std::size_t gathered_members = 8;
  /// Number of members that an event of this type stores.
  std::size_t member_count() const noexcept { return source == event_source::gathered ? gathered_members : members.size(); }

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  event_type() = default;
  [[gnu::noinline]] event_type(const event_type&) = default;
  [[gnu::noinline]] event_type(event_type&&) = default;
  [[gnu::noinline]] event_type& operator=(const event_type&) = default;
  [[gnu::noinline]] event_type& operator=(event_type&&) = default;
  [[gnu::noinline]] ~event_type() = default;
};

/// A tracing rule: the calls that become events, and the programs of their parameters.
struct simple_rule {
  std::uint32_t type = 0;
  base::pod_vector<core::mpi_call> functions;
  base::vector<program> values;  ///< one per column
};

/// The join of one member with the members before it.
struct join_step {
  std::uint32_t member = 0;
  program filter;                ///< condition on this member only
  base::vector<program> own;      ///< keys of this member ...
  base::vector<program> others;   ///< ... and the values they must equal, from members of earlier steps
  program rest;                  ///< the rest of the condition after this member is bound

  // Out of line, because many cold places copy and move it and each would compile its own copy.
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
  base::vector<program> values;       ///< one per column

  // Out of line, because many cold places copy and move it and each would compile its own copy.
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
  std::string instead_of;   ///< problems that this one hides at the same wait
  std::uint32_t type = 0;   ///< event type, composite or fact
  program when;
  program duration;
  program saving;           ///< empty: the duration
  program description;
  program advice;
  program verdict;          ///< text: what would shorten the run, for the first lines of a report; empty: not said there
  program predicted;        ///< boolean: `saving` is a prediction for the changed run, not an upper bound; empty: no
  program at_least;         ///< boolean: the changed run saves more than `saving`; empty: no
  program root;             ///< text of the root cause: findings of one cause are one; empty: none
  double threshold = -1;    ///< least share of the run that is reported; negative: the threshold of the knowledge
  bool built_in = false;
  std::uint32_t source = 0;

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  problem_rule() = default;
  [[gnu::noinline]] problem_rule(const problem_rule&) = default;
  [[gnu::noinline]] problem_rule(problem_rule&&) = default;
  [[gnu::noinline]] problem_rule& operator=(const problem_rule&) = default;
  [[gnu::noinline]] problem_rule& operator=(problem_rule&&) = default;
  [[gnu::noinline]] ~problem_rule() = default;
};

/// All rules, checked and compiled. Read-only after compilation; any number of threads may use it.
struct knowledge {
  base::vector<event_type> types;
  base::vector<simple_rule> simples;
  base::vector<composite_rule> composites;  ///< in dependency order
  base::vector<problem_rule> problems;
  text_pool texts;
  double threshold = 0.01;                 ///< least share of rank time that is reported
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
