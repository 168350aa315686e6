#ifndef WHYWAIT_EXPLAIN_EXPLANATION_HPP
#define WHYWAIT_EXPLAIN_EXPLANATION_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/picture.hpp>
#include <whywait/explain/run_maps.hpp>
#include <whywait/explain/slower_parts.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The reason of a wait. The names are those of the output schema and, where Scalasca has the pattern, Scalasca's.
enum class pattern : std::uint8_t {
  late_sender,
  late_receiver,
  wait_at_barrier,
  wait_at_nxn,
  late_broadcast,
  early_reduce,
  early_scan,
  wait_at_create,
  wait_at_finalize,
  nonblocking_collective,
  wait_for_progress,
  wait_at_fence,
  late_post,
  early_wait,
  late_complete,
  window_lock_contention,
  mutex_contention,
  condition_variable,
  thread_barrier,
  latch,
  semaphore,
  future,
  join,
  count_
};

/// The schema's word, for example "late_sender". Static storage.
inline const char* name_of(pattern p) noexcept {
  static constexpr const char* names[] = {"late_sender",
                                          "late_receiver",
                                          "wait_at_barrier",
                                          "wait_at_nxn",
                                          "late_broadcast",
                                          "early_reduce",
                                          "early_scan",
                                          "wait_at_create",
                                          "wait_at_finalize",
                                          "nonblocking_collective",
                                          "wait_for_progress",
                                          "wait_at_fence",
                                          "late_post",
                                          "early_wait",
                                          "late_complete",
                                          "window_lock_contention",
                                          "mutex_contention",
                                          "condition_variable",
                                          "thread_barrier",
                                          "latch",
                                          "semaphore",
                                          "future",
                                          "join"};
  return p < pattern::count_ ? names[static_cast<unsigned>(p)] : "unknown";
}

/// Whether ranks wait for a lock of a window, or threads for a lock.
constexpr bool waits_for_lock(pattern p) noexcept {
  return p == pattern::window_lock_contention || p == pattern::mutex_contention;
}

/// The reliability of an explanation, best first; merging keeps the worst.
enum class quality : std::uint8_t { exact, bounded, order_suspect, hidden_tree };

/// The kind of code of a block. `block_meaning::key` is the key of a derived block.
enum class block_kind : std::uint8_t {
  region,   ///< timed scope: first = its key
  step,     ///< untimed block: first = its key
  waiting,  ///< WHYWAIT_WAIT scope: first = its key
  between,  ///< unmarked code between two MPI calls: first, second = call sites (first 0: since MPI_Init)
  call,     ///< time inside an MPI call that is not waiting for others (transfer, library): first = call site
  startup,  ///< before MPI_Init returned, relative to the first rank out of it
  other     ///< the rest of a bounded profile
};

/// The meaning of a block key that the engine derived, in keys that the recording rank can name.
struct block_meaning {
  core::stable_key key = 0;
  block_kind kind = block_kind::region;
  core::stable_key first = 0;
  core::stable_key second = 0;
};

/// The sums of one residual line over all merged waits. Plain values without padding: the type is added up, sent
/// between ranks and presented as it is. Invariant: total_ns = visits_ns + speed_ns; without a lead also
/// causer_ns - waiter_ns (docs/method.md 1.4).
struct residual_sums {
  std::int64_t total_ns = 0;
  std::int64_t visits_ns = 0;     ///< because the block was entered more (or fewer) times, or only on one side
  std::int64_t speed_ns = 0;      ///< because each visit (or work unit) took longer (or shorter)
  std::int64_t inherited_ns = 0;  ///< part executed by ranks for which the causer itself had waited
  // Both sides since they were last aligned, up to the same place of the program.
  std::int64_t causer_visits = 0, waiter_visits = 0;
  std::int64_t causer_work = 0, waiter_work = 0;
  std::int64_t causer_ns = 0, waiter_ns = 0;
  std::int64_t lead_visits = 0;  ///< visits of the waiter beyond that place; negative: missing up to it

  /// Whether the late side has fewer visits, or less work in the same visits. Sums of such lines are such lines.
  bool fewer() const noexcept {
    return causer_visits != waiter_visits ? causer_visits < waiter_visits : causer_work < waiter_work;
  }

  void add(const residual_sums& o) noexcept {
    total_ns += o.total_ns;
    visits_ns += o.visits_ns;
    speed_ns += o.speed_ns;
    inherited_ns += o.inherited_ns;
    causer_visits += o.causer_visits;
    waiter_visits += o.waiter_visits;
    causer_work += o.causer_work;
    waiter_work += o.waiter_work;
    causer_ns += o.causer_ns;
    waiter_ns += o.waiter_ns;
    lead_visits += o.lead_visits;
  }
};

/// One line of an explanation: how much more of one block the causer's path has than the waiter's path.
struct residual_term : residual_sums {
  core::stable_key block = 0;
  core::stable_key within = 0;  ///< the enclosing region of an untimed step, whose total_ns is 0; otherwise 0

  bool same_block(const residual_term& o) const noexcept { return block == o.block && within == o.within; }
  /// The canonical order of a residual: by the keys of the block, which are the same on all ranks. While waits are
  /// merged, those in which the late side has fewer visits are a line of their own.
  bool before(const residual_term& o) const noexcept {
    if (block != o.block) return block < o.block;
    return within != o.within ? within < o.within : fewer() < o.fewer();
  }
  bool same_line(const residual_term& o) const noexcept { return same_block(o) && fewer() == o.fewer(); }
};

/// What was counted of one block of an explanation on both sides.
struct counted_block {
  core::stable_key block = 0;
  both_counts counts;
  std::int64_t causer_ns = 0, waiter_ns = 0;  ///< the time in which it was counted
};

/// Why the late side is slower in a block: divides residual_sums::speed_ns. `counts`: sorted by block.
/// `fault_ns`: as in divide_speed.
inline slower_parts parts_of(const residual_term& line, const base::vector<counted_block>& counts,
                             std::int64_t fault_ns) noexcept {
  const counted_block* found = nullptr;
  for (const counted_block& c : counts) {
    if (c.block == line.block && line.within == 0) found = &c;
  }
  slower_parts none;
  none.not_counted_ns = line.speed_ns;
  if (found == nullptr) return none;
  const bool work = line.causer_work > 0 && line.waiter_work > 0;
  // The times are those up to the same place of the program, which may be fewer than what was counted is about.
  const auto side = [](std::int64_t ns, std::int64_t times, const core::code_counts& all, std::int64_t all_ns) {
    counted_side out{ns, times, all};
    if (all_ns <= 0 || all_ns == ns) return out;
    for (std::int64_t& v : out.counts.values)
      v = core::nearest(static_cast<double>(v) * static_cast<double>(ns) / static_cast<double>(all_ns));
    return out;
  };
  return divide_speed(
      side(line.waiter_ns, work ? line.waiter_work : line.waiter_visits, found->counts.waiter, found->waiter_ns),
      side(line.causer_ns, work ? line.causer_work : line.causer_visits, found->counts.causer, found->causer_ns), line.speed_ns,
      fault_ns);
}

/// Waiting suffered, or caused, by one location.
struct location_share {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  std::int64_t ns = 0;
};

/// One wait: which call waited for which call, and since when both sides ran something different.
struct wait_sample {
  std::int64_t wait_ns = 0;           ///< 0: no wait
  std::int64_t begin_ns = 0;          ///< shared time at which it began
  std::int64_t since_ns = INT64_MIN;  ///< shared time at which both were last aligned; INT64_MIN: never
  std::int32_t rank = 0, causer_rank = 0;
  std::uint32_t location = 0, causer_location = 0;  ///< index of the location in its rank
  std::uint32_t record = 0, causer_record = 0;      ///< the call that waited, the call that came late

  /// The longer wait; of equal ones the earlier, independent of rank numbers.
  bool outweighs(const wait_sample& o) const noexcept {
    if (wait_ns != o.wait_ns) return wait_ns > o.wait_ns;
    if (begin_ns != o.begin_ns) return begin_ns < o.begin_ns;
    if (rank != o.rank) return rank < o.rank;
    return location != o.location ? location < o.location : record < o.record;
  }
};

/// The numbers of one wait class: what adds up over its waits, without its lists. Plain values, sent between ranks as
/// they are.
struct class_sums {
  core::stable_key operation = 0;  ///< call site of the waiting call
  core::stable_key cause = 0;      ///< call site of the call that arrived late
  std::int64_t count = 0;          ///< waits merged
  std::int64_t wait_ns = 0;
  std::int64_t longest_ns = 0;
  double squares_us2 = 0;  ///< sum of the squares of the waits, each in whole microseconds
  std::int64_t wrong_order_count = 0;  ///< late senders whose message was received out of sending order
  std::int64_t wrong_order_ns = 0;
  std::int64_t other_ready_ns =
      0;  ///< for at least half of these waits a message lay ready that is received or waited for later
  std::int64_t ready_code_ns = 0;  ///< of the waits: the code after receives of messages that had come by then takes as long
  std::int64_t indirect_ns = 0;     ///< sum of inherited parts
  std::int64_t unexplained_ns = 0;  ///< below the threshold, clock violations, lost records
  std::int64_t first_ns = 0;        ///< shared time of the first wait: the canonical order of classes
  wait_sample longest;              ///< the longest wait that has an explanation of its own
  pattern why = pattern::late_sender;
  quality trust = quality::exact;

  /// Adds another part of the same class.
  void add(const class_sums& o) noexcept {
    if (count == 0) {
      operation = o.operation;
      cause = o.cause;
      why = o.why;
      first_ns = o.first_ns;
    }
    trust = trust < o.trust ? o.trust : trust;
    count += o.count;
    wait_ns += o.wait_ns;
    longest_ns = longest_ns < o.longest_ns ? o.longest_ns : longest_ns;
    squares_us2 += o.squares_us2;
    wrong_order_count += o.wrong_order_count;
    wrong_order_ns += o.wrong_order_ns;
    other_ready_ns += o.other_ready_ns;
    ready_code_ns += o.ready_code_ns;
    indirect_ns += o.indirect_ns;
    unexplained_ns += o.unexplained_ns;
    first_ns = o.first_ns < first_ns ? o.first_ns : first_ns;
    if (o.longest.outweighs(longest)) longest = o.longest;
  }
};

/// All waits of one pattern at one operation call site because of one cause call site, of one shape.
/// Invariant: sum of residual total_ns + unexplained_ns = wait_ns.
struct explanation : class_sums {
  wait_picture picture;             ///< both sides of the longest wait; empty unless WHYWAIT_PATH=order
  std::int64_t compensated_ns = 0;  ///< what wait_ns would have been without measurement overhead (options::clocks)
  quality compensated_trust = quality::exact;
  std::int64_t saving_ns = 0;           ///< the run would be shorter by this if its first block were twice as fast
  base::vector<residual_term> residual;  ///< largest |total_ns| first
  base::vector<counted_block> counts;    ///< of its blocks, sorted by block; empty: nothing was counted
  base::vector<location_share> waiters;  ///< largest share first; the rest in rank -1
  base::vector<location_share> causers;  ///< largest share first; the rest in rank -1

  /// The part of the wait that is inherited. The inherited terms may add up to more, where the causer itself did less than
  /// the waiter.
  std::int64_t inherited_wait_ns() const noexcept {
    return indirect_ns < 0 ? 0 : indirect_ns > wait_ns ? wait_ns : indirect_ns;
  }
};

/// The number of blocks that the critical path and the delay costs list; the others are added up.
constexpr std::size_t most_listed_blocks = 32;

/// One block of the critical path of the run.
struct critical_block {
  core::stable_key block = 0;
  std::int64_t ns = 0;            ///< time in it on the critical path; all blocks add up to the time of the run
  std::int64_t imbalance_ns = 0;  ///< the part above the mean of all locations
  std::int64_t visits = 0;
};

/// The waiting time caused by delays in one block (Boehme et al., ACM TOPC 2016).
struct delay_cost {
  core::stable_key block = 0;
  std::int64_t short_ns = 0;  ///< waits for the location that ran the block
  std::int64_t long_ns = 0;   ///< waits for locations that had waited for that location, and so on
};

/// The origin of the explained waits, in proportion. Three sums each equal all explained waits: all short_ns, long_ns
/// and nobody_ns; direct_ns, indirect_ns and the direct part of nobody_ns; propagating_ns and terminal_ns.
struct delay_costs {
  base::vector<delay_cost> blocks;   ///< most costly first
  std::int64_t direct_ns = 0;       ///< because the causer computed longer
  std::int64_t indirect_ns = 0;     ///< because the causer had waited itself
  std::int64_t propagating_ns = 0;  ///< waits that delayed a later wait of another location
  std::int64_t terminal_ns = 0;     ///< waits that no other location waited for
  std::int64_t nobody_ns = 0;       ///< no difference was found (clock error, lost records)
};

/// The effect of measurement on the run, and the run without it (docs/method.md 4.1).
struct compensation {
  bool calibrated = false;  ///< call costs are calibrated (location_history); otherwise only the records are used
  std::int64_t total_ns = 0;  ///< the run without measurement overhead
  std::int64_t waiting_ns = 0;  ///< sum of all waits without it
  std::int64_t overhead_ns = 0;  ///< measurement overhead executed by all locations
  std::int64_t bound_ns = 0;  ///< overhead on the measured critical path, the run is longer by no more (method 4.2)
  std::int64_t error_ns = 0;  ///< maximum error of total_ns: constants along the worst path, clocks (method 4.2)
  std::int64_t inversions = 0;  ///< wildcards and Waitany that would have taken another message first
};

/// Messages that complete only while their partner is in MPI: those of one direction, from a size on. Learnt from calls
/// that stayed blocked (progress.hpp).
struct progress_fact {
  bool sends = false;        ///< the sender waits; otherwise the receiver
  bool within_node = false;  ///< between ranks of one node; otherwise between nodes
  std::uint64_t least_bytes = 0;
  std::int64_t calls = 0;  ///< calls that showed it
};

/// The result of one analysis: complete on rank 0; on other ranks only the totals are set.
struct outcome {
  base::vector<explanation> waits;  ///< most costly first
  base::vector<block_meaning> meanings;  ///< of the derived block keys used in `waits`
  std::int64_t locations = 0;
  std::int64_t records = 0;
  std::int64_t waiting_ns = 0;  ///< sum of all waits
  std::int64_t paused_ns = 0;   ///< part of location_ns after MPI_Pcontrol(0): its waits are not counted
  std::int64_t location_ns = 0;  ///< sum over locations of recorded time
  std::int64_t longest_ns = 0;  ///< recorded time of the longest location
  std::int64_t clock_violations = 0;  ///< causes that arrived after their waiter had left
  std::int64_t unmatched = 0;  ///< postings without a partner
  std::int64_t fault_ns = 0;   ///< what a page fault takes at least, measured at the end; 0: not measured
  base::vector<progress_fact> progress;  ///< empty: no message was found to depend on its partner's calls
  std::int64_t total_ns = 0;  ///< from the first begin to the last end (options::clocks, as all members below)
  compensation without_overhead;
  efficiencies efficiency;
  base::vector<critical_block> critical_path;  ///< largest first
  delay_costs costs;
  base::vector<what_if_answer> answers;  ///< to options::questions
  base::vector<balance_answer> balances;  ///< blocks with the largest imbalance, in the order of `saves_more`
  base::vector<earlier_send> earlier_sends;  ///< largest saving first
  removed_call removal;  ///< of the barrier that ranks wait longest in
  removed_call
      polls;  ///< of waits for progress, if ranks called MPI in the code that holds it up (`site`: that which does longest)
  removed_call
      posts;  ///< of waits for receives, if these were posted, and messages sent, ahead of the code that makes them late
  removed_call no_locks;  ///< of all waits for locks; `site`: one of them
  turn_taking turns;  ///< of the two threads that wait longest for each other
  base::vector<what_if_answer> savings;  ///< the most costly blocks twice as fast, largest saving first
  base::vector<what_if_answer>
      factors;  ///< options::maps: the first of them and the network, at other speeds; by block, factor
  run_maps maps;                         ///< options::maps
};

/// Largest saving first; the sends of one group, and of one block of it, stay together.
inline void sort_by_saving(base::vector<earlier_send>& sends) {
  base::small_stable_sort(sends, [](const earlier_send& a, const earlier_send& b) {
    if (a.saving_ns != b.saving_ns) return a.saving_ns > b.saving_ns;
    if (a.group != b.group) return a.group < b.group;
    return a.block != b.block ? a.block < b.block : a.wait_ns > b.wait_ns;
  });
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
