#ifndef WHYWAIT_RULES_DATA_FACTS_HPP
#define WHYWAIT_RULES_DATA_FACTS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Threads that use a registered array in a block, and how they share it.
struct shared_data {
  core::stable_key block = 0;
  std::string data, place;  ///< name of the array; where it is registered
  std::string sharing;  ///< "false sharing", ...
  std::string users;  ///< "threads 1-3"
  /// Threads of a process that use it in this block, as bits; the 64th stands for all further ones. 0: they are ranks.
  std::uint64_t threads_here = 0;
  std::uint64_t threads = 0;  ///< in any block
};

/// A thread that uses a registered array in a block while most of what it uses is in memory of another NUMA node.
struct far_data {
  core::stable_key block = 0;
  std::string data, place;
  std::string code;  ///< the block with its code location
  std::int32_t rank = 0, thread = 0;
  std::int32_t node = 0;  ///< where the thread ran
  std::int32_t pages_node = 0;  ///< where most of the pages are
  double share = 0;  ///< of the bytes that it used, those on another node than its own
};

/// What the analysis of registered data found that can make a block slow.
struct data_facts {
  base::vector<shared_data> shared;  ///< of one block the most important first
  base::vector<far_data> far;  ///< most bytes first
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
