#ifndef WHYWAIT_PREDICT_QUESTION_HPP
#define WHYWAIT_PREDICT_QUESTION_HPP

#include <whywait/predict/error.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

/// A what-if question to a recorded run.
struct question {
  enum class kind { block, network, balance, ranks, without };
  kind what = kind::balance;
  std::string name;         ///< of block: the block or label; of without: the label of the collective
  double factor = 1.0;      ///< of block, network: how many times faster; of ranks: how many times as many
  bool fixed_total = true;  ///< of ranks: the whole work stays (strong scaling); else the work of each rank
  bool each_step = false;   ///< of balance: the ranks do equal work in every step, not only in all

  /// The question in its own notation, as `parse_questions` reads it.
  [[gnu::cold]] std::string text() const {
    char number[32];
    std::snprintf(number, sizeof number, "x%g", factor);
    switch (what) {
      case kind::block:
        return "block " + name + " " + number;
      case kind::network:
        return std::string("network ") + number;
      case kind::balance:
        return each_step ? "balance steps" : "balance";
      case kind::ranks:
        return std::string("ranks ") + number + (fixed_total ? "" : " weak");
      case kind::without:
        return "without " + name;
    }
    return {};
  }
};

/// Reads WHYWAIT_WHATIF: questions separated by ';', among them
///
///     block compute_interior x2     its code takes half the time
///     network x1.5                  messages and collectives take two thirds of the time
///     balance                       every rank does the mean of the work, spread over its steps as now
///     balance steps                 in every step all ranks do the mean of that step
///     ranks x2                      twice the ranks share the work; `ranks x2 weak`: each does as much as now
///     without MPI_Barrier           the collective of that name is not there
///
/// Throws P023 with the place.
[[gnu::cold]] inline std::vector<question> parse_questions(const std::string& text) {
  std::vector<question> result;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t end = text.find(';', at);
    if (end == std::string::npos) end = text.size();
    std::vector<std::string> words;
    std::vector<std::size_t> columns;
    for (std::size_t i = at; i < end;) {
      if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
        ++i;
        continue;
      }
      columns.push_back(i);
      words.emplace_back();
      while (i < end && text[i] != ' ' && text[i] != '\t' && text[i] != '\n') words.back() += text[i++];
    }
    at = end + 1;
    if (words.empty()) continue;
    auto fail = [&](std::size_t word, const std::string& message) -> prediction_error {
      return prediction_error(fault::question, message, text, word < columns.size() ? columns[word] : end);
    };
    auto times = [&](std::size_t word) {
      if (word >= words.size() || words[word].size() < 2 || words[word][0] != 'x')
        throw fail(word, "expected a factor such as x2");
      char* rest = nullptr;
      const double f = std::strtod(words[word].c_str() + 1, &rest);
      if (*rest != '\0' || !(f > 0.0) || !std::isfinite(f)) throw fail(word, "a factor must be a positive number");
      return f;
    };
    question q;
    std::size_t used = 1;
    if (words[0] == "block") {
      q.what = question::kind::block;
      if (words.size() < 2) throw fail(1, "expected the name of a block");
      // names may contain blanks: the factor is the last word
      for (std::size_t i = 1; i + 1 < words.size(); ++i) q.name += (i == 1 ? "" : " ") + words[i];
      q.factor = times(words.size() - 1);
      if (q.name.empty()) throw fail(1, "expected the name of a block before the factor");
      used = words.size();
    } else if (words[0] == "network") {
      q.what = question::kind::network;
      q.factor = times(1);
      used = 2;
    } else if (words[0] == "balance") {
      q.what = question::kind::balance;
      if (words.size() > 1 && words[1] == "steps") {
        q.each_step = true;
        used = 2;
      }
    } else if (words[0] == "ranks") {
      q.what = question::kind::ranks;
      q.factor = times(1);
      used = 2;
      if (words.size() > 2 && (words[2] == "weak" || words[2] == "strong")) {
        q.fixed_total = words[2] == "strong";
        used = 3;
      }
    } else if (words[0] == "without") {
      q.what = question::kind::without;
      for (std::size_t i = 1; i < words.size(); ++i) q.name += (i == 1 ? "" : " ") + words[i];
      if (q.name.empty()) throw fail(1, "expected the name of a collective");
      used = words.size();
    } else {
      throw fail(0, "expected block, network, balance, ranks or without");
    }
    if (used < words.size()) throw fail(used, "expected ';' or the end");
    result.push_back(q);
  }
  return result;
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
