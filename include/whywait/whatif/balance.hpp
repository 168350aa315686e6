#ifndef WHYWAIT_WHATIF_BALANCE_HPP
#define WHYWAIT_WHATIF_BALANCE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/transport_calls.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/serial_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace whatif {
namespace detail {

/// Balances the work of a log, kind by kind. A kind is a named block at any place between calls. Work without a name is
/// of one kind if it ends with the same call. Serial blocks are not balanced.
class balancer {
 public:
  explicit balancer(const models::run_log& log)
      : log_(log), kinds_(log.blocks.size() + log.labels.size()), serial_(serial_blocks(log)), unnamed_(log.blocks.size(), 0) {}

  /// Gives every line with work of a kind the mean of the totals, distributed over the line as recorded. `evenly`: each
  /// instance of a line becomes longer or shorter by the same time instead, so that what varies does not grow or shrink.
  void totals(models::run_log& into, bool evenly = false) const {
    base::pod_vector<double> sum(kinds_, 0.0), mine;
    base::pod_vector<std::size_t> lines(kinds_, 0), instances;
    const auto count = [&](const base::vector<models::activity>& line) {
      mine.assign(kinds_, 0.0);
      instances.assign(kinds_, 0);
      for (models::activity a : line)
        change(a, [&](std::size_t kind, double seconds) {
          mine[kind] += seconds;
          ++instances[kind];
          return seconds;
        });
    };
    for (const auto& line : log_.lines) {
      count(line);
      for (std::size_t k = 0; k != kinds_; ++k) {
        sum[k] += mine[k];
        lines[k] += instances[k] != 0;
      }
    }
    for (auto& line : into.lines) {
      count(line);
      for (models::activity& a : line)
        change(a, [&](std::size_t kind, double seconds) {
          const double mean = sum[kind] / static_cast<double>(lines[kind]);
          if (mine[kind] > 0.0 && !evenly) return seconds * mean / mine[kind];
          return std::max(0.0, seconds + (mean - mine[kind]) / static_cast<double>(instances[kind]));
        });
    }
  }

  /// Gives the k-th instances of a kind on all lines that have it their mean. Returns false and a reason if lines have
  /// different numbers of instances.
  bool steps(models::run_log& into, std::string& why_not) {
    base::vector<base::pod_vector<double>> sum(kinds_);
    base::pod_vector<std::size_t> at, lines, instances;
    const auto add = [&] {
      sum = base::vector<base::pod_vector<double>>(kinds_);
      lines.assign(kinds_, 0);
      instances.assign(kinds_, 0);
      for (const auto& line : log_.lines) {
        at.assign(kinds_, 0);
        for (models::activity a : line)
          change(a, [&](std::size_t kind, double seconds) {
            lines[kind] += at[kind] == 0;
            ++instances[kind];
            if (at[kind] == sum[kind].size()) sum[kind].push_back(0.0);
            sum[kind][at[kind]++] += seconds;
            return seconds;
          });
      }
    };
    add();
    // A block that some lines enter more often than others cannot be matched by name, only by the call that ends the
    // activity.
    for (std::size_t b = 0; b != unnamed_.size(); ++b) unnamed_[b] = instances[b] != lines[b] * sum[b].size();
    add();
    for (std::size_t l = 0; l != log_.labels.size(); ++l) {
      const std::size_t kind = log_.blocks.size() + l;
      if (instances[kind] == lines[kind] * sum[kind].size()) continue;
      why_not = "ranks do not take the same number of steps (" + log_.labels[l] + ")";
      return false;
    }
    for (auto& line : into.lines) {
      at.assign(kinds_, 0);
      for (models::activity& a : line)
        change(a, [&](std::size_t kind, double) { return sum[kind][at[kind]++] / static_cast<double>(lines[kind]); });
    }
    return true;
  }

 private:
  /// Replaces the seconds of each part of an activity by becomes(kind, seconds).
  void change(models::activity& a, explain::borrowed<double(std::size_t, double)> becomes) const {
    const auto apart = [this](const models::block_time& b) { return serial_[b.block] != 0 || unnamed_[b.block] == 0; };
    double rest = a.work_seconds;
    for (const models::block_time& b : a.blocks)
      if (apart(b)) rest -= b.seconds;
    rest = std::max(0.0, rest);
    const double changed = becomes(log_.blocks.size() + a.label, rest);
    a.work_seconds = changed;
    for (models::block_time& b : a.blocks) {
      if (!apart(b)) {
        b.seconds = rest > 0.0 ? b.seconds * changed / rest : 0.0;
        continue;
      }
      if (serial_[b.block] == 0) b.seconds = becomes(b.block, b.seconds);
      a.work_seconds += b.seconds;
    }
  }

  const models::run_log& log_;
  std::size_t kinds_;
  base::pod_vector<char> serial_;
  base::pod_vector<char> unnamed_;  // blocks that are treated as unnamed
};

}  // namespace detail
}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
