#ifndef WHYWAIT_THREAD_FUTURES_HPP
#define WHYWAIT_THREAD_FUTURES_HPP

#include <whywait/thread/deadlines.hpp>
#include <whywait/thread/future_state.hpp>
#include <whywait/thread/observe.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace whywait {
#ifdef WHYWAIT_DISABLE
inline namespace v0_off {
using std::future;
using std::packaged_task;
using std::promise;
using std::shared_future;
}  // namespace v0_off
#else
inline namespace v0 {

using std::future_errc;
using std::future_error;
using std::future_status;

template <class R>
class promise;
template <class R>
class shared_future;
template <class Signature>
class packaged_task;

namespace threads {

/// What future and shared_future have in common.
template <class R>
class future_base {
 public:
  bool valid() const noexcept { return state_ != nullptr; }
  __attribute__((noinline)) void wait() const { state().wait(WHYWAIT_DETAIL_SYNC_SITE(future_wait)); }
  template <class Rep, class Period>
  __attribute__((noinline)) std::future_status wait_for(const std::chrono::duration<Rep, Period>& time) const {
    return status(state().wait(WHYWAIT_DETAIL_SYNC_SITE(future_wait), deadline::after(time)));
  }
  template <class Clock, class Duration>
  __attribute__((noinline)) std::future_status wait_until(const std::chrono::time_point<Clock, Duration>& time) const {
    return status(state().wait(WHYWAIT_DETAIL_SYNC_SITE(future_wait), deadline::of(time)));
  }

 protected:
  future_base() noexcept = default;
  explicit future_base(std::shared_ptr<value_state<R>> state) noexcept : state_(std::move(state)) {}

  value_state<R>& state() const {
    if (state_ == nullptr) throw_future_error(std::future_errc::no_state);
    return *state_;
  }
  /// Waits for the result of `s`; throws its exception.
  static void complete(value_state<R>& s, const sync_site& site) {
    s.wait(site);
    s.rethrow();
  }
  static std::future_status status(bool ready) noexcept {
    return ready ? std::future_status::ready : std::future_status::timeout;
  }

  std::shared_ptr<value_state<R>> state_;
};

}  // namespace threads

/// std::future of whywait::promise and packaged_task. A wait is explained by the thread that stored the result.
template <class R>
class future : public threads::future_base<R> {
  using base = threads::future_base<R>;

 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;
  future(const future&) = delete;
  future& operator=(const future&) = delete;

  shared_future<R> share() noexcept { return shared_future<R>(std::move(*this)); }
  __attribute__((noinline)) R get() {
    const std::shared_ptr<threads::value_state<R>> s = (base::state(), std::move(base::state_));
    base::complete(*s, WHYWAIT_DETAIL_SYNC_SITE(future_wait));
    if constexpr (std::is_reference<R>::value) return static_cast<R>(*s->value());
    else if constexpr (!std::is_void<R>::value) return std::move(s->value());
  }

 private:
  friend promise<R>;
  friend shared_future<R>;
  template <class Signature>
  friend class packaged_task;
  explicit future(std::shared_ptr<threads::value_state<R>> state) noexcept : base(std::move(state)) {}
};

/// std::shared_future.
template <class R>
class shared_future : public threads::future_base<R> {
  using base = threads::future_base<R>;
  using result = std::conditional_t<std::is_reference<R>::value || std::is_void<R>::value, R,
                                    std::add_lvalue_reference_t<std::add_const_t<R>>>;

 public:
  shared_future() noexcept = default;
  shared_future(future<R>&& from) noexcept : base(std::move(from.state_)) {}

  __attribute__((noinline)) result get() const {
    threads::value_state<R>& s = base::state();
    base::complete(s, WHYWAIT_DETAIL_SYNC_SITE(future_wait));
    if constexpr (std::is_reference<R>::value) return static_cast<R>(*s.value());
    else if constexpr (!std::is_void<R>::value) return s.value();
  }
};

/// std::promise, without the functions that store at thread exit.
template <class R>
class promise {
 public:
  promise() = default;
  promise(promise&&) noexcept = default;
  promise& operator=(promise&&) noexcept = default;

  void swap(promise& other) noexcept { source_.swap(other.source_); }
  future<R> get_future() { return future<R>(source_.retrieve()); }
  __attribute__((noinline)) void set_value(const R& value) { source_.set(WHYWAIT_DETAIL_SYNC_SITE(promise_set), value); }
  __attribute__((noinline)) void set_value(R&& value) { source_.set(WHYWAIT_DETAIL_SYNC_SITE(promise_set), std::move(value)); }
  __attribute__((noinline)) void set_exception(std::exception_ptr e) {
    source_.set_exception(WHYWAIT_DETAIL_SYNC_SITE(promise_set), std::move(e));
  }

 private:
  threads::result_source<R> source_;
};
template <class R>
class promise<R&> {
 public:
  promise() = default;
  promise(promise&&) noexcept = default;
  promise& operator=(promise&&) noexcept = default;

  void swap(promise& other) noexcept { source_.swap(other.source_); }
  future<R&> get_future() { return future<R&>(source_.retrieve()); }
  __attribute__((noinline)) void set_value(R& value) {
    source_.set(WHYWAIT_DETAIL_SYNC_SITE(promise_set), std::addressof(value));
  }
  __attribute__((noinline)) void set_exception(std::exception_ptr e) {
    source_.set_exception(WHYWAIT_DETAIL_SYNC_SITE(promise_set), std::move(e));
  }

 private:
  threads::result_source<R&> source_;
};
template <>
class promise<void> {
 public:
  promise() = default;
  promise(promise&&) noexcept = default;
  promise& operator=(promise&&) noexcept = default;

  void swap(promise& other) noexcept { source_.swap(other.source_); }
  future<void> get_future() { return future<void>(source_.retrieve()); }
  __attribute__((noinline)) void set_value() { source_.set(WHYWAIT_DETAIL_SYNC_SITE(promise_set)); }
  __attribute__((noinline)) void set_exception(std::exception_ptr e) {
    source_.set_exception(WHYWAIT_DETAIL_SYNC_SITE(promise_set), std::move(e));
  }

 private:
  threads::result_source<void> source_;
};
template <class R>
void swap(promise<R>& a, promise<R>& b) noexcept {
  a.swap(b);
}

/// std::packaged_task, without make_ready_at_thread_exit.
template <class R, class... Args>
class packaged_task<R(Args...)> {
 public:
  packaged_task() noexcept : source_(std::nullopt) {}
  template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, packaged_task>::value>>
  explicit packaged_task(F&& function) : source_(std::in_place), function_(make(std::forward<F>(function))) {}
  packaged_task(packaged_task&&) noexcept = default;
  packaged_task& operator=(packaged_task&&) noexcept = default;

  bool valid() const noexcept { return function_ != nullptr; }
  void swap(packaged_task& other) noexcept { std::swap(*this, other); }
  future<R> get_future() {
    if (!valid()) threads::throw_future_error(std::future_errc::no_state);
    return future<R>(source_->retrieve());
  }
  __attribute__((noinline)) void operator()(Args... args) {
    if (!valid()) threads::throw_future_error(std::future_errc::no_state);
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(promise_set);
    if (source_->state().is_ready()) threads::throw_future_error(std::future_errc::promise_already_satisfied);
    try {
      if constexpr (std::is_void<R>::value) {
        function_->call(std::forward<Args>(args)...);
        source_->set(site);
      } else if constexpr (std::is_reference<R>::value) {
        R result = function_->call(std::forward<Args>(args)...);
        source_->set(site, std::addressof(result));
      } else {
        source_->set(site, function_->call(std::forward<Args>(args)...));
      }
    } catch (...) {
      source_->set_exception(site, std::current_exception());
    }
  }
  void reset() {
    if (!valid()) threads::throw_future_error(std::future_errc::no_state);
    source_.emplace();
  }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual R call(Args&&... args) = 0;
  };
  template <class F>
  struct holder final : callable {
    template <class G>
    explicit holder(G&& g) : function(std::forward<G>(g)) {}
    R call(Args&&... args) override { return static_cast<R>(std::invoke(function, std::forward<Args>(args)...)); }
    F function;
  };
  template <class F>
  static std::unique_ptr<callable> make(F&& function) {
    return std::make_unique<holder<std::decay_t<F>>>(std::forward<F>(function));
  }

  std::optional<threads::result_source<R>> source_;
  std::unique_ptr<callable> function_;
};
template <class R, class... Args>
void swap(packaged_task<R(Args...)>& a, packaged_task<R(Args...)>& b) noexcept {
  a.swap(b);
}

}  // namespace v0
#endif
}  // namespace whywait

#endif
