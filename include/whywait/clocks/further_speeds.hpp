#ifndef WHYWAIT_CLOCKS_FURTHER_SPEEDS_HPP
#define WHYWAIT_CLOCKS_FURTHER_SPEEDS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The answer to a question about one block: the run ends at `end_ns` instead of `total_ns`. What remains of the critical path is
/// a lower bound of the run without the block.
inline explain::what_if_answer answer_about_block(const explain::what_if& question, std::int64_t end_ns, std::int64_t total_ns,
                                                  const base::vector<explain::critical_block>& critical_path) {
  const explain::change& c = question.changes[0];
  std::int64_t most = c.block == explain::network_key() ? total_ns : 0;
  for (const explain::critical_block& b : critical_path)
    if (b.block == c.block) most = static_cast<std::int64_t>((1 - c.factor) * static_cast<double>(b.ns));
  const std::int64_t saving = std::min(total_ns - end_ns, most);
  return {question, total_ns - saving, saving};
}

/// The blocks for which further speeds are predicted: at most five, those of the questions from number `first` on that save most
/// and at least 1 % of the run if they are twice as fast. `end_ns(q)`: the end of the run with question q of `asked`.
template <class End>
base::packet choose_further_speeds(const base::vector<explain::what_if>& questions, std::size_t first, std::size_t asked,
                                   std::int64_t total_ns, const End& end_ns) {
  constexpr std::size_t most_blocks = 5;
  using entry = std::pair<core::stable_key, std::int64_t>;
  base::vector<entry> blocks;
  for (std::size_t q = first; q < asked; ++q) {
    const explain::change& c = questions[q].changes[0];
    if (c.factor == 0.5 && 100 * (total_ns - end_ns(q)) >= total_ns) blocks.emplace_back(c.block, end_ns(q));
  }
  base::small_stable_sort(blocks, [](const entry& a, const entry& b) { return a.second < b.second; });
  blocks.resize(std::min(blocks.size(), most_blocks));
  base::packet out;
  for (const entry& b : blocks) put(out, b.first);
  return out;
}

/// Appends the questions about these blocks and the network.
inline void ask_further_speeds(base::vector<explain::what_if>& questions, base::packet_reader blocks) {
  const auto ask = [&questions](core::stable_key block) {
    for (const double factor : {0.0, 0.25, 0.5, 0.75}) {
      questions.emplace_back();
      questions.back().changes.push_back({block, factor});
    }
  };
  while (!blocks.empty()) ask(blocks.get<core::stable_key>());
  ask(explain::network_key());
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
