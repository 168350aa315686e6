#ifndef WHYWAIT_REPORT_MAPS_HPP
#define WHYWAIT_REPORT_MAPS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/run_maps.hpp>
#include <whywait/report/named_block.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Waits whose late side had itself waited.
struct wait_link {
  std::size_t wait, through;  ///< indices in result::waits; `through`: the last wait of the late side before
  std::int64_t count;         ///< number of such waits
  double seconds;             ///< the part of them that was inherited
};

/// The run if one block took another time.
struct speed_answer {
  double factor;  ///< the block takes this many times as long
  double seconds, saving_seconds;  ///< of the run, wall time
};
struct speed_entry : named_block {
  bool network = false;  ///< not a block: all time inside MPI calls that is not waiting
  base::pod_vector<speed_answer> answers;  ///< by factor
};

/// The run if one block were balanced over the ranks that run it.
struct balance_entry : named_block {
  bool unmarked = false;   ///< not one block: all unmarked code together, or between calls of the same functions
  std::int32_t rank = 0, thread = 0;  ///< the thread that spends most time in it
  std::int32_t among = 0;  ///< number of threads that share it once balanced: with one thread each, of ranks
  double seconds = 0, saving_seconds = 0;  ///< of the run, wall time
};

/// The pictures of a run: ranks by time, ranks by ranks, how waits propagate, the run at other speeds.
struct maps_section {
  explain::run_maps run;  ///< ranks 0: not collected
  base::vector<named_block> blocks;  ///< names of run.blocks
  base::pod_vector<wait_link> links;  ///< most inherited first
  base::vector<speed_entry> speeds;   ///< largest saving first, the network last
  base::vector<balance_entry> balances;  ///< largest saving first; those that save anything
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
