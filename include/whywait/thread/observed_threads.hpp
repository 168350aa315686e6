#ifndef WHYWAIT_THREAD_OBSERVED_THREADS_HPP
#define WHYWAIT_THREAD_OBSERVED_THREADS_HPP

#include <whywait/thread/observe.hpp>
#include <whywait/thread/stop_tokens.hpp>

#include <stdint.h>

#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace whywait {
#ifndef WHYWAIT_DISABLE
inline namespace v0 {
namespace threads {

/// What a thread and those that join it share.
struct life {
  uint64_t created = 0;  ///< names of the records of both instants
  uint64_t ended = 0;
  const void* created_at = nullptr;  ///< the call that created it
};

/// Runs the function of a thread between its two records.
class observed_run {
 public:
  explicit observed_run(std::shared_ptr<life> of) noexcept : life_(std::move(of)) {}

  template <class F, class... Args>
  void operator()(F&& function, Args&&... args) {
    const slow_calls* const to = recorder();
    if (to != nullptr)
      to->begin_thread({core::mpi_call::thread_begin, life_->created_at, __builtin_frame_address(0)}, life_->created);
    observe_acquire({core::mpi_call::thread_begin, life_->created_at, __builtin_frame_address(0)}, life_.get());
    const at_end end{*life_};  // also if the thread is cancelled
    static_cast<void>(std::invoke(std::forward<F>(function), std::forward<Args>(args)...));
  }

 private:
  struct at_end {
    life& of;
    ~at_end() {
      const sync_site site{core::mpi_call::thread_end, of.created_at, __builtin_frame_address(0)};
      observe_release(site, &of);
      if (const slow_calls* const to = recorder()) to->end_thread(site, &of.ended);
    }
  };
  std::shared_ptr<life> life_;
};

}  // namespace threads

/// std::thread that records its creation, its end and waits in `join`: a wait in `join` is explained by what the thread ran.
class thread {
 public:
  using id = std::thread::id;
  using native_handle_type = std::thread::native_handle_type;

  thread() noexcept = default;
  template <class F, class... Args, class = std::enable_if_t<!std::is_same<std::decay_t<F>, thread>::value>>
  __attribute__((noinline)) explicit thread(F&& function, Args&&... args) : life_(std::make_shared<threads::life>()) {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(thread_create);
    life_->created_at = site.address;
    threads::observe_release(site, life_.get());
    threads::observe_event(site, life_.get(), life_->created);
    thread_ = std::thread(threads::observed_run(life_), std::forward<F>(function), std::forward<Args>(args)...);
  }
  thread(thread&&) noexcept = default;
  thread& operator=(thread&&) noexcept = default;

  bool joinable() const noexcept { return thread_.joinable(); }
  __attribute__((noinline)) void join() {
    if (life_ == nullptr) return thread_.join();  // throws
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(thread_join);
    threads::observe_wait(site, life_.get(), &life_->ended, [this] {
      thread_.join();
      return 0;
    });
    threads::observe_acquire(site, life_.get());
    life_.reset();
  }
  void detach() {
    thread_.detach();
    life_.reset();
  }
  id get_id() const noexcept { return thread_.get_id(); }
  native_handle_type native_handle() { return thread_.native_handle(); }
  static unsigned hardware_concurrency() noexcept { return std::thread::hardware_concurrency(); }
  void swap(thread& other) noexcept {
    thread_.swap(other.thread_);
    life_.swap(other.life_);
  }

 private:
  std::shared_ptr<threads::life> life_;
  std::thread thread_;
};
inline void swap(thread& a, thread& b) noexcept { a.swap(b); }

}  // namespace v0
#else
inline namespace v0_off {
using std::thread;
}  // namespace v0_off
#endif

inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {

/// C++20's std::jthread, for C++17 as well: requests its stop and joins at the end of its life.
class jthread {
 public:
  using id = thread::id;
  using native_handle_type = thread::native_handle_type;

  jthread() noexcept : stop_(nostopstate) {}
  template <class F, class... Args, class = std::enable_if_t<!std::is_same<std::decay_t<F>, jthread>::value>>
  __attribute__((always_inline)) explicit jthread(F&& function, Args&&... args)
      : thread_(start(stop_, std::forward<F>(function), std::forward<Args>(args)...)) {}
  jthread(jthread&&) noexcept = default;
  jthread& operator=(jthread&& other) noexcept {
    jthread(std::move(other)).swap(*this);
    return *this;
  }
  __attribute__((always_inline)) ~jthread() {
    if (!joinable()) return;
    request_stop();
    join();
  }

  bool joinable() const noexcept { return thread_.joinable(); }
  __attribute__((always_inline)) void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  id get_id() const noexcept { return thread_.get_id(); }
  native_handle_type native_handle() { return thread_.native_handle(); }
  static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }
  stop_source get_stop_source() noexcept { return stop_; }
  stop_token get_stop_token() const noexcept { return stop_.get_token(); }
  bool request_stop() noexcept { return stop_.request_stop(); }
  void swap(jthread& other) noexcept {
    std::swap(stop_, other.stop_);
    thread_.swap(other.thread_);
  }

 private:
  template <class F, class... Args>
  __attribute__((always_inline)) static thread start(stop_source& stop, F&& function, Args&&... args) {
    if constexpr (std::is_invocable<std::decay_t<F>, stop_token, std::decay_t<Args>...>::value)
      return thread(std::forward<F>(function), stop.get_token(), std::forward<Args>(args)...);
    else return thread(std::forward<F>(function), std::forward<Args>(args)...);
  }

  stop_source stop_;
  thread thread_;
};
inline void swap(jthread& a, jthread& b) noexcept { a.swap(b); }

}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
