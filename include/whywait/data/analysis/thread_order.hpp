#ifndef WHYWAIT_DATA_ANALYSIS_THREAD_ORDER_HPP
#define WHYWAIT_DATA_ANALYSIS_THREAD_ORDER_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/data_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// Which accesses a thread can have seen, among threads that share memory: vector clocks (Fidge, Mattern) over the recorded
/// synchronisations, and Lamport's number of the epoch a thread is in. A synchronisation costs one pass over the
/// threads; memory threads^2 * 32 words and one clock for each thing they synchronise on. Not thread safe: records come
/// in the order of their time.
class thread_order {
 public:
  explicit thread_order(std::size_t threads) { grow(threads); }

  /// Adds threads without any visible write.
  void grow(std::size_t threads) {
    const std::size_t before = threads_.size();
    if (threads <= before) return;
    threads_.resize(threads);
    for (thread& t : threads_) {
      t.clock.at.resize(threads, 0);
      for (step& s : t.log) s.clock.resize(threads, 0);
    }
    for (thing& known : things_) {
      for (shared_clock& turn : known.turn) turn.clock.at.resize(threads, 0);
    }
    for (std::size_t t = before; t != threads; ++t) threads_[t].clock.at[t] = 1;
  }

  std::size_t size() const noexcept { return threads_.size(); }

  /// Begins the next record of the thread.
  void begin(std::size_t t) {
    thread& me = threads_[t];
    if (me.barrier == base::key_map::none) return;
    const shared_clock& done = things_[me.barrier].turn[me.order & 1];
    me.barrier = base::key_map::none;
    join(me.clock, done.clock);
    me.clock.epoch = std::max(me.clock.epoch, done.clock.epoch + 1);
    learned(me, me.site);
  }

  /// The thread synchronised. `site` is where.
  void synchronise(std::size_t t, const core::data_record& r, core::stable_key site) {
    thread& me = threads_[t];
    const bool primitive = r.of_primitive(), acquires = !primitive || r.has(core::data_flag::acquires),
               releases = !primitive || r.has(core::data_flag::releases);
    const auto fresh = static_cast<std::uint32_t>(things_.size());
    const std::uint64_t name = primitive ? r.begin | std::uint64_t(1) << 63 : static_cast<std::uint64_t>(r.object) + 1;
    const std::uint32_t number = numbers_.intern(name, fresh);
    if (number == fresh) things_.emplace_back();
    const bool barrier = r.has(core::data_flag::everyone);
    shared_clock& with = things_[number].turn[barrier ? r.order & 1 : 0];
    if (with.clock.at.empty()) with.clock.at.resize(threads_.size(), 0);
    if (barrier) {
      if (with.order != r.order) {
        if (!releases) return;
        with.clock = {base::pod_vector<std::uint32_t>(threads_.size(), 0), 0};
        with.order = r.order;
      }
      if (releases) {
        join(with.clock, me.clock);
        with.clock.epoch = std::max(with.clock.epoch, me.clock.epoch);
      }
      if (acquires) {
        me.barrier = number;
        me.order = r.order;
        me.site = site;
      }
    } else {
      if (acquires) {
        me.clock.epoch = std::max(me.clock.epoch, with.clock.epoch);
        join(me.clock, with.clock);
        learned(me, site);
      }
      if (releases) {
        with.clock.epoch = std::max(++me.clock.epoch, with.clock.epoch);
        join(with.clock, me.clock);
      }
    }
    ++me.clock.at[t];  // later writes are not visible to any thread yet
  }

  /// Number that a write by the thread gets now.
  std::uint32_t now(std::size_t t) const noexcept { return threads_[t].clock.at[t]; }
  /// The last write of another thread that is visible to this one.
  std::uint32_t known(std::size_t t, std::size_t of) const noexcept { return threads_[t].clock.at[of]; }
  const base::pod_vector<std::uint32_t>& clock(std::size_t t) const noexcept { return threads_[t].clock.at; }
  /// Accesses of the same epoch are at the same time, as far as synchronisation goes.
  std::uint32_t epoch(std::size_t t) const noexcept { return threads_[t].clock.epoch; }
  /// No thread will do anything in an epoch before this. A thread that waits at a barrier is in none.
  std::uint32_t least_epoch() const noexcept {
    std::uint32_t least = UINT32_MAX;
    for (const thread& t : threads_) least = std::min(least, t.clock.epoch);
    return least;
  }
  /// The synchronisation that made a write of another thread visible: the first of the last 32 after which it was
  /// visible.
  core::stable_key learned_at(std::size_t t, std::size_t of, std::uint32_t write) const noexcept {
    const thread& me = threads_[t];
    const std::size_t n = std::min<std::size_t>(me.count, log_size);
    for (std::size_t k = n; k != 0; --k) {
      const step& s = me.log[(me.count - k) % log_size];
      if (s.clock[of] >= write) return s.site;
    }
    return 0;
  }
  /// Which of its synchronisations that was, counted down: smaller is earlier.
  std::size_t learned_when(std::size_t t, std::size_t of, std::uint32_t write) const noexcept {
    const thread& me = threads_[t];
    const std::size_t n = std::min<std::size_t>(me.count, log_size);
    for (std::size_t k = n; k != 0; --k) {
      if (me.log[(me.count - k) % log_size].clock[of] >= write) return me.count - k;
    }
    return me.count;
  }

 private:
  static constexpr std::size_t log_size = 32;

  struct vector_clock {
    base::pod_vector<std::uint32_t> at;
    std::uint32_t epoch = 0;
  };
  struct step {
    core::stable_key site = 0;
    base::pod_vector<std::uint32_t> clock;
  };
  struct thread {
    vector_clock clock;
    std::uint32_t barrier = base::key_map::none;  ///< whose end it has not taken notice of
    std::uint32_t order = 0;
    core::stable_key site = 0;
    step log[log_size];
    std::size_t count = 0;
  };
  struct shared_clock {
    vector_clock clock;
    std::uint32_t order = 0;
  };
  struct thing {
    shared_clock turn[2];  ///< a fast thread may come again before a slow one has left
  };

  static void join(vector_clock& into, const vector_clock& from) noexcept {
    for (std::size_t i = 0, n = into.at.size(); i != n; ++i) into.at[i] = std::max(into.at[i], from.at[i]);
  }
  static void learned(thread& me, core::stable_key site) {
    step& s = me.log[me.count++ % log_size];
    s.site = site;
    s.clock = me.clock.at;
  }

  base::vector<thread> threads_;
  base::vector<thing> things_;
  base::key_map numbers_;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
