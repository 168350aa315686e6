#ifndef WHYWAIT_FINALIZE_JOINED_THREADS_HPP
#define WHYWAIT_FINALIZE_JOINED_THREADS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/sync_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// A thread that ended without calling MPI, or several that did in one gap between two calls, and what they did in marked
/// code.
struct ended_thread {
  std::uint64_t begin = 0, end = 0;  ///< clock ticks
  std::size_t first_step = 0, steps = 0;
  std::uint64_t used = end - begin;  ///< how long at least one of them ran
  std::int64_t threads = 1;
};

/// The records and steps of a location together with the work of threads that lived between two of its calls: the location
/// started them and, if nothing else, waited for their end. Owns what its views show.
class joined_threads {
 public:
  /// `others[i].first_step` is an index in `work`. `begin`, `end`: of the recorded time, ticks; begin 0: what was before the
  /// first record is not known. Takes the threads that fit, in any order.
  joined_threads(const core::location_history& from, const base::pod_vector<ended_thread>& others,
                 const base::pod_vector<core::path_step>& work, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t n = from.records.size();
    base::pod_vector<lived> fit;
    for (const ended_thread& t : others) {
      std::uint64_t next = from.carried, beyond = n;  // the first record that begins after it
      while (next != beyond) {
        const std::uint64_t middle = next + (beyond - next) / 2;
        if (from.records[middle].begin < t.end) next = middle + 1;
        else beyond = middle;
      }
      const std::uint64_t left = next != from.carried ? leave(from.records[next - 1]) : begin;
      if (left == 0 || t.begin < left || (next == n && t.end > end)) continue;
      fit.push_back({{next, left, next == n ? end : from.records[next].begin, 0, 0}, t});
    }
    base::small_stable_sort(fit, [](const lived& a, const lived& b) {
      return a.in.record != b.in.record ? a.in.record < b.in.record : a.thread.end > b.thread.end;
    });
    base::pod_vector<gap> gaps;
    for (const lived& l : fit) {
      if (gaps.empty() || gaps.back().record != l.in.record) {
        gaps.push_back(l.in);
        waited_from_ = UINT64_MAX;
      }
      add(gaps.back(), l.thread, work);
    }
    if (threads_ != 0) copy(from, gaps);
  }
  joined_threads(const joined_threads&) = delete;
  joined_threads& operator=(const joined_threads&) = delete;

  /// How many threads belong to the location, and their time in marked code.
  std::int64_t threads() const noexcept { return threads_; }
  std::uint64_t ticks() const noexcept { return ticks_; }

  /// Replaces the views of `to`, if there is any such thread.
  void show(core::location_history& to) const noexcept {
    if (threads_ == 0) return;
    to.records = {&record_chunk_, 63, records_.size()};
    to.steps = {&step_chunk_, 63, steps_.size()};
  }

 private:
  /// The time before a record. Threads may run side by side there: `used` is how long at least one of them ran, `worked` their time in
  /// marked code as far as the location waited for it.
  struct gap {
    std::uint64_t record, begin, end, used, worked;
  };
  struct lived {
    gap in;
    ended_thread thread;
  };
  struct lent_step {
    std::uint64_t record;
    core::path_step step;
  };

  static std::uint64_t leave(const core::sync_record& r) noexcept { return r.begin + r.duration; }

  // Adds a thread to its gap, those that end last first: for these the location waited, as far as it waited, and for an earlier one only
  // before they began.
  void add(gap& g, const ended_thread& t, const base::pod_vector<core::path_step>& work) {
    const std::uint64_t until = std::min(t.end, waited_from_), waited = until > t.begin ? std::min(until - t.begin, t.used) : 0;
    const double part = t.used != 0 ? static_cast<double>(waited) / static_cast<double>(t.used) : 0;
    for (std::size_t i = t.first_step; i != t.first_step + t.steps; ++i) {
      ticks_ += work[i].ticks;
      parts_.push_back({g.record, work[i]});
      core::path_step& s = parts_.back().step;
      s.ticks = scaled(s.ticks, part);
      g.worked += s.ticks;
    }
    g.used += waited;
    waited_from_ = std::min(waited_from_, t.begin);
    threads_ += t.threads;
  }
  static std::uint64_t scaled(std::uint64_t ticks, double part) noexcept {
    return ticks == 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(ticks) * part));
  }

  void copy(const core::location_history& from, const base::pod_vector<gap>& gaps) {
    const std::uint64_t n = from.records.size();
    std::size_t g = 0, p = 0;
    std::uint64_t step = 0;
    records_.reserve(n);
    steps_.reserve(from.steps.size() + parts_.size());
    for (std::uint64_t i = 0; i <= n; ++i) {
      const std::uint64_t until =
          i == n ? from.steps.size()
                 : std::min<std::uint64_t>(std::max<std::uint64_t>(from.records[i].steps, step), from.steps.size());
      std::uint64_t own = 0;
      for (; step != until; ++step) {
        if (from.steps[step].block != 0) own += from.steps[step].ticks;
        steps_.push_back(from.steps[step]);
      }
      if (g != gaps.size() && gaps[g].record == i) {
        // Work side by side takes its part of the time that the location had besides its own marked code.
        const std::uint64_t all = gaps[g].end - gaps[g].begin, room = std::min(gaps[g].used, all > own ? all - own : 0);
        const double part = gaps[g].worked > room ? static_cast<double>(room) / static_cast<double>(gaps[g].worked) : 1.0;
        for (; p != parts_.size() && parts_[p].record == i; ++p) {
          core::path_step s = parts_[p].step;
          s.ticks = scaled(s.ticks, part);
          steps_.push_back(s);
        }
        ++g;
      }
      if (i == n) break;
      records_.push_back(from.records[i]);
      records_.back().steps = static_cast<std::uint32_t>(i < from.carried ? from.records[i].steps : steps_.size());
    }
    record_chunk_ = records_.data();
    step_chunk_ = steps_.data();
  }

  base::pod_vector<lent_step> parts_;  ///< ascending by record
  base::pod_vector<core::sync_record> records_;
  base::pod_vector<core::path_step> steps_;
  const core::sync_record* record_chunk_ = nullptr;
  const core::path_step* step_chunk_ = nullptr;
  std::int64_t threads_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t waited_from_ = UINT64_MAX;  ///< begin of the threads that were added in the current gap
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
