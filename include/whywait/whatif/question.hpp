#ifndef WHYWAIT_WHATIF_QUESTION_HPP
#define WHYWAIT_WHATIF_QUESTION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/models/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// A what-if question about a recorded run.
struct question {
  enum class kind { block, network, balance, ranks, without };
  kind what = kind::balance;
  std::string name;         ///< block: name of the block or label; without: label of the collective
  /// block, network: speed-up, infinity for no time; ranks: factor of the number of ranks
  double factor = 1.0;
  bool fixed_total = true;  ///< ranks: the total work stays constant (strong scaling); otherwise the work per rank
  bool each_step = false;   ///< balance: equal work in every step instead of in total
  base::vector<question> also = {};  ///< block, network: further changes of these kinds at the same time

  /// The question in the notation of `parse_questions`.
  std::string text() const {
    char number[32];
    if (!also.empty() || std::isinf(factor)) {
      std::snprintf(number, sizeof number, "=%g", 1.0 / factor);
      std::string all = (what == kind::network ? "network" : name) + number;
      for (const question& q : also) {
        std::snprintf(number, sizeof number, "=%g", 1.0 / q.factor);
        all += "," + (q.what == kind::network ? "network" : q.name) + number;
      }
      return all;
    }
    std::snprintf(number, sizeof number, "x%g", factor);
    switch (what) {
      case kind::block: return "block " + name + " " + number;
      case kind::network: return std::string("network ") + number;
      case kind::balance: return each_step ? "balance steps" : "balance";
      case kind::ranks: return std::string("ranks ") + number + (fixed_total ? "" : " weak");
      case kind::without: return "without " + name;
    }
    return {};
  }
};

namespace detail {

[[gnu::noinline]] inline models::prediction_error misread(const char* message, const std::string& text, std::size_t at) {
  return models::prediction_error(models::fault::question, message, text, at);
}
inline bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n'; }

/// Parses "compute=0.5, network=0" in [at, end) of a text, which is one question with several changes.
inline question parse_parts(const std::string& text, std::size_t at, std::size_t end) {
  question all;
  for (bool first = true; at <= end; first = false) {
    const std::size_t comma = std::min(text.find(',', at), end);
    while (at < comma && blank(text[at])) ++at;
    const std::size_t equals = comma > at ? text.rfind('=', comma - 1) : std::string::npos;
    if (equals == std::string::npos || equals < at) throw misread("expected NAME=PART", text, at);
    question q;
    q.what = question::kind::block;
    for (std::size_t i = at; i != equals; ++i) {  // collapses runs of blanks
      if (blank(text[i])) continue;
      if (i > at && blank(text[i - 1])) q.name += ' ';
      q.name += text[i];
    }
    if (q.name.empty()) throw misread("expected the name of a block", text, at);
    if (q.name == "network") {
      q.what = question::kind::network;
      q.name.clear();
    }
    std::size_t number = equals + 1, last = comma;
    while (number < comma && blank(text[number])) ++number;
    while (last > number && blank(text[last - 1])) --last;
    char* rest = nullptr;
    const double part = std::strtod(text.c_str() + number, &rest);
    if (number == last || rest != text.c_str() + last || !(part >= 0.0) || part > 1e6)
      throw misread("expected the part of its time that stays, such as 0.5 or 0", text, number);
    q.factor = 1.0 / part;
    if (first) all = std::move(q);
    else all.also.push_back(std::move(q));
    at = comma + 1;
  }
  return all;
}

}  // namespace detail

/// Parses WHYWAIT_WHATIF, a list of questions separated by ';'
///
///     block compute_interior x2     the code takes half the time
///     network x1.5                  time in MPI calls other than waiting is divided by 1.5
///     compute=0.5,network=0         both at once, half the time for the code and none for the network
///     balance                       every rank does the mean of the work, distributed over its steps as recorded
///     balance steps                 in every step all ranks do the mean of that step
///     ranks x2                      twice the ranks share the work; with `ranks x2 weak` each does as much as now
///     without MPI_Barrier           the collective of that name is removed
///
/// `NAME=PART` is `block NAME x(1/PART)`. Throws P023 with the position.
inline base::vector<question> parse_questions(const std::string& text) {
  base::vector<question> result;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t end = text.find(';', at);
    if (end == std::string::npos) end = text.size();
    base::pod_vector<std::string_view> words;
    for (std::size_t i = at; i < end;) {
      const std::size_t begin = i;
      while (i < end && !detail::blank(text[i])) ++i;
      if (i != begin) words.push_back(std::string_view(text).substr(begin, i - begin));
      else ++i;
    }
    const auto column = [&](std::size_t word) {
      return word < words.size() ? static_cast<std::size_t>(words[word].data() - text.data()) : end;
    };
    at = end + 1;
    if (words.empty()) continue;
    auto fail = [&](std::size_t word, const char* message) { return detail::misread(message, text, column(word)); };
    auto times = [&](std::size_t word) {
      if (word >= words.size() || words[word].size() < 2 || words[word][0] != 'x')
        throw fail(word, "expected a factor such as x2");
      char* rest = nullptr;
      const double f = std::strtod(words[word].data() + 1, &rest);
      if (rest != words[word].data() + words[word].size() || !(f > 0.0) || !std::isfinite(f))
        throw fail(word, "a factor must be a positive number");
      return f;
    };
    const auto name_of = [&](std::size_t last) {
      std::string name;
      for (std::size_t i = 1; i < last; ++i) (name += i == 1 ? "" : " ") += words[i];
      return name;
    };
    question q;
    std::size_t used = 1;
    if (words[0] == "block") {
      q.what = question::kind::block;
      if (words.size() < 2) throw fail(1, "expected the name of a block");
      // names may contain blanks, so that the factor is the last word
      q.name = name_of(words.size() - 1);
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
      q.name = name_of(words.size());
      if (q.name.empty()) throw fail(1, "expected the name of a collective");
      used = words.size();
    } else if (text.find('=', column(0)) < end) {
      q = detail::parse_parts(text, column(0), end);
      used = words.size();
    } else {
      throw fail(0, "expected block, network, balance, ranks, without, or NAME=PART");
    }
    if (used < words.size()) throw fail(used, "expected ';' or the end");
    result.push_back(std::move(q));
  }
  return result;
}

/// One line about a question that cannot be parsed: the wrong word, its place, the question and what was expected there.
/// `begin`: where the question begins in the setting.
inline std::string misspelt(const std::string& question, std::size_t begin, const models::prediction_error& problem) {
  const std::string message = problem.what();  // "number: what was expected", and two more lines
  const std::size_t expected = message.find(": ") + 2;
  const std::size_t at = std::min(problem.column(), question.size());
  std::size_t first = 0, last = at, end = question.size();
  while (first != end && detail::blank(question[first])) ++first;
  while (end != first && detail::blank(question[end - 1])) --end;
  while (last < end && question[last] != ',' && !detail::blank(question[last])) ++last;
  std::string line = last != at ? "cannot read '" + question.substr(at, last - at) + "'" : std::string("something is missing");
  line += " at character " + std::to_string(begin + at + 1) + ", in '" + question.substr(first, end - first) +
          "': " + message.substr(expected, message.find('\n') - expected) + " (" + message.substr(0, expected - 2) + ")";
  for (char& c : line)
    if (detail::blank(c)) c = ' ';
  return line;
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
