#ifndef WHYWAIT_EXPLAIN_LOCATION_STEPS_HPP
#define WHYWAIT_EXPLAIN_LOCATION_STEPS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/memory_pool.hpp>
#include <whywait/base/pair_cache.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/code_readings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/transport_calls.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Converts the records of one location to uses of blocks: marked code, unmarked code between two calls, and the calls.
/// Several places can move through the records independently.
class location_steps {
 public:
  /// A place in the records. Everything before the record `next` is entered, and the time up to `now_ns`.
  struct place {
    location_walk walk;
    std::int64_t now_ns;
    std::uint64_t next = 0, previous_steps = 0;
    std::int64_t previous_site = -1;
    std::uint64_t code_end = 0;  ///< see code_end
    bool visited = false;        ///< the visit of the unmarked code here is counted
    code_readings* readings = nullptr;  ///< what was counted is entered as work of blocks of count_key; null: it is left out
  };

  location_steps(const rank_history& rank, std::uint16_t location, block_table& blocks, base::memory_pool& memory)
      : rank_(&rank),
        here_(&rank.locations[location]),
        records_(here_->records),
        steps_(here_->steps),
        marked_blocks_(rank.blocks.size()),
        blocks_(&blocks),
        step_blocks_(memory),
        call_blocks_(memory),
        between_blocks_(memory) {}

  void begin() {
    step_blocks_.resize(marked_blocks_, base::key_map::none);
    call_blocks_.resize(here_->call_sites.size(), base::key_map::none);
  }

  std::uint64_t size() const noexcept { return records_.size(); }
  const core::sync_record& operator[](std::uint64_t record) const noexcept { return records_[record]; }

  /// Enters a block: number, visits, ns and work. For all passes but that which explains, so that these functions exist twice.
  using spend_call = borrowed<void(std::uint32_t, std::int64_t, std::int64_t, std::int64_t)>;

  /// Goes to the beginning of the next record: calls spend(block, visits, ns, work) for everything before it.
  template <class Spend>
  void begin_record(place& at, Spend&& spend) {
    const core::sync_record& r = records_[at.next];
    at.walk.step(r);
    compute(at, r.steps, at.walk.begin_ns(), code_end_site(*here_, at.next, at.code_end), spend);
  }
  /// Goes to the end of that record: the rest of the call is the library's own time.
  template <class Spend>
  void end_record(place& at, Spend&& spend) {
    const core::sync_record& r = records_[at.next];
    const std::int64_t rest_ns = at.walk.leave_ns() - at.now_ns;
    if (r.duration != 0) enter(at, call_block(r.site), 1, rest_ns, 0, spend);
    if (at.readings != nullptr) at.readings->called(r.call, at.walk.leave_ns() - at.walk.begin_ns());
    if (!core::divides_no_code(r)) {
      at.previous_site = static_cast<std::int64_t>(r.site);
      at.visited = false;
    }
    at.previous_steps = r.steps;
    ++at.next;
  }
  /// After the last record: the code up to the end of recording.
  template <class Spend>
  void end(place& at, Spend&& spend) {
    compute(at, steps_.size(), std::max(rank_->end_ns, at.now_ns), end_of_recording, spend);
  }

  /// Whether this location takes part in every operation of all ranks that its rank takes part in.
  bool meets_all() const noexcept { return meets_all(*rank_, *here_); }
  static bool meets_all(const rank_history& rank, const location_history& here) noexcept {
    for (const location_history& other : rank.locations) {
      if (&other == &here) continue;
      for (std::uint64_t i = 0; i != other.records.size(); ++i) {
        if (of_all(rank, other.records[i])) return false;
      }
    }
    return true;
  }
  /// Whether a record is an operation of all ranks, which all of them pass in the same order.
  [[gnu::noinline]] static bool of_all(const rank_history& rank, const core::sync_record& r) noexcept {
    if (!core::is_ordered_collective(r.call)) return false;  // most records
    if (r.comm >= rank.communicators.size() || r.has(core::sync_flag::failed | core::sync_flag::met)) return false;
    const communicator& comm = rank.communicators[r.comm];
    return comm.id != 0 && !comm.inter && !comm.outside && comm.size == rank.ranks;
  }

 private:
  template <class Spend>
  static void enter(place& at, std::uint32_t block, std::int64_t visits, std::int64_t ns, std::int64_t work, Spend& spend) {
    spend(block, visits, ns, work);
    at.now_ns += ns;
  }

  // Enters the steps from the end of the previous record to `until_ns`, and the time that they do not cover. Steps that
  // exceed the interval (rounding, counter overflow) are cut, so that the times add up.
  template <class Spend>
  void compute(place& at, std::uint64_t steps_end, std::int64_t until_ns, std::uint64_t site, Spend& spend) {
    std::int64_t unmarked_work = 0;
    steps_end = std::min(steps_end, steps_.size());
    for (std::uint64_t s = at.previous_steps; s < steps_end; ++s) {
      const core::path_step& step = steps_[s];
      if (core::counted_step::is(step)) {
        if (at.readings != nullptr) at.readings->take(step);
        continue;
      }
      if (step.block >= marked_blocks_ && count_code(at, step, site, spend)) continue;
      if (step.block == 0 || step.block >= marked_blocks_) {
        unmarked_work += static_cast<std::int64_t>(step.work);
        continue;
      }
      const auto ns = std::min(core::nearest(static_cast<double>(step.ticks) * at.walk.ns_per_tick()), until_ns - at.now_ns);
      const std::uint32_t block = step_block(step);
      if (at.readings != nullptr) at.readings->ran(block, ns);
      enter(at, block, static_cast<std::int64_t>(step.visits), ns, static_cast<std::int64_t>(step.work), spend);
    }
    if (until_ns > at.now_ns || unmarked_work != 0) {
      const std::uint32_t block = between_block(at.previous_site, site);
      if (at.readings != nullptr) at.readings->ran(block, until_ns - at.now_ns);
      enter(at, block, at.visited ? 0 : 1, until_ns - at.now_ns, unmarked_work, spend);
      at.visited = true;
    }
    if (at.readings == nullptr) return;
    at.readings->end_segment([&](std::uint32_t block, core::code_count what, std::int64_t value) {
      enter(at, blocks_->intern(count_key(what), (*blocks_)[block].block), 0, 0, value, spend);
    });
  }

  // Enters untimed counts, within the unmarked code between the two calls. Counts may be negative in an interval that
  // begins or ends inside the counted code; over the whole path they are not.
  template <class Spend>
  bool count_code(place& at, const core::path_step& step, std::uint64_t site, Spend& spend) {
    const counted_code::range terms = rank_->code.find(step.block);
    if (terms.first == terms.last) return false;
    const core::stable_key within = (*blocks_)[between_block(at.previous_site, site)].block;
    for (const counted_code::term& t : terms) {
      enter(at, blocks_->intern(t.block, within), t.factor * static_cast<std::int64_t>(step.visits), 0, 0, spend);
    }
    return true;
  }

  std::uint32_t step_block(const core::path_step& step) {
    if (step.ticks == 0 && step.within != 0 && step.within < rank_->blocks.size()) {
      return blocks_->intern(rank_->blocks[step.block], rank_->blocks[step.within]);
    }
    std::uint32_t& number = step_blocks_[step.block];
    if (number == base::key_map::none) number = blocks_->intern(rank_->blocks[step.block]);
    return number;
  }

  [[gnu::noinline]] std::uint32_t call_block(std::uint32_t site) {
    if (site >= call_blocks_.size()) return blocks_->call(0);
    std::uint32_t& number = call_blocks_[site];
    if (number == base::key_map::none) number = blocks_->call(here_->call_sites[site]);
    return number;
  }

  // `site` beyond the table: the end of recording.
  std::uint32_t between_block(std::int64_t previous_site, std::uint64_t site) {
    return recent_(static_cast<std::uint32_t>(previous_site + 1), static_cast<std::uint32_t>(site),
                   [&](std::uint32_t, std::uint32_t) { return find_between_block(previous_site, site); });
  }
  [[gnu::noinline]] std::uint32_t find_between_block(std::int64_t previous_site, std::uint64_t site) {
    const std::uint64_t pair = ((static_cast<std::uint64_t>(previous_site + 1) << 32) | (site & 0xffffffffu)) + 1;
    std::uint32_t number = between_blocks_.find(pair);
    if (number == base::key_map::none) {
      const auto key = [this](std::uint64_t s) { return s < here_->call_sites.size() ? here_->call_sites[s] : 0; };
      const core::stable_key first = previous_site < 0 ? 0 : code_after(*here_, static_cast<std::uint32_t>(previous_site));
      number = blocks_->between(first, key(site));
      between_blocks_.intern(pair, number);
    }
    return number;
  }

  const rank_history* rank_;
  const location_history* here_;
  core::chunked_view<const core::sync_record> records_;
  core::chunked_view<const core::path_step> steps_;
  std::uint64_t marked_blocks_;
  block_table* blocks_;
  base::pod_vector<std::uint32_t> step_blocks_, call_blocks_;
  base::key_map between_blocks_;
  base::pair_cache<std::uint32_t, 3> recent_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
