#ifndef WHYWAIT_WHATIF_SERIAL_BLOCKS_HPP
#define WHYWAIT_WHATIF_SERIAL_BLOCKS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/models/run_log.hpp>

#include <algorithm>
#include <cstddef>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// Finds serial blocks. A block is serial if one of several ranks spends at least 99 % of its total time (others may
/// enter it without work). Neither balance nor more ranks share such work. O(length of the log).
inline base::pod_vector<char> serial_blocks(const models::run_log& log) {
  base::pod_vector<double> all(log.blocks.size(), 0.0), most(log.blocks.size(), 0.0), mine;
  for (const auto& line : log.lines) {
    mine.assign(log.blocks.size(), 0.0);
    for (const models::activity& a : line)
      for (const models::block_time& b : a.blocks) mine[b.block] += b.seconds;
    for (std::size_t b = 0; b != mine.size(); ++b) {
      all[b] += mine[b];
      most[b] = std::max(most[b], mine[b]);
    }
  }
  base::pod_vector<char> serial(log.blocks.size(), 0);
  for (std::size_t b = 0; b != serial.size(); ++b)
    serial[b] = log.lines.size() > 1 && all[b] > 0.0 && most[b] >= 0.99 * all[b] ? 1 : 0;
  return serial;
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
