// Explores every interleaving of the atomic steps of a writer and a reader, up to a number of preemptions. Both run as
// coroutines that a scheduler switches before each atomic operation. Steps are sequentially consistent; ThreadSanitizer
// checks the weaker order of the machine in event_buffer.cpp.
#include <whywait/core/event_buffer.hpp>

#include "../../sanitizers.hpp"

#include <doctest/doctest.h>

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <vector>

using namespace whywait::core;

#if WHYWAIT_TEST_THREAD_SANITIZER
#define WITHOUT_COROUTINES
#endif

#ifndef WITHOUT_COROUTINES  // ThreadSanitizer does not support swapcontext

namespace {

// Runs two bodies and selects the next one at each step. `decisions` is a path in the tree of schedules.
class scheduler {
 public:
  static inline scheduler* current = nullptr;

  // Replays `prefix`, then continues the running body; `choices` receives the body that ran at each step.
  void run(const std::vector<int>& prefix, const std::function<void()>& writer, const std::function<void()>& reader) {
    prefix_ = &prefix;
    choices.clear();
    both_ready.clear();
    body_[0] = &writer;
    body_[1] = &reader;
    current = this;
    prepare(0);
    prepare(1);
    running_ = 0;
    while (!done_[0] || !done_[1]) {
      running_ = choose();
      swapcontext(&main_, &context_[running_]);
    }
    current = nullptr;
  }

  void point() {
    const int me = running_;
    const int next = choose();
    if (next == me) return;
    running_ = next;
    swapcontext(&context_[me], &context_[next]);
  }

  std::vector<int> choices;
  std::vector<bool> both_ready;

 private:
  void prepare(int who) {
    done_[who] = false;
    getcontext(&context_[who]);
    stack_[who].resize(1 << 17);
    context_[who].uc_stack.ss_sp = stack_[who].data();
    context_[who].uc_stack.ss_size = stack_[who].size();
    context_[who].uc_link = &main_;
    makecontext(&context_[who], reinterpret_cast<void (*)()>(&scheduler::enter), 1, who);
  }
  int choose() {
    const std::size_t step = choices.size();
    int who = step < prefix_->size() ? (*prefix_)[step] : running_;
    if (done_[who]) who = 1 - who;
    choices.push_back(who);
    both_ready.push_back(!done_[0] && !done_[1]);
    return who;
  }
  static void enter(int who) {
    (*current->body_[who])();
    current->done_[who] = true;
  }

  const std::vector<int>* prefix_ = nullptr;
  const std::function<void()>* body_[2] = {};
  bool done_[2] = {};
  int running_ = 0;
  ucontext_t main_, context_[2];
  std::vector<char> stack_[2];
};

struct stepping_atomics {
  template <class T>
  static T load(const T* from) noexcept {
    if (scheduler::current != nullptr) scheduler::current->point();
    return *from;
  }
  template <class T>
  static void store(T* to, T value) noexcept {
    if (scheduler::current != nullptr) scheduler::current->point();
    *to = value;
  }
  template <class T>
  static bool exchange_if(T* at, T& expected, T value) noexcept {
    if (scheduler::current != nullptr) scheduler::current->point();
    if (*at != expected) {
      expected = *at;
      return false;
    }
    *at = value;
    return true;
  }
};

// Depth-first search over all schedules with at most `preemptions` switches away from a thread that could continue.
std::uint64_t try_all(int preemptions, const std::function<void(scheduler&, const std::vector<int>&)>& once) {
  std::uint64_t schedules = 0;
  scheduler s;
  std::vector<std::vector<int>> open{{}};
  while (!open.empty()) {
    const std::vector<int> prefix = open.back();
    open.pop_back();
    once(s, prefix);
    ++schedules;
    int used = 0, before = 0;
    for (std::size_t i = 0; i < s.choices.size(); ++i) {
      const int who = s.choices[i];
      if (i >= prefix.size() && s.both_ready[i] && used < preemptions) {
        std::vector<int> other(s.choices.begin(), s.choices.begin() + static_cast<std::ptrdiff_t>(i));
        other.push_back(1 - who);
        open.push_back(other);
      }
      if (who != before && s.both_ready[i]) ++used;
      before = who;
    }
  }
  return schedules;
}

struct outcome {
  bool in_order = true;
  bool exact = true;
  bool balanced = true;
  std::uint64_t dropped = 0, overwritten = 0, drained = 0;  // over all schedules; the test must reach all of them
};

// Two events per chunk. The writer pushes `events` while the reader drains `drains` times.
template <class Policy>
outcome explore(int preemptions, std::uint64_t chunks, std::uint64_t events, int drains, std::uint64_t& schedules) {
  outcome all;
  schedules = try_all(preemptions, [&](scheduler& s, const std::vector<int>& prefix) {
    memory_budget budget;
    budget.limit(chunks * 16);
    event_buffer<std::uint64_t, Policy, 16, stepping_atomics> buffer;
    if (!buffer.open(budget)) return;
    std::uint64_t last = 0, seen = 0, refused = 0;
    bool rising = true;
    const auto sink = [&](const std::uint64_t* first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (scheduler::current != nullptr) scheduler::current->point();  // the writer continues during the read
        rising = rising && first[i] > last && first[i] <= events;
        last = first[i];
        ++seen;
      }
    };
    s.run(
        prefix,
        [&] {
          for (std::uint64_t i = 1; i <= events; ++i) refused += buffer.push(i) ? 0 : 1;
        },
        [&] {
          for (int i = 0; i < drains; ++i) buffer.drain(sink);
        });
    buffer.drain(sink);
    const event_counts c = buffer.counts();
    all.in_order = all.in_order && rising;
    all.exact = all.exact && seen + refused + c.overwritten == events && c.drained == seen && c.dropped == refused;
    all.balanced = all.balanced && c.kept == 0 && c.recorded == events;
    all.dropped += c.dropped;
    all.overwritten += c.overwritten;
    all.drained += c.drained;
    buffer.release();
    all.balanced = all.balanced && budget.used() == 0;
  });
  return all;
}

}  // namespace

TEST_CASE("no interleaving of writer and reader loses, repeats or reorders an event: drop_newest") {
  std::uint64_t schedules = 0;
  const outcome all = explore<drop_newest>(3, 1, 5, 2, schedules);
  CHECK(schedules > 200);
  CHECK(all.in_order);
  CHECK(all.exact);
  CHECK(all.balanced);
  CHECK(all.dropped > 0);
  CHECK(all.drained > 0);
}

TEST_CASE("no interleaving of writer and reader loses, repeats or reorders an event: overwrite_oldest") {
  for (const std::uint64_t chunks : {std::uint64_t(1), std::uint64_t(2)}) {
    std::uint64_t schedules = 0;
    const outcome all = explore<overwrite_oldest>(4, chunks, 7, 2, schedules);
    CHECK(schedules > 1000);
    CHECK(all.in_order);
    CHECK(all.exact);
    CHECK(all.balanced);
    CHECK(all.overwritten > 0);
    CHECK(all.dropped > 0);  // while the reader holds the oldest chunk
    CHECK(all.drained > 0);
  }
}

TEST_CASE("every interleaving without a bound, of three events and one drain") {
  std::uint64_t schedules = 0;
  const outcome all = explore<overwrite_oldest>(1000, 1, 3, 1, schedules);
  CHECK(schedules > 1000);
  CHECK(all.in_order);
  CHECK(all.exact);
  CHECK(all.balanced);
}

#endif
