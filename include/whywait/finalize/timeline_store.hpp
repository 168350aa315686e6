#ifndef WHYWAIT_FINALIZE_TIMELINE_STORE_HPP
#define WHYWAIT_FINALIZE_TIMELINE_STORE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/timeline.hpp>
#include <whywait/explain/walk.hpp>
#include <whywait/finalize/take_timelines.hpp>
#include <whywait/report/trace_slices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// What one rank keeps of its MPI calls and waits for the timeline, from epoch to epoch, with WHYWAIT_TIMELINE: at most as many
/// bytes as its regions may take. When they are full, calls are dropped like regions: the newest, or the oldest half.
class timeline_store {
 public:
  explicit timeline_store(const core::settings& config)
      : on_(config.timeline != core::settings::timeline_choice::none),
        keeps_last_(config.timeline == core::settings::timeline_choice::overwrite_oldest),
        most_bytes_(config.timeline_bytes) {}

  bool on() const noexcept { return on_; }

  /// The observer of the waits of one epoch, which passes them on to `next`; both may be null.
  explain::observer* begin(const core::rank_history& history, explain::observer* next) {
    if (!on_) return next;
    watch_.reset(new collector(*this, history, next));
    return watch_.get();
  }

  /// Adds the calls of an explained epoch. `until`: its last tick.
  void fold(const core::rank_history& history, std::uint64_t until) {
    if (!on_) return;
    watch_.reset();
    clocks_.push_back({until, history.clock});
    end_ns_ = history.end_ns;
    for (std::size_t l = 0; l != history.locations.size(); ++l) {
      const core::location_history& here = history.locations[l];
      explain::location_walk walk(history);
      for (std::uint64_t i = 0; i != here.records.size(); ++i) {
        const core::sync_record& r = here.records[i];
        walk.step(r);
        if (i < here.carried || r.duration == 0 || r.call == core::mpi_call::none || !has_room()) continue;
        calls_.push_back({walk.begin_ns(), walk.leave_ns(), number_of(explain::site_of(here, r)), static_cast<std::uint16_t>(l),
                          reports::slice_kind::call, 0});
      }
    }
  }

  /// Everything that is kept, nested, in the time that all ranks share. Takes the raw events of the process, about five times
  /// their bytes meanwhile. The slices of waits have the numbers of waits().
  base::pod_vector<reports::trace_slice> take(const core::registry& registry, const core::rank_history& history) {
    base::pod_vector<reports::trace_slice> all;
    all.swap(calls_);
    for (std::uint32_t i = 0; i != waits_.size(); ++i)
      all.push_back({waits_[i].begin_ns, waits_[i].end_ns, i, waits_[i].location, reports::slice_kind::wait, 0});
    const auto clock = [this](std::uint64_t ticks) {
      const auto at = std::lower_bound(clocks_.begin(), clocks_.end(), ticks,
                                       [](const epoch_clock& c, std::uint64_t t) { return c.until < t; });
      return (at == clocks_.end() ? clocks_.back() : *at).clock(ticks);
    };
    if (!clocks_.empty())
      for (const explain::location_timeline& line : take_timelines(registry)) {
        lost_ += line.lost;
        base::pod_vector<std::size_t> open;
        for (const explain::timeline_mark& m : explain::marks_of(line, clock, end_ns_)) {
          if (m.kind == core::timeline_event::leave) {
            if (open.empty()) continue;
            all[open.back()].end_ns = m.at_ns;
            open.pop_back();
            continue;
          }
          const core::stable_key key = m.block < history.blocks.size() ? history.blocks[m.block] : 0;
          const bool step = m.kind == core::timeline_event::visit;
          if (!step) open.push_back(all.size());
          all.push_back({m.at_ns, m.at_ns, number_of(key), static_cast<std::uint16_t>(line.thread),
                         step ? reports::slice_kind::step : reports::slice_kind::region, 0});
        }
      }
    reports::nest(all);
    return all;
  }

  const base::pod_vector<reports::trace_wait>& waits() const noexcept { return waits_; }
  /// The meaning of the numbers of names.
  const base::pod_vector<core::stable_key>& keys() const noexcept { return keys_; }
  /// Calls, waits and events of regions that were not kept.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  struct epoch_clock {
    std::uint64_t until;
    core::shared_clock clock;
  };

  class collector final : public explain::observer {
   public:
    collector(timeline_store& to, const core::rank_history& of, explain::observer* next) : to_(to), of_(of), next_(next) {}
    void wait(const explain::wait_instance& w) override {
      if (w.rank == of_.rank)
        to_.add(w, explain::site_of(of_.locations[w.location], of_.locations[w.location].records[w.record]));
      if (next_ != nullptr) next_->wait(w);
    }
    void path(const explain::path_instance& p) override {
      if (next_ != nullptr) next_->path(p);
    }

   private:
    timeline_store& to_;
    const core::rank_history& of_;
    explain::observer* next_;
  };

  void add(const explain::wait_instance& w, core::stable_key operation) {
    if (!has_room()) return;
    reports::trace_wait t;
    t.begin_ns = w.begin_ns;
    t.end_ns = w.begin_ns + w.wait_ns;
    t.operation = number_of(operation);
    t.cause = number_of(w.cause);
    t.causer_rank = w.causer_rank;
    t.location = static_cast<std::uint16_t>(w.location);
    t.causer_location = static_cast<std::uint16_t>(w.causer_location);
    t.why = static_cast<std::uint8_t>(w.why);
    t.trust = static_cast<std::uint8_t>(w.trust);
    t.explained = w.explained ? 1 : 0;
    for (const explain::residual_term& term : w.terms) {  // the largest ones, in order
      if (term.within != 0 || 20 * term.total_ns < w.wait_ns || term.total_ns <= 0) continue;
      std::size_t at = t.terms;
      while (at != 0 && t.term_ns[at - 1] < term.total_ns) --at;
      if (at == reports::trace_wait::most_terms) continue;
      for (std::size_t i = reports::trace_wait::most_terms - 1; i > at; --i) {
        t.term[i] = t.term[i - 1];
        t.term_ns[i] = t.term_ns[i - 1];
      }
      t.term[at] = number_of(term.block);
      t.term_ns[at] = term.total_ns;
      t.terms = static_cast<std::uint8_t>(std::min<std::size_t>(t.terms + 1u, reports::trace_wait::most_terms));
    }
    waits_.push_back(t);
  }

  std::uint32_t number_of(core::stable_key key) {
    const auto fresh = static_cast<std::uint32_t>(keys_.size());
    const std::uint32_t number = numbers_.intern(key == 0 ? 1 : key, fresh);  // the map has no key 0
    if (number == fresh) keys_.push_back(key);
    return number;
  }

  bool has_room() {
    const std::uint64_t bytes = calls_.size() * sizeof(reports::trace_slice) + waits_.size() * sizeof(reports::trace_wait);
    if (bytes < most_bytes_) return true;
    if (!keeps_last_ || (calls_.size() < 2 && waits_.size() < 2)) {
      ++lost_;
      return false;
    }
    lost_ += calls_.size() / 2 + waits_.size() / 2;
    calls_.erase(calls_.begin(), calls_.begin() + calls_.size() / 2);
    waits_.erase(waits_.begin(), waits_.begin() + waits_.size() / 2);
    return true;
  }

  bool on_, keeps_last_;
  std::uint64_t most_bytes_;
  std::unique_ptr<collector> watch_;
  base::pod_vector<epoch_clock> clocks_;
  base::pod_vector<reports::trace_slice> calls_;
  base::pod_vector<reports::trace_wait> waits_;
  base::key_map numbers_;
  base::pod_vector<core::stable_key> keys_;
  std::uint64_t lost_ = 0;
  std::int64_t end_ns_ = INT64_MIN;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
