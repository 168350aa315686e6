#ifndef WHYWAIT_WHATIF_CHANGE_HPP
#define WHYWAIT_WHATIF_CHANGE_HPP

#include <whywait/base/vector.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/whatif/balance.hpp>
#include <whywait/whatif/more_ranks.hpp>
#include <whywait/whatif/question.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace whatif {

namespace detail {

/// Builds the log of the changed program. Each function returns false and a reason if that is impossible.
class log_changer {
 public:
  log_changer(const models::run_log& log, const question& q, std::uint64_t seed) : log_(log), q_(q), seed_(seed) {}

  bool apply(models::run_log& into, std::string& why_not) {
    into = models::run_log(log_);
    if (!one(q_, into, why_not)) return false;
    for (const question& also : q_.also)
      if (!one(also, into, why_not)) return false;
    return true;
  }

 private:
  bool one(const question& q, models::run_log& into, std::string& why_not) const {
    switch (q.what) {
      case question::kind::block: return block(q, into, why_not);
      case question::kind::network: network_faster(q.factor, into); return true;
      case question::kind::balance: return balance(into, why_not);
      case question::kind::ranks: return rank_changer(log_, q_, seed_).apply(into, why_not);
      case question::kind::without: return without(into, why_not);
    }
    return false;
  }

  bool block(const question& q, models::run_log& into, std::string& why_not) const {
    bool found = false, counted = false;
    for (auto& line : into.lines)
      for (models::activity& a : line) {
        if (log_.labels[a.label] == q.name) {
          found = found || a.work_seconds > 0.0;
          a.work_seconds /= q.factor;
          for (models::block_time& b : a.blocks) b.seconds /= q.factor;
          continue;
        }
        for (models::block_time& b : a.blocks) {
          if (log_.blocks[b.block] != q.name) continue;
          counted = true;
          found = found || b.seconds > 0.0;
          a.work_seconds = std::max(0.0, a.work_seconds - b.seconds * (1.0 - 1.0 / q.factor));
          b.seconds /= q.factor;
        }
      }
    if (!found) why_not = "no time was recorded for a block '" + q.name + "'";
    if (!found && counted) why_not += ", only visits: ask about the region around it";
    return found;
  }

  // Uses the definition of the virtual clocks. The network is all time in calls except waiting for other ranks.
  void network_faster(double factor, models::run_log& into) const {
    for (models::message_edge& m : into.messages) m.seconds /= factor;
    for (models::sync_edge& s : into.syncs) s.seconds /= factor;
    for (auto& line : into.lines)
      for (models::activity& a : line) {
        a.call_seconds /= factor;
        a.wake_seconds /= factor;
      }
  }

  bool balance(models::run_log& into, std::string& why_not) const {
    balancer even(log_);
    if (q_.each_step) return even.steps(into, why_not);
    even.totals(into);
    return true;
  }

  bool without(models::run_log& into, std::string& why_not) const {
    const std::size_t before = into.syncs.size();
    base::vector<models::sync_edge> kept;
    for (models::sync_edge& s : into.syncs)
      if (log_.labels[s.label] != q_.name) kept.push_back(std::move(s));
    into.syncs = std::move(kept);
    if (into.syncs.size() == before) why_not = "no collective is labelled '" + q_.name + "'";
    return into.syncs.size() != before;
  }

  const models::run_log& log_;
  const question& q_;
  std::uint64_t seed_;
};

}  // namespace detail

/// Builds the log that a question describes. Returns false and a reason if the log lacks the subject of the question.
inline bool change(const models::run_log& log, const question& q, models::run_log& into, std::string& why_not,
                   std::uint64_t seed = 1) {
  return detail::log_changer(log, q, seed).apply(into, why_not);
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
