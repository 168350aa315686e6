// A pipeline of three threads with bounded queues between them: read -> compress -> write. One stage is slow. The stage before it
// waits for room in its queue, the stage after it for items, and all wait at the pace of the slow one.
//
//   pipeline               compress takes 4 ms per item, the others 1 ms
//   pipeline --slow write  write is the slow one
//   pipeline --workers 2   two threads compress
#include <whywait/record.hpp>
#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>  // in one file of the program: records, and reports at exit

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Stands for real work; sleeping takes the same time on a loaded machine.
void work_for(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Holds at most `room` items. A negative item ends the stream for one consumer.
class bounded_queue {
 public:
  explicit bounded_queue(std::size_t room) : room_(room) {}

  void push(int item) {
    std::unique_lock<whywait::mutex> lock(mutex_);
    has_room_.wait(lock, [this] { return items_.size() < room_; });
    items_.push_back(item);
    has_items_.notify_one();
  }
  int pop() {
    std::unique_lock<whywait::mutex> lock(mutex_);
    has_items_.wait(lock, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    has_room_.notify_one();
    return item;
  }

 private:
  const std::size_t room_;
  std::deque<int> items_;
  whywait::mutex mutex_;
  whywait::condition_variable has_room_, has_items_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string slow = "compress";
  int workers = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--slow") slow = argv[i + 1];
    if (std::string(argv[i]) == "--workers") workers = std::atoi(argv[i + 1]);
  }
  constexpr int items = 60;
  const auto time_of = [&slow](const char* stage) { return slow == stage ? 4 : 1; };
  bounded_queue raw(4), packed(4);
  int written = 0;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<whywait::jthread> stages;
    stages.emplace_back([&] {
      for (int i = 0; i != items; ++i) {
        {
          WHYWAIT_REGION("read");
          work_for(time_of("read"));
        }
        raw.push(i);
      }
      for (int i = 0; i != workers; ++i) raw.push(-1);
    });
    for (int worker = 0; worker != workers; ++worker)
      stages.emplace_back([&] {
        for (int item = raw.pop(); item >= 0; item = raw.pop()) {
          {
            WHYWAIT_REGION("compress");
            work_for(time_of("compress"));
          }
          packed.push(item);
        }
        packed.push(-1);
      });
    stages.emplace_back([&] {
      for (int ended = 0; ended != workers;) {
        if (packed.pop() < 0) {
          ++ended;
          continue;
        }
        WHYWAIT_REGION("write");
        work_for(time_of("write"));
        ++written;
      }
    });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("pipeline: %d items in %.3f s\n", written, seconds);
}
