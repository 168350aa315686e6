#ifndef WHYWAIT_EXPLAIN_WAIT_LOG_HPP
#define WHYWAIT_EXPLAIN_WAIT_LOG_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/wait_class.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The waits of one location between the forward pass, which only sees that they are there, and the classes, to which
/// they go some at a time: the classes are more memory than all else that a wait touches, and where one process hosts
/// many ranks they would have to be fetched anew for each. One cache line for a wait and one for each block in which its
/// two sides differ; at most 127 lines, or those of one wait. Not thread safe.
class wait_log {
 public:
  struct wait {
    std::int64_t begin_ns, wait_ns, since_ns;
    core::stable_key cause;  ///< call site of the causer
    std::uint32_t record, causer_record;
    std::int32_t causer_rank;
    std::uint32_t site;  ///< of the record
    std::uint32_t terms;
    std::uint16_t causer_location;
    pattern why;
    quality trust;
    bool explained, wrong_order;
  };
  /// One block in which they differ, since they were last in step.
  struct term {
    block_use waiter, causer;
    std::int64_t own_ns;  ///< part of `causer` that it executed itself
    std::uint32_t block;
  };

  explicit wait_log(base::memory_pool& pool) noexcept : memory_(pool) {}
  wait_log(wait_log&&) noexcept = default;  // a copy would stand in the other's lines

  /// Whether a wait of at most `terms` terms finds room.
  bool has_room(std::size_t terms) const noexcept { return used_ == 0 || used_ + 1 + terms <= most; }
  bool nearly_full() const noexcept { return used_ + most / 8 > most; }
  /// A wait; its terms follow.
  wait& add(const arrival& a, std::size_t most_terms) {
    if (room_ < used_ + 1 + most_terms) reserve(used_ + 1 + most_terms);
    wait& w = lines_[used_++].head;
    w = wait{0, 0, INT64_MIN, a.site, a.record, a.causer_record, a.causer_rank, 0, 0, a.causer_location, a.why, a.trust,
             false, a.has(arrival_flag::wrong_order)};
    return w;
  }
  term& add_term(wait& to) noexcept {
    ++to.terms;
    return lines_[used_++].part;
  }

  void prefetch() const noexcept { base::prefetch(lines_ + used_, used_ < room_ ? 4 * sizeof(line) : 0); }

  /// Each wait in its order to `classes`, to the observer and, if `notes` is not null, to the notes of the virtual clocks.
  void settle(const rank_history& rank, std::uint16_t location, const options& settings, const block_table& blocks,
              class_book& classes, forward_scratch& scratch, base::pod_vector<wait_note>* notes) {
    if (used_ == 0) return;
    classes.prefetch();
    base::prefetch(lines_, used_ * sizeof(line));
    const location_history& here = rank.locations[location];
    wait_instance& instance = scratch.instance;
    instance.rank = rank.rank;
    instance.location = location;
    for (std::size_t at = 0; at != used_;) {
      const wait& w = lines_[at++].head;
      instance.why = w.why;
      instance.trust = w.trust;
      instance.wrong_order = w.wrong_order;
      instance.explained = w.explained;
      instance.record = w.record;
      instance.causer_rank = w.causer_rank;
      instance.causer_location = w.causer_location;
      instance.causer_record = w.causer_record;
      instance.begin_ns = w.begin_ns;
      instance.wait_ns = w.wait_ns;
      instance.since_ns = w.since_ns;
      instance.terms.resize(w.terms);
      scratch.term_blocks.resize(w.terms);
      for (std::uint32_t i = 0; i != w.terms; ++i) {
        const term& t = lines_[at + i].part;
        explain(t, blocks, instance.terms[i]);
        scratch.term_blocks[i] = t.block;
      }
      at += w.terms;
      const core::stable_key operation = w.site < here.call_sites.size() ? here.call_sites[w.site] : 0;
      const std::uint32_t number =
          w.explained ? classes.add(instance, operation, w.cause, scratch.term_blocks, blocks.size())
                      : classes.add_unexplained(instance, operation, w.cause);
      if (notes != nullptr) notes->push_back({w.record, number, w.wait_ns});
      if (settings.watch != nullptr) settings.watch->wait(instance);
    }
    used_ = 0;
  }

 private:
  static constexpr std::size_t most = 127;  // what comes before the first full cache line is not used
  union line {
    line() noexcept {}
    wait head;
    term part;
  };
  static_assert(sizeof(line) == 64, "one cache line");

  static void explain(const term& t, const block_table& blocks, residual_term& into) noexcept {
    block_use waiter = t.waiter, causer = t.causer;
    shift(waiter, causer);
    const block_split difference = split(waiter, causer);
    const block_table::name& name = blocks[t.block];
    into.block = name.block;
    into.within = name.within;
    into.total_ns = difference.total_ns;
    into.visits_ns = difference.visits_ns;
    into.speed_ns = difference.speed_ns;
    into.inherited_ns = std::max<std::int64_t>(0, std::min(into.total_ns, into.total_ns - t.own_ns));
    into.causer_visits = causer.visits;
    into.waiter_visits = waiter.visits;
    into.causer_work = causer.work;
    into.waiter_work = waiter.work;
    into.causer_ns = causer.ns;
    into.waiter_ns = waiter.ns;
  }

  // Nothing is written where nothing will be: of most ranks only a part.
  [[gnu::noinline]] void reserve(std::size_t lines) {
    const std::size_t room = std::max(most, lines);
    base::pod_vector<line> larger = memory_.sibling();
    larger.reserve(room + 1);
    const auto at = reinterpret_cast<std::uintptr_t>(larger.data());
    line* const first = reinterpret_cast<line*>((at + sizeof(line) - 1) / sizeof(line) * sizeof(line));
    std::copy(lines_, lines_ + used_, first);
    memory_.swap(larger);
    lines_ = first;
    room_ = room;
  }

  base::pod_vector<line> memory_;
  line* lines_ = nullptr;
  std::size_t room_ = 0, used_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
