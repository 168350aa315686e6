#ifndef WHYWAIT_THREAD_BARRIERS_HPP
#define WHYWAIT_THREAD_BARRIERS_HPP

#include <whywait/thread/futex.hpp>
#include <whywait/thread/observe.hpp>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <utility>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {
namespace threads {

/// The default completion of a barrier.
struct no_completion {
  void operator()() const noexcept {}
};

}  // namespace threads

/// C++20's std::barrier, for C++17 as well. A wait is explained by the thread that comes last, up to the end of the completion
/// function, which that thread runs.
template <class Completion = threads::no_completion>
class barrier {
 public:
  /// A phase of the barrier.
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend barrier;
    explicit arrival_token(uint32_t phase) noexcept : phase_(phase) {}
    uint32_t phase_;
  };

  constexpr explicit barrier(ptrdiff_t expected, Completion completion = Completion())
      : left_(static_cast<uint32_t>(expected)),
        expected_(static_cast<uint32_t>(expected)),
        completion_(std::move(completion)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  static constexpr ptrdiff_t max() noexcept { return INT_MAX; }

  [[nodiscard]] __attribute__((noinline)) arrival_token arrive(ptrdiff_t update = 1) {
    const uint32_t phase = __atomic_load_n(&phase_, __ATOMIC_RELAXED), all = members();
    threads::observe_arrival(WHYWAIT_DETAIL_SYNC_SITE(barrier_arrive), this, phase, false);
    if (!come(WHYWAIT_DETAIL_SYNC_SITE(barrier_wait), phase, update))
      threads::observe_member(WHYWAIT_DETAIL_SYNC_SITE(barrier_arrive), this, phase, all, nullptr);
    return arrival_token(phase);
  }
  __attribute__((noinline)) void wait(arrival_token&& arrival) const {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(barrier_wait);
    block(site, arrival.phase_);
    threads::observe_phase_end(site, this, arrival.phase_);
  }
  __attribute__((noinline)) void arrive_and_wait() {
    const uint32_t phase = __atomic_load_n(&phase_, __ATOMIC_RELAXED);
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(barrier_wait);
    threads::observe_arrival(site, this, phase, true);
    if (!come(site, phase, 1)) block(site, phase);
  }
  __attribute__((noinline)) void arrive_and_drop() {
    __atomic_fetch_add(&dropped_, 1u, __ATOMIC_RELAXED);
    const uint32_t phase = __atomic_load_n(&phase_, __ATOMIC_RELAXED), all = members();
    threads::observe_arrival(WHYWAIT_DETAIL_SYNC_SITE(barrier_arrive), this, phase, false);
    if (!come(WHYWAIT_DETAIL_SYNC_SITE(barrier_wait), phase, 1))
      threads::observe_member(WHYWAIT_DETAIL_SYNC_SITE(barrier_arrive), this, phase, all, nullptr);
  }

 private:
  uint32_t members() const noexcept { return __atomic_load_n(&expected_, __ATOMIC_RELAXED); }

  // Returns whether this thread was the last and has begun the next phase.
  bool come(const threads::sync_site& site, uint32_t phase, ptrdiff_t update) {
    const uint32_t count = static_cast<uint32_t>(update);
    if (__atomic_fetch_sub(&left_, count, __ATOMIC_ACQ_REL) != count) return false;
    completion_();
    threads::observe_member(site, this, phase, members(), &causes_[phase & 1]);
    const uint32_t expected = members() - __atomic_exchange_n(&dropped_, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&expected_, expected, __ATOMIC_RELAXED);
    __atomic_store_n(&left_, expected, __ATOMIC_RELAXED);
    __atomic_store_n(&phase_, phase + 1, __ATOMIC_RELEASE);
    threads::futex_wake(&phase_);
    return true;
  }
  void block(const threads::sync_site& site, uint32_t phase) const {
    if (__atomic_load_n(&phase_, __ATOMIC_ACQUIRE) != phase) return;
    threads::observe_meeting(site, this, phase, members(), &causes_[phase & 1], [this, phase] {
      while (__atomic_load_n(&phase_, __ATOMIC_ACQUIRE) == phase) threads::futex_wait(&phase_, phase);
      return 0;
    });
  }

  uint32_t left_;  // how many are still missing in this phase
  uint32_t phase_ = 0;
  uint32_t expected_;
  uint32_t dropped_ = 0;
  uint64_t causes_[2] = {};  // of this phase and the one before it
  Completion completion_;
};

}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
