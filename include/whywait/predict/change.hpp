#ifndef WHYWAIT_PREDICT_CHANGE_HPP
#define WHYWAIT_PREDICT_CHANGE_HPP

#include <whywait/predict/detail/random.hpp>
#include <whywait/predict/question.hpp>
#include <whywait/predict/run_log.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

namespace detail {

/// The log of the program that a question imagines. Each returns false with a reason where that is not possible.
class log_changer {
 public:
  log_changer(const run_log& log, const question& q, std::uint64_t seed) : log_(log), q_(q), random_(seed) {}

  bool apply(run_log& into, std::string& why_not) {
    into = log_;
    switch (q_.what) {
      case question::kind::block:
        return block(into, why_not);
      case question::kind::network:
        network_faster(into);
        return true;
      case question::kind::balance:
        balance(into);
        return true;
      case question::kind::ranks:
        return ranks(into, why_not);
      case question::kind::without:
        return without(into, why_not);
    }
    return false;
  }

 private:
  bool block(run_log& into, std::string& why_not) const {
    bool found = false;
    for (auto& line : into.lines)
      for (activity& a : line) {
        if (log_.labels[a.label] == q_.name) {
          found = found || a.work_seconds > 0.0;
          a.work_seconds /= q_.factor;
          for (block_time& b : a.blocks) b.seconds /= q_.factor;
          continue;
        }
        for (block_time& b : a.blocks) {
          if (log_.blocks[b.block] != q_.name) continue;
          found = found || b.seconds > 0.0;
          a.work_seconds = std::max(0.0, a.work_seconds - b.seconds * (1.0 - 1.0 / q_.factor));
          b.seconds /= q_.factor;
        }
      }
    if (!found) why_not = "no time was recorded for a block '" + q_.name + "'";
    return found;
  }

  void network_faster(run_log& into) const {
    for (message_edge& m : into.messages) m.seconds /= q_.factor;
    for (sync_edge& s : into.syncs) s.seconds /= q_.factor;
  }

  // Per label: every line gets the mean total, spread over its activities as it was.
  void balance(run_log& into) const {
    std::map<std::uint32_t, std::vector<double>> totals;
    for (std::size_t l = 0; l != into.lines.size(); ++l)
      for (const activity& a : into.lines[l]) {
        auto& t = totals[a.label];
        t.resize(into.lines.size(), 0.0);
        t[l] += a.work_seconds;
      }
    for (std::size_t l = 0; l != into.lines.size(); ++l) {
      std::map<std::uint32_t, std::size_t> instances;
      for (const activity& a : into.lines[l]) ++instances[a.label];
      for (activity& a : into.lines[l]) {
        const auto& t = totals[a.label];
        double mean = 0.0;
        for (const double x : t) mean += x;
        mean /= static_cast<double>(into.lines.size());
        if (t[l] > 0.0) {
          scale(a, mean / t[l]);
        } else {
          a.work_seconds = mean / static_cast<double>(instances[a.label]);
          a.blocks.clear();
        }
      }
    }
  }
  static void scale(activity& a, double by) {
    a.work_seconds *= by;
    for (block_time& b : a.blocks) b.seconds *= by;
  }

  // Copies of every line; the copies do the work of other instances of the same label, so that they differ as
  // instances do. Messages go between lines of one copy, collectives take all copies in.
  bool ranks(run_log& into, std::string& why_not) {
    const double copies_exact = q_.factor;
    const std::uint32_t copies = static_cast<std::uint32_t>(std::llround(copies_exact));
    if (copies < 1 || std::fabs(copies_exact - copies) > 1e-9 || copies > 64) {
      why_not = "the number of ranks can be multiplied by a whole number up to 64 only";
      return false;
    }
    const std::uint32_t lines = static_cast<std::uint32_t>(log_.lines.size());
    const double share = q_.fixed_total ? 1.0 / copies : 1.0;
    into.lines.clear();
    into.messages.clear();
    for (std::uint32_t k = 0; k != copies; ++k)
      for (std::uint32_t l = 0; l != lines; ++l) {
        std::vector<activity> line = log_.lines[l];
        if (k != 0) shuffle(line);
        for (activity& a : line) scale(a, share);
        into.lines.push_back(std::move(line));
      }
    for (std::uint32_t k = 0; k != copies; ++k)
      for (message_edge m : log_.messages) {
        m.from.line += k * lines;
        m.to.line += k * lines;
        into.messages.push_back(m);
      }
    for (sync_edge& s : into.syncs) {
      const std::size_t in = s.in.size(), out = s.out.size();
      for (std::uint32_t k = 1; k != copies; ++k) {
        for (std::size_t i = 0; i != in; ++i) s.in.push_back({s.in[i].line + k * lines, s.in[i].index});
        for (std::size_t i = 0; i != out; ++i) s.out.push_back({s.out[i].line + k * lines, s.out[i].index});
      }
      // trees of more members are deeper
      const double before = static_cast<double>(std::max(in, out));
      if (before > 1.0) s.seconds *= std::log2(before * copies) / std::log2(before);
    }
    return true;
  }
  void shuffle(std::vector<activity>& line) {
    std::map<std::uint32_t, std::vector<std::size_t>> same;
    for (std::size_t i = 0; i != line.size(); ++i) same[line[i].label].push_back(i);
    for (auto& s : same)
      for (std::size_t i = s.second.size(); i > 1; --i)
        std::swap(line[s.second[i - 1]], line[s.second[random_.below(static_cast<std::uint32_t>(i))]]);
  }

  bool without(run_log& into, std::string& why_not) const {
    const std::size_t before = into.syncs.size();
    std::vector<sync_edge> kept;
    for (sync_edge& s : into.syncs)
      if (log_.labels[s.label] != q_.name) kept.push_back(std::move(s));
    into.syncs = std::move(kept);
    if (into.syncs.size() == before) why_not = "no collective is labelled '" + q_.name + "'";
    return into.syncs.size() != before;
  }

  const run_log& log_;
  const question& q_;
  random_source random_;
};

}  // namespace detail

/// The log that a question imagines. False and a reason if the log does not have what the question is about.
inline bool change(const run_log& log, const question& q, run_log& into, std::string& why_not, std::uint64_t seed = 1) {
  return detail::log_changer(log, q, seed).apply(into, why_not);
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
