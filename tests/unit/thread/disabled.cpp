#define WHYWAIT_DISABLE
// With the off switch the primitives are those of the standard library.
#include <whywait/thread.hpp>

#include <doctest/doctest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>

static_assert(std::is_same<whywait::mutex, std::mutex>::value, "");
static_assert(std::is_same<whywait::timed_mutex, std::timed_mutex>::value, "");
static_assert(std::is_same<whywait::recursive_mutex, std::recursive_mutex>::value, "");
static_assert(std::is_same<whywait::shared_mutex, std::shared_mutex>::value, "");
static_assert(std::is_same<whywait::condition_variable, std::condition_variable>::value, "");
static_assert(std::is_same<whywait::promise<int>, std::promise<int>>::value, "");
static_assert(std::is_same<whywait::future<int>, std::future<int>>::value, "");
static_assert(std::is_same<whywait::packaged_task<int()>, std::packaged_task<int()>>::value, "");
static_assert(std::is_same<whywait::thread, std::thread>::value, "");

TEST_CASE("what C++17 lacks works with the off switch as well") {
  whywait::counting_semaphore<3> slots(1);
  slots.acquire();
  CHECK_FALSE(slots.try_acquire());
  whywait::latch all(2);
  whywait::barrier<> meeting(2);
  bool met = false;
  {
    whywait::jthread other([&] {
      all.count_down();
      meeting.arrive_and_wait();
      met = true;
      slots.release();
    });
    all.arrive_and_wait();
    meeting.arrive_and_wait();
    slots.acquire();
  }
  CHECK(met);
}
