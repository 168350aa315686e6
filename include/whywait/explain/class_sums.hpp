#ifndef WHYWAIT_EXPLAIN_CLASS_SUMS_HPP
#define WHYWAIT_EXPLAIN_CLASS_SUMS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

// What adds up while classes are made and merged: plain values, so that they travel as they are.

/// What all waits of a class have in one block: residual_term without what follows from the rest.
struct term_sums {
  std::int64_t visits_ns = 0, inherited_ns = 0;
  std::int64_t causer_visits = 0, waiter_visits = 0, causer_work = 0, waiter_work = 0, causer_ns = 0, waiter_ns = 0;

  template <class Term>
  void add(const Term& t) noexcept {
    visits_ns += t.visits_ns;
    inherited_ns += t.inherited_ns;
    causer_visits += t.causer_visits;
    waiter_visits += t.waiter_visits;
    causer_work += t.causer_work;
    waiter_work += t.waiter_work;
    causer_ns += t.causer_ns;
    waiter_ns += t.waiter_ns;
  }
  residual_term whole(const block_table::name& name) const noexcept {
    residual_term t;
    t.block = name.block;
    t.within = name.within;
    t.total_ns = causer_ns - waiter_ns;
    t.visits_ns = visits_ns;
    t.speed_ns = t.total_ns - visits_ns;
    t.inherited_ns = inherited_ns;
    t.causer_visits = causer_visits;
    t.waiter_visits = waiter_visits;
    t.causer_work = causer_work;
    t.waiter_work = waiter_work;
    t.causer_ns = causer_ns;
    t.waiter_ns = waiter_ns;
    return t;
  }
};

/// The same of all blocks together: explanation without its lists.
struct class_sums {
  core::stable_key operation = 0, cause = 0;
  std::int64_t count = 0, wait_ns = 0, longest_ns = 0, wrong_order_count = 0, wrong_order_ns = 0, indirect_ns = 0;
  std::int64_t unexplained_ns = 0, first_ns = 0;
  wait_sample longest;
  pattern why = pattern::late_sender;
  quality trust = quality::exact;

  void add(const wait_instance& wait) noexcept {
    trust = std::max(trust, wait.trust);
    first_ns = count == 0 ? wait.begin_ns : std::min(first_ns, wait.begin_ns);
    ++count;
    wait_ns += wait.wait_ns;
    longest_ns = std::max(longest_ns, wait.wait_ns);
    if (wait.explained && wait.wait_ns >= longest.wait_ns) {
      const wait_sample sample{wait.wait_ns,         wait.begin_ns,       wait.since_ns,
                               wait.rank,            wait.causer_rank,    wait.location,
                               wait.causer_location, wait.record,         wait.causer_record};
      if (sample.outweighs(longest)) longest = sample;
    }
    if (wait.wrong_order) {
      ++wrong_order_count;
      wrong_order_ns += wait.wait_ns;
    }
  }
  /// Another part of the same class; both have at least one wait.
  void add(const class_sums& o) noexcept {
    trust = std::max(trust, o.trust);
    count += o.count;
    wait_ns += o.wait_ns;
    longest_ns = std::max(longest_ns, o.longest_ns);
    wrong_order_count += o.wrong_order_count;
    wrong_order_ns += o.wrong_order_ns;
    indirect_ns += o.indirect_ns;
    unexplained_ns += o.unexplained_ns;
    first_ns = std::min(first_ns, o.first_ns);
    if (o.longest.outweighs(longest)) longest = o.longest;
  }
  /// Without its lists.
  explanation whole() const {
    explanation e;
    e.why = why;
    e.operation = operation;
    e.cause = cause;
    e.trust = trust;
    e.count = count;
    e.wait_ns = wait_ns;
    e.longest_ns = longest_ns;
    e.wrong_order_count = wrong_order_count;
    e.wrong_order_ns = wrong_order_ns;
    e.indirect_ns = indirect_ns;
    e.unexplained_ns = unexplained_ns;
    e.first_ns = first_ns;
    e.longest = longest;
    return e;
  }
};

/// A list of locations names this many; what does not fit goes to rank -1.
constexpr std::size_t most_shares = 64;

/// Adds to a bounded list of locations.
inline void add_share(base::vector<location_share>& list, const location_share& share, std::size_t limit = most_shares) {
  for (location_share& known : list) {
    if (known.rank == share.rank && known.thread == share.thread) {
      known.ns += share.ns;
      return;
    }
  }
  if (list.size() < limit || share.rank < 0) {
    list.push_back(share);
  } else {
    add_share(list, {-1, 0, share.ns}, limit);
  }
}

/// The same with many: those of ranks above all that the list had are not searched for in it.
inline void add_shares(base::vector<location_share>& list, const base::vector<location_share>& more) {
  std::int32_t greatest = -1;
  for (const location_share& known : list) greatest = std::max(greatest, known.rank);
  std::int64_t rest_ns = 0;
  for (const location_share& share : more) {
    if (share.rank <= greatest) {
      add_share(list, share);
    } else if (list.size() < most_shares) {
      list.push_back(share);
      greatest = share.rank;
    } else {
      rest_ns += share.ns;
    }
  }
  if (rest_ns != 0) add_share(list, {-1, 0, rest_ns});
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
