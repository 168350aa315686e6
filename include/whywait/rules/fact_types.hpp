#ifndef WHYWAIT_RULES_FACT_TYPES_HPP
#define WHYWAIT_RULES_FACT_TYPES_HPP

#include <whywait/base/vector.hpp>
#include <whywait/rules/knowledge.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The type words in declarations of own events and in the fact tables below.
inline type type_of_word(std::string_view word) noexcept {
  if (word == "number") return type::number();
  if (word == "seconds") return type::duration();
  if (word == "bytes") return type::size();
  if (word == "text") return type::text();
  if (word == "boolean") return type::boolean();
  return type::wrong();
}

namespace detail {

struct fact_row {
  const char* name;
  const char* columns;  ///< "seconds: a b c; text: d e"
  bool single;
};

// docs/reference/rules.md explains each parameter. Durations are sums over all merged waits unless the name has
// another unit.
inline const fact_row* fact_rows(std::size_t& count) noexcept {
  static constexpr fact_row rows[] = {
      {"run",
       "number: ranks locations waiting_share unmatched clock_violations faults repeated_faults;"
       "seconds: duration location_time waiting kernel_duration own_processors;"
       "boolean: own_at_least",
       true},
      {"wait",
       "number: wait count without_share share share_of_waiting wrong_order_count late_ranks_count waiting_ranks_count "
       "late_rank late_share "
       "in_turn top_here longer_share "
       "earlier_in_turn earlier_indirect earlier_share blocks_count top_late_amount top_waiting_amount top_ratio top_share "
       "operation_site cause_site ranks locations threads code_rank "
       "code_ranks code_ratio code_asleep code_processors code_faults units_ratio visits_ratio;"
       "text: pattern quality operation operation_call operation_region cause cause_call cause_region blocks late_ranks "
       "waiting_ranks top top_kind top_unit top_place top_branch lead excess code_thread code_nouns earlier_sends "
       "earlier_ranks "
       "late_others because spread turns turns_other;"
       "seconds: duration all_shapes all_causes longest mean wrong_order_duration other_ready_duration as_they_come "
       "without_saving "
       "turns_saving "
       "indirect "
       "unexplained "
       "blocks_duration avoidable reordered polled posted shorter balanced most_divided most_even positive more slower "
       "top_duration top_more top_slower top_each top_inherited in_transfer in_marked_waits above_mean above_others noise "
       "code_delay code_slept "
       "code_system own_processors "
       "earlier_saving;"
       "boolean: nonblocking same_site same_place sends_after_work balance_predicted balance_moves balance_whole only_divided "
       "earlier_known "
       "own_at_least "
       "without_known",
       false},
      {"block",
       "number: wait late_rank late_visits waiting_visits ratio share wait_share ranks far_share far_node far_pages_node;"
       "text: name kind place operation cause pattern late_ranks late_locations why data data_place data_sharing data_users "
       "far_data far_place;"
       "seconds: duration more slower memory inherited late_duration waiting_duration wait_duration each;"
       "boolean: both_ran one_late_rank same_work same_instructions counted data_waiters",
       false},
      {"traffic",
       "number: calls ranks after_data batched messages_per_batch;"
       "text: site call region; bytes: bytes mean_bytes largest; seconds: duration batched_duration batched_transfer",
       false},
      {"barrier_use", "number: site calls before_collective after_collective idle; text: place region; seconds: duration",
       false},
      {"completion", "number: late_exits ranks; text: site call region; seconds: duration longest mean", false},
      {"notified",
       "number: waits ranks in_vain missed; text: site call region; seconds: duration in_vain_duration missed_duration "
       "most_missed",
       false},
      {"read_write",
       "number: waits ranks overtaken; text: site call region side; seconds: duration overtaken_duration most_overtaken",
       false},
      {"point_to_point",
       "number: wait count; seconds: send_start_time send_wait_start_time recv_start_time recv_wait_start_time", false},
  };
  count = sizeof rows / sizeof *rows;
  return rows;
}

// Parameters of a call for tracing rules; those after `out:` are known only at its end.
inline const char* call_row() noexcept {
  return "text: function region file; bytes: bytes;"
         "number: line site rank thread peer source destination root tag communicator size;"
         "out: seconds: duration longest; number: count";
}

inline base::vector<column> columns_of(std::string_view text) {
  base::vector<column> out;
  type what;
  bool exit = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of(" ;", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" ;:", begin), text.size());
    const std::string_view word = text.substr(begin, at - begin);
    if (at < text.size() && text[at] == ':') {
      ++at;
      if (word == "out") exit = true;
      else what = type_of_word(word);
    } else {
      out.push_back({std::string(word), what, exit});
    }
  }
  return out;
}

}  // namespace detail

/// The event types that the analysis itself provides.
inline void add_fact_types(knowledge& out) {
  std::size_t count = 0;
  const detail::fact_row* const rows = detail::fact_rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    event_type t;
    t.name = rows[i].name;
    t.single = rows[i].single;
    t.columns = detail::columns_of(rows[i].columns);
    out.types.push_back(std::move(t));
  }
}

/// The parameters of a call that tracing rules may use.
inline const base::vector<column>& call_columns() {
  // never destroyed: rules may run at exit
  static const base::vector<column>& columns = *new base::vector<column>(detail::columns_of(detail::call_row()));
  return columns;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
