#ifndef WHYWAIT_EXPLAIN_OPTIONS_HPP
#define WHYWAIT_EXPLAIN_OPTIONS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/history.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace base {
class memory_pool;
}
namespace explain {

struct options;
class run_clocks;

/// Creates the virtual clocks of the ranks that a process hosts; borrows all arguments. `memory`: the pool of the run.
using make_clocks = std::unique_ptr<run_clocks> (*)(const rank_history* histories, std::size_t count, const options& settings,
                                                    base::memory_pool& memory);

/// One wait, before merging.
struct wait_instance {
  pattern why = pattern::late_sender;
  quality trust = quality::exact;
  bool wrong_order = false;
  bool other_ready = false;    ///< for at least half of it a message lay ready that is received later (arrival_flag)
  std::uint16_t ready = 0;     ///< the part that the code after later receives would fill, of all_of_wait (arrival)
  bool explained = false;      ///< false: below the threshold, or the cause came after its end
  bool counted = true;         ///< false: the rank was paused by MPI_Pcontrol(0)
  std::int32_t rank = 0;       ///< the rank that waited
  std::uint32_t location = 0;  ///< index of the location in its rank
  std::uint32_t record = 0;    ///< index of the record that waited
  core::stable_key cause = 0;  ///< call site of the causer
  std::int32_t causer_rank = 0;
  std::uint32_t causer_location = 0;
  std::uint32_t causer_record = 0;  ///< the record whose beginning the waiter needed
  std::int64_t begin_ns = 0;        ///< shared time at which the wait began
  std::int64_t wait_ns = 0;
  std::int64_t since_ns = INT64_MIN;  ///< when both were last aligned; INT64_MIN: never, or not explained
  base::vector<residual_term> terms;  ///< every block in which the two paths differ; their sum is wait_ns if explained
};

/// The causal path profile of a location at its end: the critical path into that instant.
struct path_instance {
  std::int32_t rank = 0;
  std::uint32_t location = 0;
  std::int64_t elapsed_ns = 0;  ///< from the earliest rank's begin to this location's end
  base::vector<residual_term> entries;  ///< causer_ns and causer_visits of every block; causer_ns add up to elapsed_ns
};

/// Receives every wait when it is explained. Called by the thread that runs `explain`; waits of one location arrive in
/// their order, those of different locations in any order.
class observer {
 public:
  virtual ~observer() = default;
  virtual void wait(const wait_instance&) {}
  virtual void path(const path_instance&) {}
};

/// Where a call is in the source; keys that are the same on all ranks, 0 if unknown.
struct source_keys {
  core::stable_key function = 0;
  core::stable_key line = 0;  ///< compilers make one line into several call sites, also in ranks that take other branches
};

/// Tells which call sites of this process lie in the same function, and in the same line.
class function_names {
 public:
  /// The function and the line that contain the call. May read debug information.
  virtual source_keys source_of(core::stable_key call_site) = 0;
  /// Whether this process made the call. O(1).
  virtual bool contains(core::stable_key call_site) const = 0;

 protected:
  ~function_names() = default;
};

/// The settings of one analysis; the same on all ranks, apart from borrowed objects.
struct options {
  std::int64_t threshold_ns = 1000;  ///< shorter waits are summed, but not explained
  std::int64_t progress_ns = 5000;  ///< shorter waits for an entry of the partner are taken for transfer
  std::int64_t relay_ns = 10000;  ///< the same for members that a collective needs only because of its tree
  std::int64_t clock_error_ns = 0;  ///< known error of the shared time; waits under 4 times as long are `bounded`
  double class_distance = 0.25;  ///< total variation distance within one shape (docs/method.md 1.7)
  std::uint32_t classes_per_key = 8;  ///< maximum number of shapes per (pattern, operation, cause)
  double kept_share = 0.95;  ///< presentation: terms that make up this part of a wait are kept
  double least_share = 0.01;  ///< presentation: terms below this part of a wait are dropped
  std::size_t listed_terms = 16;  ///< presentation: of more terms, those below this part of all together are dropped
  std::size_t listed_locations = 16;  ///< waiters and causers named per explanation
  observer* watch = nullptr;  ///< optional; borrowed
  function_names* functions = nullptr;  ///< optional; borrowed. Balancing then joins unmarked code between the same functions
  /// The virtual clocks: compensation, efficiencies, savings. Null: off, and not compiled. On: `&virtual_clocks` of
  /// <whywait/clocks/virtual_clocks.hpp>; the same on all ranks.
  make_clocks clocks = nullptr;
  base::vector<what_if> questions;  ///< answered by the virtual clocks, in this order
  std::size_t savings = 8;  ///< number of most explaining blocks for which "twice as fast" is predicted,
      ///< and half as many of the critical path
  bool maps = false;  ///< the maps of the run (run_maps.hpp), and with the clocks more factors for the largest savings
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
