#ifndef WHYWAIT_COMPARISON_COMPARE_RUNS_HPP
#define WHYWAIT_COMPARISON_COMPARE_RUNS_HPP

#include <whywait/base/units.hpp>
#include <whywait/comparison/changes.hpp>
#include <whywait/comparison/matching.hpp>
#include <whywait/comparison/predicted.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

using runs = std::vector<compared_run>;

/// A block or kind of waits with its values in each run of each side.
struct matched_block {
  const timed_block* shown = nullptr;
  samples seconds, visits, by_visits, by_speed;
};
struct matched_wait {
  const listed_wait* shown = nullptr;
  samples seconds, count;
  std::map<std::string, matched_block> why;
  std::map<int, samples> causers;
};

inline std::vector<double>& of(samples& s, side_t side) noexcept { return side == before_side ? s.before : s.after; }

/// Compares two sets of runs, stage by stage.
class comparer {
 public:
  comparer(const runs& before, const runs& after, const compare_options& options) : options_(options) {
    sides_[before_side] = &before;
    sides_[after_side] = &after;
  }

  changes compare() {
    result_.runs_before = sides_[0]->size();
    result_.runs_after = sides_[1]->size();
    result_.at_least = options_.at_least;
    result_.noise = options_.noise;
    if (sides_[0]->empty() || sides_[1]->empty()) throw unreadable("nothing to compare: a side has no run");
    const compared_run& old = sides_[0]->front();
    const compared_run& now = sides_[1]->front();
    result_.ranks_before = old.ranks;
    result_.ranks_after = now.ranks;
    result_.program = now.program;
    for (const side_t side : {before_side, after_side})
      for (const compared_run& r : *sides_[side]) {
        of(wall_, side).push_back(r.seconds);
        of(sharing_, side).push_back(r.per_rank(r.sharing_seconds));
        matcher_.add(r, side);
      }
    matcher_.align();
    level_ = mean_of(wall_.before);
    const double shared = std::max(mean_of(sharing_.before), mean_of(sharing_.after));
    noise_of_sharing_ = std::min(0.5 * shared, 0.05 * level_);
    // with another number of ranks it is a part of the change
    bias_of_sharing_ = old.ranks == now.ranks ? std::fabs(mean_of(sharing_.after) - mean_of(sharing_.before)) : 0;
    add_figures();
    match_waits();
    match_path();
    judge();
    explain_wall_time();
    for (wait_change& w : result_.waits) explain(w);
    sort();
    result_.savings = check_savings(*sides_[0], *sides_[1], result_, matcher_);
    add_notes();
    return std::move(result_);
  }

 private:
  const runs& side(side_t s) const noexcept { return *sides_[s]; }

  difference compare_times(samples& s, double floor_share) const noexcept {
    const noise_options& n = options_.noise;
    const double size = std::max(mean_of(s.before), mean_of(s.after));
    s.prior_deviation = std::hypot(std::hypot(n.level_share * size, floor_share * level_), 0.5 * noise_of_sharing_);
    s.known = bias_of_sharing_;
    return compare_means(s, n.prior_runs);
  }

  void add_figure(const char* name, bool is_time, samples s) {
    if (s.before.size() != side(before_side).size() || s.after.size() != side(after_side).size()) return;  // not always known
    const noise_options& n = options_.noise;
    const bool wall = result_.figures.empty();
    if (is_time && !wall) {
      result_.figures.push_back({name, is_time, compare_times(s, n.floor_share), change::same});
      return;
    }
    const double unit = is_time ? 1 : level_;
    s.prior_deviation = std::hypot(is_time ? n.run_share * level_ : n.efficiency, noise_of_sharing_ / unit);
    s.known = bias_of_sharing_ / unit;
    result_.figures.push_back({name, is_time, compare_means(s, n.prior_runs), change::same});
    if (wall) wall_ = s;
  }

  void add_figures() {
    add_figure("seconds", true, wall_);
    samples waiting;
    for (const side_t s : {before_side, after_side})
      for (const compared_run& r : side(s)) of(waiting, s).push_back(r.per_rank(r.waiting_seconds));
    add_figure("waiting", true, waiting);
    using member = std::optional<double> compared_run::*;
    for (const auto& [name, which] : {std::pair<const char*, member>{"parallel", &compared_run::parallel},
                                      {"load_balance", &compared_run::load_balance},
                                      {"serialisation", &compared_run::serialisation},
                                      {"transfer", &compared_run::transfer}}) {
      samples values;
      for (const side_t s : {before_side, after_side})
        for (const compared_run& r : side(s))
          if (r.*which) of(values, s).push_back(*(r.*which));
      add_figure(name, false, values);
    }
  }

  /// Adds to the value of one run; earlier runs without a value count as 0.
  static void add_to(samples& all, side_t side, std::size_t run, double value) {
    std::vector<double>& list = of(all, side);
    if (list.size() <= run) list.resize(run + 1, 0.0);
    list[run] += value;
  }
  void fill(samples& s) const {
    s.before.resize(side(before_side).size(), 0.0);
    s.after.resize(side(after_side).size(), 0.0);
  }

  void match_waits() {
    for (const side_t s : {before_side, after_side})
      for (std::size_t i = 0; i != side(s).size(); ++i) {
        const compared_run& run = side(s)[i];
        for (const listed_wait& w : run.waits) {
          matched_wait& m = waits_[matcher_.key(w, s)];
          if (m.shown == nullptr || s == after_side) m.shown = &w;
          add_to(m.seconds, s, i, run.per_rank(w.seconds));
          add_to(m.count, s, i, static_cast<double>(w.count));
          for (const timed_block& b : w.residual) {
            if (b.kind == "step" && b.seconds == 0) continue;  // only counted
            add_block(m.why[matcher_.key(b, s)], b, s, i, run.per_rank(1));
          }
          for (const auto& [rank, seconds] : w.causers) add_to(m.causers[rank], s, i, run.per_rank(seconds));
        }
      }
    for (auto& [key, m] : waits_) {
      fill(m.seconds);
      fill(m.count);
      for (auto& [block, b] : m.why) fill(b);
      for (auto& [rank, values] : m.causers) fill(values);
    }
  }

  void add_block(matched_block& into, const timed_block& b, side_t s, std::size_t run, double unit) {
    if (into.shown == nullptr || s == after_side) into.shown = &b;
    add_to(into.seconds, s, run, b.seconds * unit);
    add_to(into.visits, s, run, static_cast<double>(b.visits));
    add_to(into.by_visits, s, run, b.visits_seconds * unit);
    add_to(into.by_speed, s, run, b.speed_seconds * unit);
  }
  void fill(matched_block& b) const {
    fill(b.seconds);
    fill(b.visits);
    fill(b.by_visits);
    fill(b.by_speed);
  }

  void match_path() {
    for (const side_t s : {before_side, after_side})
      for (std::size_t i = 0; i != side(s).size(); ++i)
        for (const timed_block& b : side(s)[i].critical_path) add_block(path_[matcher_.key(b, s)], b, s, i, 1);
    for (auto& [key, b] : path_) fill(b);
  }

  block_change change_of(matched_block& b, double floor_share) const {
    block_change c;
    c.block = *b.shown;
    c.seconds = compare_times(b.seconds, floor_share);
    c.visits_before = mean_of(b.visits.before);
    c.visits_after = mean_of(b.visits.after);
    c.by_visits = mean_of(b.by_visits.after) - mean_of(b.by_visits.before);
    c.by_speed = mean_of(b.by_speed.after) - mean_of(b.by_speed.before);
    return c;
  }

  bool matters(const samples& s) const noexcept {
    return std::max(mean_of(s.before), mean_of(s.after)) >= options_.at_least * level_;
  }

  /// Decides about everything that can matter at once, so that the chance of a false report is that of the whole comparison.
  void judge() {
    for (auto& [key, m] : waits_) {
      if (!matters(m.seconds)) {
        ++result_.same_waits;
        continue;
      }
      wait_change w;
      w.wait = *m.shown;
      w.seconds = compare_times(m.seconds, options_.noise.floor_share);
      w.count_before = mean_of(m.count.before);
      w.count_after = mean_of(m.count.after);
      for (auto& [block, b] : m.why)
        if (matters(b.seconds)) w.why.push_back(change_of(b, options_.noise.floor_share));
      result_.waits.push_back(std::move(w));
      explained_.push_back(&m);
    }
    for (auto& [key, b] : path_)
      if (matters(b.seconds)) result_.path.push_back(change_of(b, options_.noise.run_share));
    std::vector<double> chances;
    for (const figure& f : result_.figures) chances.push_back(f.values.probability);
    for (const wait_change& w : result_.waits) {
      chances.push_back(w.seconds.probability);
      for (const block_change& b : w.why) chances.push_back(b.seconds.probability);
    }
    for (const block_change& b : result_.path) chances.push_back(b.seconds.probability);
    const std::vector<bool> real = significant(chances, options_.noise.chance);
    result_.least_seen = std::max(
        options_.at_least * level_,
        least_difference(wall_, result_.run().values, options_.noise.prior_runs, options_.noise.chance, chances.size()));
    std::size_t i = 0;
    for (figure& f : result_.figures) {
      const double least = options_.at_least * (f.is_time ? level_ : 1);
      if (real[i++] && std::fabs(f.values.change()) >= least)
        f.what = (f.values.change() > 0) == f.is_time ? change::worse : change::better;
    }
    std::vector<wait_change> changed;
    std::vector<const matched_wait*> reasons;
    for (std::size_t w = 0; w != result_.waits.size(); ++w) {
      wait_change& each = result_.waits[w];
      each.what = direction(each.seconds, real[i++]);
      for (block_change& b : each.why) {
        b.what = direction(b.seconds, real[i++]);
        if (b.what != change::same && each.what == change::same) each.what = change::shifted;
      }
      if (each.what == change::same) {
        ++result_.same_waits;
        continue;
      }
      changed.push_back(std::move(each));
      reasons.push_back(explained_[w]);
    }
    result_.waits = std::move(changed);
    explained_ = std::move(reasons);
    for (block_change& b : result_.path) b.what = direction(b.seconds, real[i++]);
    const auto same = [](const block_change& b) { return b.what == change::same; };
    result_.path.erase(std::remove_if(result_.path.begin(), result_.path.end(), same), result_.path.end());
  }

  change direction(const difference& d, bool real) const noexcept {
    constexpr double hardly = 0.1;  // of what matters
    const double least = options_.at_least * level_;
    if (!real || std::fabs(d.change()) < least) return change::same;
    if (d.change() > 0) return d.before < hardly * least ? change::appeared : change::worse;
    return d.after < hardly * least ? change::gone : change::better;
  }

  /// The blocks of the critical path add up to the run, so their changes add up to its change.
  void explain_wall_time() {
    if (result_.run().what == change::same) return;
    const double all = result_.run().values.change();
    for (auto& [key, b] : path_) {
      block_change c = change_of(b, options_.noise.run_share);
      if (c.seconds.change() / all >= 0.1) result_.path_causes.push_back(std::move(c));
    }
    std::stable_sort(result_.path_causes.begin(), result_.path_causes.end(), larger<block_change>);
    if (result_.path_causes.size() > 3) result_.path_causes.resize(3);
  }

  /// The blocks that changed, and those that make up a tenth of the change or more.
  void explain(wait_change& w) {
    const matched_wait& m = *explained_[static_cast<std::size_t>(&w - result_.waits.data())];
    const double all = w.seconds.change();
    const bool shifted = w.what == change::shifted;
    std::vector<block_change> changed;
    for (const block_change& b : w.why)
      if (b.what != change::same && (shifted || b.seconds.change() / all > 0)) changed.push_back(b);
    if (changed.empty())
      for (const auto& [key, b] : m.why) {
        matched_block copy = b;
        block_change c = change_of(copy, options_.noise.floor_share);
        if (c.seconds.change() / all >= 0.1) changed.push_back(std::move(c));
      }
    std::stable_sort(changed.begin(), changed.end(), larger<block_change>);
    if (changed.size() > 3) changed.resize(3);
    w.why = std::move(changed);
    const double least = shifted ? options_.at_least * level_ : 0.6 * std::fabs(all);
    double most = least;
    for (const auto& [rank, values] : m.causers) {
      const double more = mean_of(values.after) - mean_of(values.before);
      if (rank < 0 || (shifted || all > 0 ? more : -more) < most) continue;
      most = std::fabs(more);
      w.rank = rank;
    }
  }

  template <class Change>
  static bool larger(const Change& a, const Change& b) noexcept {
    return std::fabs(a.seconds.change()) > std::fabs(b.seconds.change());
  }
  void sort() {
    std::stable_sort(result_.waits.begin(), result_.waits.end(), larger<wait_change>);
    std::stable_sort(result_.path.begin(), result_.path.end(), larger<block_change>);
  }

  void add_notes() {
    const auto differ = [this](auto member) {
      for (const side_t s : {before_side, after_side})
        for (const compared_run& r : side(s))
          if (r.*member != side(before_side).front().*member) return true;
      return false;
    };
    if (differ(&compared_run::ranks))
      result_.notes.push_back("the runs have different numbers of ranks; waiting is compared per rank");
    if (differ(&compared_run::mpi)) result_.notes.push_back("the runs used different MPI libraries");
    if (differ(&compared_run::host)) result_.notes.push_back("the runs were made on different machines");
    if (differ(&compared_run::program))
      result_.notes.push_back("the programs or their arguments differ: \"" + side(before_side).front().program + "\" and \"" +
                              side(after_side).front().program + "\"");
    const double before = mean_of(sharing_.before), after = mean_of(sharing_.after);
    if (std::fabs(after - before) >= 0.02 * level_)
      result_.notes.push_back("a rank had no processor for " + base::duration(before, 2) + " before and for " +
                              base::duration(after, 2) + " after (mean): so much of the difference may be the machine's");
    for (const side_t s : {before_side, after_side})
      for (const compared_run& r : side(s))
        for (const std::string& doubt : r.doubts) result_.notes.push_back(r.name + ": " + doubt);
    if (result_.runs_before + result_.runs_after < 4)
      result_.notes.push_back("noise is assumed, not measured: compare several runs of each side");
  }

  const compare_options& options_;
  const runs* sides_[2];
  place_matcher matcher_;
  samples wall_, sharing_;
  double level_ = 0;  ///< wall time before
  double noise_of_sharing_ = 0;  ///< standard deviation of the wall time because ranks had no processor
  double bias_of_sharing_ = 0;  ///< difference of the wall time between both sides for that reason
  std::map<std::string, matched_wait> waits_;
  std::map<std::string, matched_block> path_;
  std::vector<const matched_wait*> explained_;  ///< of each element of result_.waits
  changes result_;
};

}  // namespace detail

/// Compares runs of a program before and after a change. See whywait::compare in <whywait/compare.hpp>.
inline changes compare_runs(const std::vector<compared_run>& before, const std::vector<compared_run>& after,
                            const compare_options& options = {}) {
  return detail::comparer(before, after, options).compare();
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
