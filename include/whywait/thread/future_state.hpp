#ifndef WHYWAIT_THREAD_FUTURE_STATE_HPP
#define WHYWAIT_THREAD_FUTURE_STATE_HPP

#include <whywait/thread/deadlines.hpp>
#include <whywait/thread/futex.hpp>
#include <whywait/thread/observe.hpp>

#include <errno.h>
#include <stdint.h>

#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// As std::promise and std::future do; without exceptions the process ends.
[[noreturn]] inline void throw_future_error(std::future_errc code) {
#if defined(__cpp_exceptions)
  throw std::future_error(code);
#else
  static_cast<void>(code);
  std::abort();
#endif
}

/// What a promise and its futures share, without the value. A deferred state does not exist.
class future_state {
 public:
  future_state() noexcept = default;
  future_state(const future_state&) = delete;
  future_state& operator=(const future_state&) = delete;
  virtual ~future_state() = default;

  bool is_ready() const noexcept { return (__atomic_load_n(&status_, __ATOMIC_ACQUIRE) & ready) != 0; }
  /// The first caller may store a result; others throw.
  void claim() {
    if ((__atomic_fetch_or(&status_, claimed, __ATOMIC_ACQ_REL) & claimed) != 0)
      throw_future_error(std::future_errc::promise_already_satisfied);
  }
  /// Storing the value has thrown: another attempt may follow.
  void give_back() noexcept { __atomic_fetch_and(&status_, ~claimed, __ATOMIC_RELEASE); }
  void store_exception(std::exception_ptr e) noexcept { exception_ = std::move(e); }
  /// Lets the waiters go on. `site`: of the call that stored the result.
  void make_ready(const sync_site& site) noexcept {
    observe_release(site, this);
    if ((__atomic_load_n(&status_, __ATOMIC_RELAXED) & waited_for) != 0) observe_event(site, this, cause_);
    if ((__atomic_fetch_or(&status_, ready, __ATOMIC_ACQ_REL) & waited_for) != 0) futex_wake(&status_);
  }
  void wait(const sync_site& site) const { wait(site, nullptr, false); }
  /// False if the time is over.
  bool wait(const sync_site& site, const deadline& until) const { return wait(site, &until.at, until.clock == CLOCK_REALTIME); }

  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  static constexpr uint32_t ready = 1, waited_for = 2, claimed = 4;

  bool wait(const sync_site& site, const timespec* until, bool real_time) const {
    if (!is_ready() && !wait_until(site, until, real_time)) return false;
    observe_acquire(site, this);
    return true;
  }
  bool wait_until(const sync_site& site, const timespec* until, bool real_time) const {
    return observe_wait(site, this, &cause_, [&] {
             for (;;) {
               const uint32_t status = __atomic_fetch_or(&status_, waited_for, __ATOMIC_ACQ_REL) | waited_for;
               if ((status & ready) != 0) return 0;
               if (futex_wait(&status_, status, until, real_time) == ETIMEDOUT) return is_ready() ? 0 : ETIMEDOUT;
             }
           }) == 0;
  }

  mutable uint32_t status_ = 0;
  uint64_t cause_ = 0;
  std::exception_ptr exception_;
};

/// With room for a value. R: a value, a reference or void.
template <class R>
class value_state : public future_state {
 public:
  using stored = std::conditional_t<std::is_void<R>::value, char,
                                    std::conditional_t<std::is_reference<R>::value, std::remove_reference_t<R>*, R>>;

  ~value_state() override {
    if (holds_) value().~stored();
  }
  template <class... Args>
  void construct(Args&&... args) {
    ::new (static_cast<void*>(&room_)) stored(std::forward<Args>(args)...);
    holds_ = true;
  }
  stored& value() noexcept { return *std::launder(reinterpret_cast<stored*>(&room_)); }

 private:
  alignas(stored) unsigned char room_[sizeof(stored)];
  bool holds_ = false;
};

/// The promise's side: what promise and packaged_task have in common.
template <class R>
class result_source {
 public:
  result_source() : state_(std::make_shared<value_state<R>>()) {}
  result_source(result_source&& other) noexcept = default;
  result_source& operator=(result_source&& other) noexcept {
    result_source(std::move(other)).swap(*this);
    return *this;
  }
  ~result_source() {
    // Futures of a promise that was given up are ready, with an error.
    if (state_ == nullptr || state_.use_count() == 1 || state_->is_ready()) return;
    abandon();
  }
  void swap(result_source& other) noexcept {
    state_.swap(other.state_);
    std::swap(retrieved_, other.retrieved_);
  }
  bool valid() const noexcept { return state_ != nullptr; }

  std::shared_ptr<value_state<R>> retrieve() {
    value_state<R>& s = state();
    static_cast<void>(s);
    if (retrieved_) throw_future_error(std::future_errc::future_already_retrieved);
    retrieved_ = true;
    return state_;
  }
  value_state<R>& state() const {
    if (state_ == nullptr) throw_future_error(std::future_errc::no_state);
    return *state_;
  }
  template <class... Args>
  void set(const sync_site& site, Args&&... args) {
    value_state<R>& s = state();
    s.claim();
    {
      claim_of_value claimed{&s};  // given back if making the value throws
      s.construct(std::forward<Args>(args)...);
      claimed.state = nullptr;
    }
    s.make_ready(site);
  }
  void set_exception(const sync_site& site, std::exception_ptr e) {
    value_state<R>& s = state();
    s.claim();
    s.store_exception(std::move(e));
    s.make_ready(site);
  }

 private:
  struct claim_of_value {
    value_state<R>* state;
    ~claim_of_value() {
      if (state != nullptr) state->give_back();
    }
  };
  __attribute__((noinline)) void abandon() noexcept {
    try {
      set_exception(WHYWAIT_DETAIL_SYNC_SITE(promise_set),
                    std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
    } catch (...) {  // the value is being stored
    }
  }

  std::shared_ptr<value_state<R>> state_;
  bool retrieved_ = false;
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
