#ifndef WHYWAIT_FINALIZE_ASKING_HPP
#define WHYWAIT_FINALIZE_ASKING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/settings.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/whatif/ask.hpp>
#include <whywait/whatif/question.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The questions of WHYWAIT_WHATIF, identical on all ranks. The virtual clocks of the explanation answer questions
/// about code and network, because they see the whole run on all ranks. A question and the savings that the report
/// prints by itself therefore give the same number. Other questions describe a different program and are answered from
/// the log.
struct asked_questions {
  std::string text;  ///< on rank 0, from MPI_Init on: those that can be read
  base::vector<whatif::question> all;
  base::vector<explain::what_if> clocks;  ///< for explain::options::questions; the same list in each epoch
  base::pod_vector<std::size_t> clock_of;  ///< index in `all` of each entry of `clocks`
  base::pod_vector<bool> known;  ///< for each entry of `clocks`: whether it matched code in any epoch
  bool read = false;

  /// The results of the clocks, for `whatif::ask`.
  base::vector<whatif::outside_answer> answers_in(const explain::outcome& found) const {
    base::vector<whatif::outside_answer> out;
    for (std::size_t i = 0; i != std::min(clock_of.size(), found.answers.size()); ++i)
      if (known[i])
        out.push_back({clock_of[i], "clocks", static_cast<double>(found.total_ns) * 1e-9,
                       static_cast<double>(found.answers[i].total_ns) * 1e-9});
    return out;
  }
};

namespace detail {

/// Returns the questions that can be parsed, in canonical notation, and warns in one line about each of the others. On rank 0.
inline std::string readable_questions(const char* text) {
  std::string all;
  const std::string_view whole = text != nullptr ? text : "";
  for (std::size_t begin = 0, end = 0; begin <= whole.size(); begin = end + 1) {
    end = std::min(whole.find(';', begin), whole.size());
    const std::string one(whole.substr(begin, end - begin));
    try {
      for (const whatif::question& q : whatif::parse_questions(one)) all += q.text() + ";";
    } catch (const models::prediction_error& problem) {
      core::warn("WHYWAIT_WHATIF: ", whatif::misspelt(one, begin, problem).c_str(), "; the question is skipped");
    } catch (const std::exception& problem) {
      core::warn("WHYWAIT_WHATIF: a question is skipped: ", problem.what());
    }
  }
  return all;
}

/// A change of a question and one block that it refers to.
struct meant_block {
  std::uint64_t question, change, block;
  bool operator<(const meant_block& o) const noexcept {
    return question != o.question ? question < o.question : change != o.change ? change < o.change : block < o.block;
  }
  bool operator==(const meant_block& o) const noexcept {
    return question == o.question && change == o.change && block == o.block;
  }
};

/// Finds the blocks whose names occur in `asked` on any rank. The result is sorted and identical on all ranks.
/// Collective.
inline base::pod_vector<meant_block> find_blocks(const base::vector<whatif::question>& asked, const process_names& own,
                                                 const finalize::team& all) {
  base::pod_vector<meant_block> mine;
  for (std::size_t q = 0; q != asked.size(); ++q)
    for (std::size_t c = 0; c != 1 + asked[q].also.size(); ++c) {
      const whatif::question& one = c == 0 ? asked[q] : asked[q].also[c - 1];
      if (one.what != whatif::question::kind::block) continue;
      for (const core::stable_key key : own.blocks_called(one.name)) mine.push_back({q, c, key});
    }
  base::pod_vector<meant_block> found = mine;
  all.gather(mine.data(), mine.size() * sizeof(meant_block), [&](const unsigned char* data, std::size_t size) {
    const std::size_t before = found.size();
    found.resize(before + size / sizeof(meant_block));
    if (size != 0) std::memcpy(&found[before], data, size);
  });
  base::sort_and_unique(found);
  all.share(found);
  return found;
}

}  // namespace detail

/// Reads WHYWAIT_WHATIF at the start of the run, with one warning for each question that cannot be read. On rank 0.
inline void read_questions(asked_questions& asked, const core::settings& wanted) {
  if (wanted.whatif != nullptr) asked.text = detail::readable_questions(wanted.whatif);
}

/// Takes the questions of rank 0 in the first call. Each call then looks up the blocks of the epoch that the questions refer to.
/// Costs one agreement if there are no questions. Collective.
inline void update_questions(asked_questions& asked, const process_names& own, const finalize::team& all) {
  if (!asked.read) {
    all.share(asked.text);
    if (!asked.text.empty()) asked.all = whatif::parse_questions(asked.text);
    asked.read = true;
  }
  if (asked.all.empty()) return;
  const base::pod_vector<detail::meant_block> blocks = detail::find_blocks(asked.all, own, all);
  asked.clocks.clear();
  asked.clock_of.clear();
  for (std::size_t q = 0; q != asked.all.size(); ++q) {
    explain::what_if put;
    bool about_this_program = true, meant = true;
    for (std::size_t c = 0; c != 1 + asked.all[q].also.size(); ++c) {
      const whatif::question& one = c == 0 ? asked.all[q] : asked.all[q].also[c - 1];
      using kind = whatif::question::kind;
      about_this_program = about_this_program && (one.what == kind::network || one.what == kind::block);
      const std::size_t before = put.changes.size();
      if (one.what == kind::network) put.changes.push_back({explain::network_key(), 1.0 / one.factor});
      for (const detail::meant_block& b : blocks)
        if (b.question == q && b.change == c) put.changes.push_back({b.block, 1.0 / one.factor});
      // If no block matches, the log may still answer, because it also identifies code by the call that follows it.
      meant = meant && put.changes.size() != before;
    }
    if (!about_this_program) continue;
    if (asked.known.size() == asked.clocks.size()) asked.known.push_back(false);
    asked.known[asked.clocks.size()] = asked.known[asked.clocks.size()] || meant;
    asked.clocks.push_back(std::move(put));
    asked.clock_of.push_back(q);
  }
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
