// The primitives behave as those of the standard library, whether or not anything is recorded.
#include <whywait/thread.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

template <class Body>
void in_threads(int count, Body body) {
  std::vector<whywait::thread> all;
  for (int i = 0; i != count; ++i) all.emplace_back(body, i);
  for (whywait::thread& t : all) t.join();
}

}  // namespace

TEST_CASE("locks exclude each other with the guards of the standard library") {
  whywait::mutex a;
  whywait::timed_mutex b;
  whywait::recursive_mutex c;
  whywait::shared_mutex d;
  long plain = 0, shared = 0;
  in_threads(4, [&](int) {
    for (int i = 0; i != 2000; ++i) {
      {
        const std::scoped_lock<whywait::mutex, whywait::timed_mutex, whywait::recursive_mutex> all(a, b, c);
        const std::lock_guard<whywait::recursive_mutex> again(c);
        ++plain;
      }
      if (i % 8 == 0) {
        const std::lock_guard<whywait::shared_mutex> guard(d);
        ++shared;
      } else {
        const std::shared_lock<whywait::shared_mutex> guard(d);
        CHECK_FALSE(shared < 0);
      }
    }
  });
  CHECK(plain == 8000);
  CHECK(shared == 1000);
}

TEST_CASE("a lock is not taken where it cannot be") {
  whywait::mutex m;
  whywait::timed_mutex t;
  whywait::recursive_mutex r;
  whywait::shared_mutex s;
  const std::lock_guard<whywait::mutex> hold_m(m);
  const std::lock_guard<whywait::timed_mutex> hold_t(t);
  const std::lock_guard<whywait::recursive_mutex> hold_r(r);
  s.lock_shared();
  whywait::thread([&] {
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(t.try_lock());
    CHECK_FALSE(t.try_lock_for(2ms));
    CHECK_FALSE(t.try_lock_until(std::chrono::system_clock::now() + 2ms));
    CHECK_FALSE(t.try_lock_until(std::chrono::steady_clock::now() - 1s));
    CHECK_FALSE(r.try_lock());
    CHECK_FALSE(s.try_lock());
    CHECK(s.try_lock_shared());
    s.unlock_shared();
  }).join();
  CHECK(r.try_lock());
  r.unlock();
  s.unlock_shared();
  CHECK(s.try_lock());
  s.unlock();
}

TEST_CASE("condition variables wake the threads that wait, and end in time") {
  whywait::mutex m;
  whywait::condition_variable changed;
  int turn = 0;
  in_threads(3, [&](int number) {
    for (int round = 0; round != 200; ++round) {
      std::unique_lock<whywait::mutex> guard(m);
      changed.wait(guard, [&] { return turn % 3 == number; });
      ++turn;
      changed.notify_all();
    }
  });
  CHECK(turn == 600);
  std::unique_lock<whywait::mutex> guard(m);
  CHECK(changed.wait_for(guard, 2ms) == std::cv_status::timeout);
  CHECK_FALSE(changed.wait_for(guard, 2ms, [] { return false; }));
  CHECK(changed.wait_for(guard, 2ms, [] { return true; }));
  CHECK(changed.wait_until(guard, std::chrono::system_clock::now() + 2ms) == std::cv_status::timeout);
  CHECK_FALSE(changed.wait_until(guard, std::chrono::steady_clock::now() + 2ms, [] { return false; }));
  CHECK(guard.owns_lock());
  whywait::condition_variable_any any;
  guard.unlock();
  bool done = false;
  whywait::thread other([&] {
    const std::lock_guard<whywait::mutex> hold(m);
    done = true;
    any.notify_all();
  });
  guard.lock();
  any.wait(guard, [&] { return done; });
  guard.unlock();
  other.join();
}

TEST_CASE("semaphores count") {
  whywait::counting_semaphore<10> slots(2);
  std::atomic<int> inside{0}, most{0};
  in_threads(5, [&](int) {
    for (int i = 0; i != 200; ++i) {
      slots.acquire();
      const int now = ++inside;
      int before = most;
      while (now > before && !most.compare_exchange_weak(before, now)) continue;
      --inside;
      slots.release();
    }
  });
  CHECK(most <= 2);
  slots.acquire();
  CHECK(slots.try_acquire());
  CHECK_FALSE(slots.try_acquire());
  CHECK_FALSE(slots.try_acquire_for(2ms));
  CHECK_FALSE(slots.try_acquire_until(std::chrono::system_clock::now() + 2ms));
  slots.release(2);
  CHECK(slots.try_acquire_for(2ms));
  CHECK(whywait::counting_semaphore<10>::max() >= 10);
  whywait::binary_semaphore go(1);
  go.acquire();
  CHECK_FALSE(go.try_acquire());
}

TEST_CASE("latches and barriers hold threads until all have come") {
  for (int round = 0; round != 50; ++round) {
    whywait::latch all(4);
    std::atomic<int> came{0};
    in_threads(4, [&](int) {
      ++came;
      all.arrive_and_wait();
      CHECK(came == 4);
      CHECK(all.try_wait());
    });
  }
  int completions = 0;
  auto complete = [&]() noexcept { ++completions; };
  whywait::barrier<decltype(complete)> steps(3, complete);
  std::atomic<int> sum{0};
  in_threads(3, [&](int number) {
    for (int i = 0; i != 100; ++i) {
      ++sum;
      steps.arrive_and_wait();
      CHECK(sum >= 3 * (i + 1));
      if (number == 0) CHECK(completions >= i + 1);
      steps.arrive_and_wait();
    }
  });
  CHECK(completions == 200);
  whywait::barrier<> fewer(2);
  whywait::thread leaves([&] { fewer.arrive_and_drop(); });
  fewer.arrive_and_wait();
  leaves.join();
  fewer.arrive_and_wait();  // alone now
  auto token = fewer.arrive();
  fewer.wait(std::move(token));
}

TEST_CASE("promises give values, references, nothing and exceptions") {
  whywait::promise<std::string> text;
  whywait::future<std::string> read = text.get_future();
  CHECK(read.valid());
  CHECK(read.wait_for(1ms) == std::future_status::timeout);
  whywait::thread writer([&] { text.set_value("value"); });
  CHECK(read.get() == "value");
  CHECK_FALSE(read.valid());
  writer.join();
  int place = 1;
  whywait::promise<int&> reference;
  whywait::future<int&> refers = reference.get_future();
  reference.set_value(place);
  refers.get() = 2;
  CHECK(place == 2);
  whywait::promise<void> nothing;
  whywait::future<void> done = nothing.get_future();
  nothing.set_exception(std::make_exception_ptr(std::runtime_error("broken")));
  CHECK_THROWS_AS(done.get(), std::runtime_error);
  whywait::future<int> abandoned;
  {
    whywait::promise<int> short_lived;
    abandoned = short_lived.get_future();
    CHECK_THROWS_AS(static_cast<void>(short_lived.get_future()), std::future_error);
  }
  CHECK_THROWS_AS(abandoned.get(), std::future_error);
  whywait::promise<int> several;
  const whywait::shared_future<int> all = several.get_future().share();
  in_threads(3, [&](int number) {
    if (number == 0) several.set_value(5);
    CHECK(all.get() == 5);
  });
  CHECK_THROWS_AS(several.set_value(6), std::future_error);
}

TEST_CASE("packaged tasks give the result of their function") {
  whywait::packaged_task<int(int)> twice([](int x) { return 2 * x; });
  whywait::future<int> result = twice.get_future();
  whywait::thread runner(std::move(twice), 21);
  CHECK(result.get() == 42);
  runner.join();
  whywait::packaged_task<void()> fails([] { throw std::logic_error("no"); });
  whywait::future<void> failed = fails.get_future();
  fails();
  CHECK_THROWS_AS(failed.get(), std::logic_error);
  fails.reset();
  CHECK(fails.valid());
}

TEST_CASE("threads pass arguments, can be moved, and stop") {
  int sum = 0;
  whywait::thread t([](int& to, const std::unique_ptr<int>& more) { to += *more; }, std::ref(sum), std::make_unique<int>(3));
  whywait::thread moved = std::move(t);
  CHECK_FALSE(t.joinable());
  CHECK(moved.joinable());
  CHECK((moved.get_id() != std::this_thread::get_id()));
  moved.join();
  CHECK(sum == 3);
  CHECK_THROWS_AS(moved.join(), std::system_error);
  std::atomic<bool> stopped{false};
  {
    whywait::jthread loop([&](const whywait::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
      stopped = true;
    });
    std::atomic<int> called{0};
    const whywait::stop_callback callback(loop.get_stop_token(), [&] { ++called; });
    CHECK(loop.request_stop());
    CHECK(called == 1);
    CHECK_FALSE(loop.request_stop());
  }
  CHECK(stopped);
}

TEST_CASE("an exception leaves a lock free") {
  whywait::mutex m;
  const auto fail = [&] {
    const std::lock_guard<whywait::mutex> guard(m);
    throw std::runtime_error("inside");
  };
  CHECK_THROWS_AS(fail(), std::runtime_error);
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("the types of the standard library's members are the same") {
  CHECK(std::is_same<whywait::mutex::native_handle_type, std::mutex::native_handle_type>::value);
  CHECK(std::is_same<whywait::thread::id, std::thread::id>::value);
  CHECK_FALSE(std::is_copy_constructible<whywait::mutex>::value);
  CHECK_FALSE(std::is_move_constructible<whywait::condition_variable>::value);
  CHECK(std::is_nothrow_move_constructible<whywait::thread>::value);
  static whywait::mutex at_start;  // usable before any constructor has run
  static_assert(std::is_nothrow_default_constructible<whywait::mutex>::value, "");
  CHECK(at_start.try_lock());
  at_start.unlock();
}

TEST_CASE("a recursive lock that is taken in time is taken once for each call, and released as often") {
  whywait::recursive_timed_mutex m;
  const auto others_get_it = [&m] {
    bool got = false;
    whywait::thread([&] {
      got = m.try_lock_for(1ms);
      if (got) m.unlock();
    }).join();
    return got;
  };
  CHECK(m.try_lock_for(10s));  // at once
  CHECK(m.try_lock_until(std::chrono::steady_clock::now() + 10s));
  CHECK_FALSE(others_get_it());
  m.unlock();
  CHECK_FALSE(others_get_it());
  m.unlock();
  CHECK(others_get_it());
}

TEST_CASE("readers wait until the writer has released") {
  whywait::shared_mutex m;
  std::atomic<bool> started{false};
  int value = 0, seen = 0;
  m.lock();
  whywait::thread reader([&] {
    started = true;
    m.lock_shared();
    seen = value;
    m.unlock_shared();
  });
  while (!started) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  value = 1;
  m.unlock();
  reader.join();
  CHECK(seen == 1);
}

TEST_CASE("a callback that is registered after the request runs at once, in the thread that registers it") {
  whywait::stop_source source;
  CHECK(source.request_stop());
  int called = 0;
  const whywait::stop_callback callback(source.get_token(), [&] { ++called; });
  CHECK(called == 1);
}
