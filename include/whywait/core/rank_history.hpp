#ifndef WHYWAIT_CORE_RANK_HISTORY_HPP
#define WHYWAIT_CORE_RANK_HISTORY_HPP

#include <whywait/core/chunked_view.hpp>
#include <whywait/core/overhead.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/shared_clock.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/core/thread_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace core {

/// A communicator as one process knew it.
struct communicator {
  stable_key id = 0;   ///< the same on all members; 0: unknown, its operations match nothing
  std::int32_t size = 0;     ///< ranks that `peer` may name
  std::int32_t rank = 0;     ///< own rank in it
  bool inter = false;        ///< `peer` names ranks of the remote group
  std::vector<std::int32_t> world = {};  ///< world rank of each peer; empty: the identity
  std::int32_t own_size = 0;  ///< intercommunicator: ranks of the own group
  bool first = false;         ///< intercommunicator: the own group is the one that both sides count as the first
  bool outside = false;       ///< has members outside of MPI_COMM_WORLD, whose world rank is -1
};

/// What one location (thread of a rank) recorded, in the order it happened. Views: the recorder owns it.
struct location_history {
  std::int32_t thread = 0;
  chunked_view<const sync_record> records;
  chunked_view<const path_step> steps;
  chunked_view<const std::int32_t> needs;   ///< ranks of sparse collectives
  chunked_view<const thread_cut> cuts;      ///< where threads were that this one began to wait for, by record
  chunked_view<const path_step> cut_steps;  ///< what they had done since their last record, in the order of the cuts
  chunked_view<const path_step> open_steps; ///< what it has done since its last record, if it still runs
  std::uint64_t open_wait = 0;  ///< when the wait began in which it is at the end, for a thread or something outside; 0: none
  std::uint32_t open_site = 0;  ///< sync_record::site of that call
  mpi_call open_call = mpi_call::none;
  std::uint64_t absent = 0;  ///< clock ticks in which its thread did not exist (thread_book)
  std::uint64_t opened = 0;  ///< when the thread began, if it left no record of that; clock ticks, 0: not known
  std::vector<stable_key> call_sites;  ///< meaning of sync_record::site
  std::vector<stable_key> code_sites;  ///< names of the code that follows these calls; empty: call_sites
  chunked_view<const order_segment> order;  ///< with WHYWAIT_PATH=order, by record
  chunked_view<const order_node> order_nodes;  ///< meaning of order_segment::first
  std::vector<call_overhead> call_overheads;  ///< by mpi_call, in addition to the records; empty: none
  mark_overhead mark_overheads{};  ///< the same for marks
  std::uint64_t dropped = 0;  ///< records lost; what touches this location is then `bounded`
  std::uint64_t carried = 0;  ///< the first records: from earlier epochs, seen before
  bool whole = true;  ///< its time is that of the rank; false: a further thread, which counts from its first to its last call
};

/// What names the begin of the code that follows a call; 0 beyond the table.
inline stable_key code_after(const location_history& location, std::uint32_t site) noexcept {
  const std::vector<stable_key>& keys = location.code_sites.empty() ? location.call_sites : location.code_sites;
  return site < keys.size() ? keys[site] : 0;
}

/// What recording a call costs at this location; nothing if it is not known.
inline call_overhead overhead_of(const location_history& location, mpi_call call) noexcept {
  const auto at = static_cast<std::size_t>(call);
  return at < location.call_overheads.size() ? location.call_overheads[at] : call_overhead{};
}

/// Steps of code that the compiler counts. The counters count arcs of the control flow or addresses; reported lines are
/// linear forms of them. Their numbers follow those of marked places.
class counted_code {
 public:
  struct term {
    stable_key block = 0;
    std::int64_t factor = 1;  ///< the block was visited this many times for each time that the step was
  };
  struct range {
    const term* first;
    const term* last;
    const term* begin() const noexcept { return first; }
    const term* end() const noexcept { return last; }
  };

  /// Numbers must come in ascending order, each once. `line`: for the order of the path, the first number that is of the
  /// same line; 0: not for it.
  void add(std::uint32_t number, const term* terms, std::size_t count, std::uint32_t line = 0) {
    numbers_.push_back(number);
    lines_.push_back(line);
    terms_.insert(terms_.end(), terms, terms + count);
    ends_.push_back(terms_.size());
  }
  void add(std::uint32_t number, std::initializer_list<term> terms, std::uint32_t line = 0) {
    add(number, terms.begin(), terms.size(), line);
  }
  bool empty() const noexcept { return numbers_.empty(); }
  /// What a step stands for; nothing if it is not known. O(log numbers).
  range find(std::uint32_t number) const noexcept {
    const std::size_t at = index_of(number);
    if (at == numbers_.size()) return {nullptr, nullptr};
    return {terms_.data() + (at == 0 ? 0 : ends_[at - 1]), terms_.data() + ends_[at]};
  }
  /// The line of a step, named by its first number; 0 if it is not known. O(log numbers).
  std::uint32_t line_of(std::uint32_t number) const noexcept {
    const std::size_t at = index_of(number);
    return at == numbers_.size() ? 0 : lines_[at];
  }

 private:
  std::size_t index_of(std::uint32_t number) const noexcept {
    const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), number);
    return found == numbers_.end() || *found != number ? numbers_.size() : static_cast<std::size_t>(found - numbers_.begin());
  }

  std::vector<std::uint32_t> lines_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::size_t> ends_;
  std::vector<term> terms_;
};

/// What one rank brings to the explanation.
struct rank_history {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t node = -1;  ///< machine it runs on, numbered alike on all ranks; -1: unknown
  shared_clock clock;
  std::int64_t begin_ns = 0;  ///< shared time at which recording began (leave of MPI_Init)
  std::int64_t end_ns = 0;  ///< shared time at which it ended (enter of MPI_Finalize or of the analysis)
  std::vector<location_history> locations;  ///< meaning of sync_record::completed_by
  std::vector<communicator> communicators;  ///< meaning of sync_record::comm
  std::vector<stable_key> blocks;  ///< meaning of path_step::block; [0] is unused
  counted_code code;  ///< meaning of those beyond `blocks`
  bool threads_are_ranks = false;  ///< a process without MPI: each of its threads is a rank with one location
  // An epoch of a longer run (folding.hpp): from one operation that synchronised all ranks to the next.
  bool continued = false;  ///< all ranks were in step at `begin_ns`
  bool continues = false;  ///< they are again at `end_ns`, and records go on: nothing is later than that
  std::int64_t before_ns = 0;  ///< time of this rank that earlier epochs had
  std::uint32_t posted_before = 0;  ///< the last ordinal of earlier epochs
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
