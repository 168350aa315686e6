#ifndef WHYWAIT_PREDICT_SERIAL_BLOCKS_HPP
#define WHYWAIT_PREDICT_SERIAL_BLOCKS_HPP

#include <whywait/core/plain_vector.hpp>
#include <whywait/predict/run_log.hpp>

#include <algorithm>
#include <cstddef>

namespace whywait {
inline namespace v0 {
namespace predict {

/// Which blocks are serial: of several ranks one does at least 99 % of their time (others may enter them, and find
/// nothing to do). Neither balance nor more ranks share such work. O(length of the log).
[[gnu::cold]] inline core::plain_vector<char> serial_blocks(const run_log& log) {
  core::plain_vector<double> all(log.blocks.size(), 0.0), most(log.blocks.size(), 0.0), mine;
  for (const auto& line : log.lines) {
    mine.assign(log.blocks.size(), 0.0);
    for (const activity& a : line)
      for (const block_time& b : a.blocks) mine[b.block] += b.seconds;
    for (std::size_t b = 0; b != mine.size(); ++b) {
      all[b] += mine[b];
      most[b] = std::max(most[b], mine[b]);
    }
  }
  core::plain_vector<char> serial(log.blocks.size(), 0);
  for (std::size_t b = 0; b != serial.size(); ++b)
    serial[b] = log.lines.size() > 1 && all[b] > 0.0 && most[b] >= 0.99 * all[b] ? 1 : 0;
  return serial;
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
