#ifndef WHYWAIT_CLOCKS_FURTHER_SPEEDS_HPP
#define WHYWAIT_CLOCKS_FURTHER_SPEEDS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clocks.hpp>
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

/// Faster code saves at least as much as slower code, of the same block in the order of `ask_further_speeds`. By the clocks it may
/// save less: a call that waits longer is late by more (usual_tails.hpp).
inline void order_by_speed(base::vector<explain::what_if_answer>& answers) {
  for (std::size_t k = answers.size(); k-- > 1;) {
    explain::what_if_answer &faster = answers[k - 1], &slower = answers[k];
    if (faster.question.changes[0].block != slower.question.changes[0].block || faster.total_ns <= slower.total_ns) continue;
    faster.total_ns = slower.total_ns;
    faster.saving_ns = slower.saving_ns;
  }
}

/// The maximum number of blocks for which further speeds are predicted.
constexpr std::size_t most_further_blocks = 5;
/// The maximum number of blocks that are guessed to be among them. A further pass takes half as long as the first one, which a few
/// clocks more lengthen little.
constexpr std::size_t most_guessed_blocks = 8;

/// The blocks for which further speeds are predicted: those of the questions from number `first` on that save most
/// and at least 1 % of the run if they are twice as fast. `end_ns(q)`: the end of the run with question q of `asked`.
template <class End>
base::packet choose_further_speeds(const base::vector<explain::what_if>& questions, std::size_t first, std::size_t asked,
                                   std::int64_t total_ns, const End& end_ns) {
  using entry = std::pair<core::stable_key, std::int64_t>;
  base::vector<entry> blocks;
  for (std::size_t q = first; q < asked; ++q) {
    const explain::change& c = questions[q].changes[0];
    if (c.factor == 0.5 && 100 * (total_ns - end_ns(q)) >= total_ns) blocks.emplace_back(c.block, end_ns(q));
  }
  base::small_stable_sort(blocks, [](const entry& a, const entry& b) { return a.second < b.second; });
  blocks.resize(std::min(blocks.size(), most_further_blocks));
  base::packet out;
  for (const entry& b : blocks) put(out, b.first);
  return out;
}

/// Guesses these blocks before any question is answered: of `asked`, those that take most of a critical path, then others. A block
/// of which little is on that path may save much, because calls that wait less are late less (usual_tails.hpp). Both lists hold each
/// block once; `path` is sorted by time, largest first.
inline base::packet guess_further_speeds(const base::pod_vector<explain::block_time>& path,
                                         const base::vector<std::pair<core::stable_key, std::int64_t>>& asked) {
  base::packet out;
  std::size_t count = 0;
  const auto guess = [&out, &count](core::stable_key block) {
    if (count++ < most_guessed_blocks) put(out, block);
  };
  for (const explain::block_time& b : path)
    if (base::any_of(asked, [&b](const auto& a) { return a.first == b.block; })) guess(b.block);
  for (const auto& a : asked)
    if (!base::any_of(path, [&a](const auto& b) { return a.first == b.block; })) guess(a.first);
  return out;
}

/// Lists the numbers of the questions about further speeds of these blocks and of the network. Questions that `questions` does not
/// contain yet are appended to it.
inline base::pod_vector<std::uint32_t> ask_further_speeds(base::vector<explain::what_if>& questions,
                                                          base::packet_reader blocks) {
  base::pod_vector<std::uint32_t> numbers;
  const auto ask = [&](core::stable_key block) {
    for (const double factor : {0.0, 0.25, 0.5, 0.75}) {
      std::size_t known = 0;
      for (; known != questions.size(); ++known) {
        const explain::change& c = questions[known].changes[0];
        if (questions[known].changes.size() == 1 && c.block == block && c.factor == factor && c.balanced < 0 && !c.sends_first)
          break;
      }
      numbers.push_back(static_cast<std::uint32_t>(known));
      if (known != questions.size()) continue;
      questions.emplace_back();
      questions.back().changes.push_back({block, factor});
    }
  };
  while (!blocks.empty()) ask(blocks.get<core::stable_key>());
  ask(explain::network_key());
  return numbers;
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
