#ifndef WHYWAIT_RULES_OWN_CODE_HPP
#define WHYWAIT_RULES_OWN_CODE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pair_cache.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/code_readings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Stands for the time that a thread slept in one of several blocks.
constexpr core::stable_key of_several = explain::count_key(core::code_count::blocked_ns);

/// What one thread of a rank itself did in one block, outside MPI.
struct rank_code {
  core::stable_key block = 0;  ///< or `of_several`
  std::int64_t ns = 0, visits = 0, work = 0;
  std::int64_t polls_ns = 0;  ///< of `ns`, between two polls of one call: it may be a loop that waits
  core::code_counts counts{};
  std::int32_t thread = 0;
};

/// What the kernel counted of the main thread of a rank, and of all its threads.
struct processor_use {
  std::int64_t ran_ns = 0;        ///< it had a processor
  std::int64_t ran_times = 0;     ///< how often it got one
  std::int64_t delay_ns = 0;      ///< it was ready to run, and had none
  std::int64_t own_delay_ns = 0;  ///< part of it outside MPI
  std::int64_t process_ns = 0;    ///< all threads had a processor, also together; 0: not known
  std::uint32_t offered = 0;      ///< what the machine counts, a bit for each core::code_count
  std::int32_t refused = 0;  ///< why it does not count instructions and cycles, as errno; 0: it does, or this is not known
  std::int32_t processors = 0;  ///< that it may use; 0: unknown

  /// What happened after `before`; the processors of now.
  processor_use since(const processor_use& before) const noexcept {
    return {ran_ns - before.ran_ns,
            ran_times - before.ran_times,
            delay_ns - before.delay_ns,
            own_delay_ns - before.own_delay_ns,
            process_ns - before.process_ns,
            offered,
            refused,
            processors};
  }
  /// This and `part` (0 to 1) of what happened `later`; the processors of `later`.
  processor_use plus(const processor_use& later, double part) const noexcept {
    const auto of = [part](std::int64_t count) { return static_cast<std::int64_t>(part * static_cast<double>(count)); };
    return {ran_ns + of(later.ran_ns),
            ran_times + of(later.ran_times),
            delay_ns + of(later.delay_ns),
            own_delay_ns + of(later.own_delay_ns),
            process_ns + of(later.process_ns),
            later.offered,
            later.refused,
            later.processors};
  }
  /// The part of `delay_ns` that held the rank up. A rank that yields its processor while it waits in MPI is ready all the
  /// time and gets one as soon as it needs it. It runs for microseconds at a time; one that spins, for milliseconds.
  std::int64_t held_up_ns() const noexcept {
    const bool yields = ran_ns < 200'000 * ran_times;
    return yields ? own_delay_ns : delay_ns;
  }
};

/// From this part of its time on code is said to sleep.
constexpr double least_asleep = 0.1;

/// One block of code on all threads that ran it, of ranks with one thread on all ranks: in total, and on the thread with the most
/// time in it. Sent between ranks as bytes.
struct code_use {
  core::stable_key block = 0;
  std::int64_t ns = 0, visits = 0, work = 0;
  std::int64_t most_ns = 0, most_visits = 0, most_work = 0;
  std::int64_t most_whole_ns = 0;  ///< time of that thread in all blocks, without that between two polls of one call
  core::code_counts counts{}, most_counts{};
  std::int64_t most_delay_ns = 0;  ///< of all its own code: ready to run without a processor
  std::int64_t most_polls_ns = 0;  ///< its time between two polls of one call
  std::int64_t most_asleep_ns = 0;  ///< in all its code: asleep or blocked
  std::int64_t second_ns = 0;  ///< time of the thread with the second most
  std::int64_t ran_ns = 0, most_ran_ns = 0;  ///< with a processor, as far as that was counted
  std::int64_t threads = 0, most_threads = 0;  ///< that had the ranks, one after the other
  std::int32_t ranks = 0, counting_ranks = 0;  ///< threads that ran it; of these, with units of work
  std::int32_t most_rank = -1, most_thread = 0, most_processors = 0;

  void add(const code_use& o) noexcept {
    second_ns = std::max(std::max(second_ns, o.second_ns), std::min(most_ns, o.most_ns));
    if (o.most_ns > most_ns) {  // on a tie the lower rank stays
      most_ns = o.most_ns;
      most_visits = o.most_visits;
      most_work = o.most_work;
      most_whole_ns = o.most_whole_ns;
      most_delay_ns = o.most_delay_ns;
      most_counts = o.most_counts;
      most_ran_ns = o.most_ran_ns;
      most_threads = o.most_threads;
      most_polls_ns = o.most_polls_ns;
      most_asleep_ns = o.most_asleep_ns;
      most_processors = o.most_processors;
      most_rank = o.most_rank;
      most_thread = o.most_thread;
    }
    ns += o.ns;
    visits += o.visits;
    work += o.work;
    counts.add(o.counts);
    ran_ns += o.ran_ns;
    threads += o.threads;
    ranks += o.ranks;
    counting_ranks += o.counting_ranks;
  }

  /// Of `among` ranks, what the one with the most time has above the mean because of what it ran itself: neither because it had no
  /// processor, nor because more threads had its place. At most 0: nothing.
  std::int64_t own_excess_ns(std::int64_t among) const noexcept {
    const std::int64_t excess = most_ran_ns - ran_ns / std::max<std::int64_t>(1, among);
    const std::int64_t others = threads - most_threads, other_ranks = ranks - 1;
    if (others < 1 || other_ranks < 1 || most_threads * other_ranks <= others) return excess;
    const double each = static_cast<double>(ran_ns - most_ran_ns) / static_cast<double>(others);  // of another thread
    return std::min(excess, most_ran_ns - static_cast<std::int64_t>(each * static_cast<double>(most_threads)));
  }

  /// The part of its time (0 to 1) in which the thread with the most was asleep or blocked; 0 where most of it was not counted, and of
  /// code in which all count units of work, which may sleep as well.
  double asleep() const noexcept { return counting_ranks == ranks ? 0 : part_of_most(core::code_count::blocked_ns); }
  /// The part of its time (0 to 1) in which that thread was ready to run without a processor; 0 where most of it was not counted.
  double lacking() const noexcept { return part_of_most(core::code_count::delay_ns); }
  /// Whether less work, or another division of it, may change nothing: that thread sleeps for a good part of the time, for most of
  /// what it takes longer than the others, or, as up to the next tick of a clock, in other code for half of what evening it out saves.
  bool sleeps() const noexcept {
    const std::int64_t others = std::max(1, ranks - 1);
    const auto longer_ns = [others](std::int64_t most, std::int64_t all) { return most - (all - most) / others; };
    constexpr auto what = core::code_count::blocked_ns;
    const std::int64_t more_ns = longer_ns(most_ns, ns), evened_ns = most_ns - ns / std::max(1, ranks);
    return asleep() >= least_asleep || (asleep() > 0 && 2 * longer_ns(most_counts[what], counts[what]) >= more_ns) ||
           (evened_ns > 0 && 2 * (most_asleep_ns - most_counts[what]) >= evened_ns);
  }

 private:
  double part_of_most(core::code_count what) const noexcept {
    const std::int64_t read_ns = most_counts[core::code_count::read_ns];
    if (read_ns <= 0 || 2 * read_ns < most_ns) return 0;
    return static_cast<double>(most_counts[what]) / static_cast<double>(read_ns);
  }
};
static_assert(std::is_trivially_copyable<code_use>::value, "sent between ranks as bytes");

/// Code of some ranks by block, at most the 256 blocks with the most time, and of all blocks together.
struct code_table {
  static constexpr std::size_t most = 256;
  base::pod_vector<code_use> blocks;  ///< sorted by block
  code_use whole;

  const code_use* find(core::stable_key block) const noexcept {
    const auto at = std::lower_bound(blocks.begin(), blocks.end(), block,
                                     [](const code_use& a, core::stable_key b) { return a.block < b; });
    return at != blocks.end() && at->block == block ? &*at : nullptr;
  }

  /// Adds the code of higher ranks. Linear.
  void merge(const code_table& from) {
    const base::pod_vector<code_use> old = std::move(blocks);
    blocks.clear();
    blocks.reserve(old.size() + from.blocks.size());
    for (std::size_t i = 0, j = 0; i < old.size() || j < from.blocks.size();) {
      const bool mine = j == from.blocks.size() || (i < old.size() && old[i].block <= from.blocks[j].block);
      const bool theirs = i == old.size() || (j < from.blocks.size() && from.blocks[j].block <= old[i].block);
      blocks.push_back(mine ? old[i] : from.blocks[j]);
      if (mine && theirs) blocks.back().add(from.blocks[j]);
      i += mine ? 1 : 0;
      j += theirs ? 1 : 0;
    }
    whole.add(from.whole);
    if (blocks.size() <= most) return;
    base::small_stable_sort(blocks, [](const code_use& a, const code_use& b) { return a.ns > b.ns; });
    blocks.resize(most);
    base::small_stable_sort(blocks, [](const code_use& a, const code_use& b) { return a.block < b.block; });
  }
};

/// Adds what a rank did in its recorded history to `so_far`, which is sorted by thread and block. O(records + steps).
inline void add_own_code(base::pod_vector<rank_code>& so_far, const explain::rank_history& rank) {
  base::key_map numbers;
  base::pod_vector<rank_code> all = so_far;
  std::int32_t thread = 0;
  const auto key_in = [&thread](core::stable_key block) {
    return thread == 0 ? block : core::combine(block, static_cast<std::uint64_t>(thread));
  };
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    thread = all[i].thread;
    numbers.intern(key_in(all[i].block), i);
  }
  const auto in = [&](core::stable_key block) -> rank_code& {
    const std::uint32_t number = numbers.intern(key_in(block), static_cast<std::uint32_t>(all.size()));
    if (number == all.size()) all.push_back({block, 0, 0, 0, 0, {}, thread});
    return all[number];
  };
  for (const explain::location_history& here : rank.locations) {
    thread = here.thread;
    const bool works = explain::works_unmarked(here);
    base::pod_vector<std::uint32_t> marked(rank.blocks.size(), base::key_map::none);  // numbers of marked blocks
    explain::location_walk walk(rank);
    std::uint64_t step = 0;
    std::int64_t left_ns = rank.begin_ns;
    constexpr std::uint32_t no_site = 0xffffffffu;
    std::uint32_t from = no_site;
    std::uint64_t code_end = 0;
    bool visited = false;
    base::pair_cache<std::uint32_t, 4> between;
    explain::code_readings readings;
    const auto read = [&] {
      const std::int64_t rest_ns = readings.end_segment(
          [&](std::uint32_t number, core::code_count what, std::int64_t value) { all[number].counts[what] += value; });
      if (rest_ns != 0) in(of_several).counts[core::code_count::blocked_ns] += rest_ns;
    };
    const auto key_of = [&here](std::uint32_t site) { return site < here.call_sites.size() ? here.call_sites[site] : 0; };
    const auto compute = [&](std::uint64_t steps_end, std::int64_t until_ns, std::uint32_t site, bool polls) {
      std::int64_t room_ns = until_ns - left_ns;
      for (const std::uint64_t end = std::min<std::uint64_t>(steps_end, here.steps.size()); step < end; ++step) {
        const core::path_step& s = here.steps[step];
        if (readings.take(s)) continue;
        if (s.block == 0 || s.block >= rank.blocks.size() || s.ticks == 0) continue;
        const auto ns = std::min(static_cast<std::int64_t>(static_cast<double>(s.ticks) * rank.clock.ns_per_tick), room_ns);
        room_ns -= ns;
        std::uint32_t& number = marked[s.block];
        if (number == base::key_map::none) number = static_cast<std::uint32_t>(&in(rank.blocks[s.block]) - all.data());
        readings.ran(number, ns);
        rank_code& c = all[number];
        c.ns += ns;
        c.visits += static_cast<std::int64_t>(s.visits);
        c.work += static_cast<std::int64_t>(s.work);
      }
      step = std::max(step, steps_end);
      if (room_ns > 0 && !works) readings.left(room_ns);
      if (room_ns <= 0 || !works) return read();
      const std::uint32_t number = between(from, site, [&](std::uint32_t a, std::uint32_t b) {
        return static_cast<std::uint32_t>(&in(explain::between_key(code_after(here, a), key_of(b))) - all.data());
      });
      readings.ran(number, room_ns);
      rank_code& c = all[number];
      c.ns += room_ns;
      if (polls && room_ns == until_ns - left_ns) c.polls_ns += room_ns;
      c.visits += visited ? 0 : 1;
      visited = true;
      read();
    };
    for (std::uint64_t i = 0; i < here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      walk.step(r);
      const std::uint32_t end = explain::code_end_site(here, i, code_end);
      const bool polls = explain::is_between_polls(here, i);
      compute(r.steps, walk.begin_ns(), end, polls);
      left_ns = walk.leave_ns();
      readings.called(r.call, left_ns - walk.begin_ns());
      if (core::divides_no_code(r)) continue;
      from = r.site;
      visited = false;
    }
    compute(here.steps.size(), std::max(rank.end_ns, left_ns), no_site, false);
  }
  base::small_stable_sort(all, [](const rank_code& a, const rank_code& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.block < b.block;
  });
  so_far = std::move(all);
}

/// The code of one rank, sorted by thread, as a table. `processor`: of its main thread. `threads`: that had the rank one after the
/// other, if threads are ranks.
inline code_table code_of(std::int32_t rank, const base::pod_vector<rank_code>& code, const processor_use& processor = {},
                          std::int64_t threads = 0) {
  code_table out;
  const auto ran_ns_of = [threads](const rank_code& c) {
    const std::int64_t delay_ns = threads > 0 ? c.counts[core::code_count::delay_ns] : 0;
    return c.ns - std::min(std::max<std::int64_t>(0, delay_ns), c.ns);
  };
  std::size_t end = 0;
  std::int64_t main_ns = 0;
  core::code_counts main_counts{};
  do {  // one thread after the other; the first one also if it has no code
    code_table of_thread;
    const std::size_t begin = end;
    rank_code whole;
    if (begin < code.size()) whole.thread = code[begin].thread;
    std::int64_t ran_ns = 0;
    for (; end < code.size() && code[end].thread == whole.thread; ++end) {
      whole.ns += code[end].ns - code[end].polls_ns;
      whole.counts.add(code[end].counts);
      ran_ns += ran_ns_of(code[end]);
    }
    const bool main = whole.thread == 0;
    if (main) {
      main_ns = whole.ns;
      main_counts = whole.counts;
    }
    const auto enter = [&](const rank_code& c) {
      code_use u;
      u.block = c.block;
      u.ns = u.most_ns = c.ns;
      u.visits = u.most_visits = c.visits;
      u.work = u.most_work = c.work;
      u.most_whole_ns = whole.ns;
      u.most_delay_ns = threads > 0 ? whole.ns - ran_ns : main ? processor.own_delay_ns : 0;
      u.counts = u.most_counts = c.counts;
      u.most_polls_ns = c.polls_ns;
      u.most_asleep_ns = whole.counts[core::code_count::blocked_ns];
      u.most_processors = processor.processors;
      u.ran_ns = u.most_ran_ns = ran_ns_of(c);
      u.threads = u.most_threads = std::max<std::int64_t>(1, threads);
      u.most_rank = rank;
      u.most_thread = c.thread;
      u.ranks = 1;
      u.counting_ranks = c.work > 0 ? 1 : 0;
      return u;
    };
    for (std::size_t i = begin; i != end; ++i)
      if (code[i].block != of_several) of_thread.blocks.push_back(enter(code[i]));
    of_thread.whole = enter(whole);
    of_thread.whole.ran_ns = of_thread.whole.most_ran_ns = ran_ns;
    out.merge(of_thread);
  } while (end < code.size());
  if (processor.process_ns > 0) {
    // No thread had a processor for longer than its code takes. Where the main thread spins while it waits, others may as well, and
    // code may sleep: then it is not known how long it ran, unless that was counted around most of its code.
    const bool spins = 10 * processor.ran_ns > 11 * main_ns;
    const std::int64_t read_ns = main_counts[core::code_count::read_ns];
    std::int64_t main_ran_ns = spins ? 0 : std::min(main_ns - std::min(main_ns, processor.own_delay_ns), processor.ran_ns);
    if (read_ns > 0 && 10 * read_ns >= 9 * main_ns) main_ran_ns = std::min(main_ns, main_counts[core::code_count::ran_ns]);
    const std::int64_t others_ran_ns = spins ? 0 : std::max<std::int64_t>(0, processor.process_ns - processor.ran_ns);
    out.whole.ran_ns = main_ran_ns + std::min(out.whole.ns - main_ns, others_ran_ns);
  }
  return out;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
