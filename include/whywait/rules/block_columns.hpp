#ifndef WHYWAIT_RULES_BLOCK_COLUMNS_HPP
#define WHYWAIT_RULES_BLOCK_COLUMNS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/data_facts.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/place_columns.hpp>
#include <whywait/rules/rank_shares.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

namespace detail {

/// A block in the words of a sentence; names have at most 48 columns.
struct block_name {
  std::string text;
  const char* kind;
  std::string place;
};
inline block_name name_of(const explain::block_names& names, const explain::residual_term& term) {
  const explain::block_description d = names.describe(term.block, term.within != 0);
  block_name out{{}, d.kind_name, d.where != nullptr ? code_text(*d.where) : std::string()};
  if (d.kind == explain::block_kind::between && d.until_end)
    out.text = "the code after " + (d.since_init ? std::string(base::start_text()) : call_of(d.from));
  else if (d.kind == explain::block_kind::between)
    out.text =
        "the code between " + (d.since_init ? std::string(base::start_text()) : call_of(d.from)) + " and " + call_of(d.where);
  else if (d.kind == explain::block_kind::call)
    out.text = (d.where != nullptr && d.where->call.compare(0, 4, "MPI_") == 0 && d.where->call.compare(0, 8, "MPI_File") != 0
                    ? "the transfer in "
                    : "the time in ") +
               call_of(d.where);
  else out.text = base::shorten_middle(base::printable(d.name), 48);
  return out;
}

/// How much longer a visit takes on the late side, in seconds.
[[gnu::noinline]] inline double each(const explain::residual_term& t) noexcept {
  return 2e-9 * static_cast<double>(t.speed_ns) / std::max(1.0, static_cast<double>(t.causer_visits + t.waiter_visits));
}

/// The untimed step inside a block that the late side ran far more often, such as a branch, in all lines; empty: none.
inline std::string branch_in(const explain::residual_term& block, const base::pod_vector<const explain::residual_term*>& terms,
                             const base::vector<std::string>& names) {
  std::int64_t most = 0;
  std::size_t branch = names.size();
  for (std::size_t i = 0; i != terms.size(); ++i) {
    std::int64_t late = 0, waiting = 0;
    for (std::size_t j = 0; j != terms.size() && terms[i]->within == block.block; ++j) {
      if (terms[j]->within != block.block || names[j] != names[i]) continue;
      late += terms[j]->causer_visits;
      waiting += terms[j]->waiter_visits;
    }
    if (late <= 2 * waiting || late - waiting <= most) continue;
    most = late - waiting;
    branch = i;
  }
  return branch != names.size() ? names[branch] : std::string();
}

/// Some locations: threads of any rank, or those that use an array from another node in a block.
struct some_locations {
  std::uint64_t threads = 0;
  const data_facts* known = nullptr;
  const far_data* like = nullptr;

  bool has(const explain::location_share& s) const noexcept {
    if (s.rank < 0) return false;
    const std::int32_t thread = base::ranks_are_threads() ? s.rank : s.thread;
    if (like == nullptr) return (threads >> (thread < 63 ? thread : 63) & 1) != 0;
    for (const far_data& d : known->far)
      if (d.block == like->block && d.data == like->data && d.rank == s.rank && d.thread == s.thread) return true;
    return false;
  }
  /// Whether they are at least half of a side of a wait.
  bool are_most_of(const base::vector<explain::location_share>& side) const noexcept {
    std::int64_t all = 0, some = 0;
    for (const explain::location_share& s : side) {
      all += s.ns;
      some += has(s) ? s.ns : 0;
    }
    return some > 0 && 2 * some >= all;
  }
};

/// Whether both sides did as many units of work; false if the program does not count them.
inline bool same_work(const explain::residual_term& t) noexcept {
  const std::int64_t most = std::max(t.causer_work, t.waiter_work), least = std::min(t.causer_work, t.waiter_work);
  return least > 0 && 20 * (most - least) <= most;
}

}  // namespace detail

/// Sets the columns of a `block` fact that tell what data the late side uses there: an array that it shares, and one that is on
/// another node, unless the waiting side uses it from another node as well.
inline void set_data(row_writer& b, const data_facts& known, const explain::explanation& e, core::stable_key block) {
  for (const shared_data& d : known.shared) {
    const bool ranks = d.threads_here == 0;
    if (d.block != block || (!ranks && !detail::some_locations{d.threads_here}.are_most_of(e.causers))) continue;
    b.set("data", d.data).set("data_place", d.place).set("data_sharing", d.sharing).set("data_users", d.users);
    b.set("data_waiters", ranks || detail::some_locations{d.threads}.are_most_of(e.waiters));
    break;
  }
  for (const far_data& d : known.far) {
    const detail::some_locations users{0, &known, &d};
    bool late = false;
    for (const explain::location_share& s : e.causers) late = late || (s.rank == d.rank && s.thread == d.thread);
    if (d.block != block || !late || !users.are_most_of(e.causers) || users.are_most_of(e.waiters)) continue;
    b.set("far_data", d.data).set("far_place", d.place).set("far_share", d.share);
    b.set("far_node", d.node).set("far_pages_node", d.pages_node);
    break;
  }
}

/// Sets the columns of a `block` fact that tell why each visit is slower on the late side.
inline void set_reason(row_writer& b, const explain::residual_term& t, const explain::slower_parts& parts) {
  const auto decides = [&t](std::int64_t ns) { return t.speed_ns > 0 && 2 * ns >= t.speed_ns; };
  const std::int64_t most = std::max(t.causer_visits, t.waiter_visits), least = std::min(t.causer_visits, t.waiter_visits);
  b.set("why", decides(parts.preempted_ns)                                               ? "processor"
               : decides(parts.kernel_ns) && parts.kernel_ns >= explain::least_kernel_ns ? "kernel"
               : decides(parts.blocked_ns)                                               ? "blocked"
               : decides(parts.instructions_ns)                                          ? "instructions"
               : decides(parts.cycles_ns)                                                ? "cycles"
               : decides(parts.frequency_ns)                                             ? "frequency"
                                                                                         : "");
  const std::int64_t memory_ns = parts.counted ? parts.cycles_ns : parts.not_counted_ns;
  b.set("memory", decides(memory_ns) ? static_cast<double>(memory_ns) / 1e9 : 0.0).set("counted", parts.counted);
  b.set("same_work", detail::same_work(t));
  b.set("same_instructions",
        parts.counted && 20 * (most - least) <= most && 10 * std::abs(parts.instructions_ns) <= std::abs(t.speed_ns));
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
