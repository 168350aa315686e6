#ifndef WHYWAIT_THREAD_STOP_TOKENS_HPP
#define WHYWAIT_THREAD_STOP_TOKENS_HPP

#include <whywait/thread/observe.hpp>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {

#if defined(__cpp_lib_jthread)

using std::nostopstate;
using std::nostopstate_t;
using std::stop_callback;
using std::stop_source;
using std::stop_token;

#else

// C++20's stop_token and relatives for C++17.

struct nostopstate_t {
  explicit nostopstate_t() = default;
};
inline constexpr nostopstate_t nostopstate{};

namespace threads {

/// What a stop_source and its tokens share.
class stop_state {
 public:
  struct entry {
    void (*run)(entry&) = nullptr;
    entry *next = nullptr, *before = nullptr;
    bool* gone = nullptr;  // while it runs: set if it is destroyed by what it runs
  };

  bool requested() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return requested_;
  }
  bool possible() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return requested_ || sources_ != 0;
  }
  void add_source() {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++sources_;
  }
  void remove_source() {
    const std::lock_guard<std::mutex> guard(mutex_);
    --sources_;
  }
  bool request() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (requested_) return false;
    requested_ = true;
    requester_ = std::this_thread::get_id();
    while (first_ != nullptr) {
      entry& each = *first_;
      unlink(each);
      running_ = &each;
      bool gone = false;
      each.gone = &gone;
      lock.unlock();
      each.run(each);
      lock.lock();
      if (!gone) each.gone = nullptr;
      running_ = nullptr;
      done_.notify_all();
    }
    return true;
  }
  /// False: a stop was requested already, so that the callback has to run at once.
  bool add(entry& c) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (requested_) return false;
    c.next = first_;
    if (first_ != nullptr) first_->before = &c;
    first_ = &c;
    return true;
  }
  /// Waits for a callback that another thread runs.
  void remove(entry& c) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (c.before != nullptr || first_ == &c) return unlink(c);
    if (running_ != &c) return;
    if (requester_ == std::this_thread::get_id()) *c.gone = true;
    else done_.wait(lock, [&] { return running_ != &c; });
  }

 private:
  void unlink(entry& c) noexcept {
    (c.before != nullptr ? c.before->next : first_) = c.next;
    if (c.next != nullptr) c.next->before = c.before;
    c.next = c.before = nullptr;
  }

  mutable std::mutex mutex_;
  std::condition_variable done_;
  entry *first_ = nullptr, *running_ = nullptr;
  std::thread::id requester_;
  unsigned sources_ = 0;
  bool requested_ = false;
};

}  // namespace threads

class stop_token {
 public:
  stop_token() noexcept = default;
  bool stop_requested() const noexcept { return state_ != nullptr && state_->requested(); }
  bool stop_possible() const noexcept { return state_ != nullptr && state_->possible(); }
  void swap(stop_token& other) noexcept { state_.swap(other.state_); }
  friend bool operator==(const stop_token& a, const stop_token& b) noexcept { return a.state_ == b.state_; }
  friend bool operator!=(const stop_token& a, const stop_token& b) noexcept { return a.state_ != b.state_; }

 private:
  friend class stop_source;
  template <class>
  friend class stop_callback;
  explicit stop_token(std::shared_ptr<threads::stop_state> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<threads::stop_state> state_;
};

class stop_source {
 public:
  stop_source() : state_(std::make_shared<threads::stop_state>()) { state_->add_source(); }
  explicit stop_source(nostopstate_t) noexcept {}
  stop_source(const stop_source& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->add_source();
  }
  stop_source(stop_source&& other) noexcept = default;
  stop_source& operator=(stop_source other) noexcept {
    state_.swap(other.state_);
    return *this;
  }
  ~stop_source() {
    if (state_ != nullptr) state_->remove_source();
  }
  void swap(stop_source& other) noexcept { state_.swap(other.state_); }
  stop_token get_token() const noexcept { return stop_token(state_); }
  bool stop_possible() const noexcept { return state_ != nullptr; }
  bool stop_requested() const noexcept { return state_ != nullptr && state_->requested(); }
  bool request_stop() noexcept { return state_ != nullptr && state_->request(); }
  friend bool operator==(const stop_source& a, const stop_source& b) noexcept { return a.state_ == b.state_; }
  friend bool operator!=(const stop_source& a, const stop_source& b) noexcept { return a.state_ != b.state_; }

 private:
  std::shared_ptr<threads::stop_state> state_;
};

template <class Callback>
class stop_callback : threads::stop_state::entry {
 public:
  using callback_type = Callback;

  template <class C>
  explicit stop_callback(const stop_token& token, C&& call) : state_(token.state_), callback_(std::forward<C>(call)) {
    run = [](threads::stop_state::entry& self) { static_cast<stop_callback&>(self).callback_(); };
    if (state_ != nullptr && !state_->add(*this)) {
      state_.reset();
      callback_();
    }
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;
  ~stop_callback() {
    if (state_ != nullptr) state_->remove(*this);
  }

 private:
  std::shared_ptr<threads::stop_state> state_;
  Callback callback_;
};
template <class Callback>
stop_callback(stop_token, Callback) -> stop_callback<Callback>;

#endif

}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
