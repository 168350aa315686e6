#ifndef WHYWAIT_TESTS_UNIT_THREAD_INTERLEAVING_HPP
#define WHYWAIT_TESTS_UNIT_THREAD_INTERLEAVING_HPP

// Explores the interleavings of the atomic steps of several bodies, up to a number of preemptions. Bodies run as coroutines that
// a scheduler switches before each step; one may sleep until another wakes it, or until its time limit. Steps are sequentially
// consistent.

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace interleaving {

class scheduler {
 public:
  static inline scheduler* current = nullptr;

  // A choice among the bodies that can go on: which one did, and which could have.
  struct step {
    int who;
    std::vector<int> others;
    bool preempts;  // the one before could have gone on
  };

  // Runs the bodies, replaying `prefix` first. False: bodies sleep and nothing wakes them.
  bool run(const std::vector<int>& prefix, const std::vector<std::function<void()>>& bodies) {
    prefix_ = &prefix;
    bodies_ = &bodies;
    steps.clear();
    state_.assign(bodies.size(), state::ready);
    limited_.assign(bodies.size(), false);
    context_.resize(bodies.size());
    stack_.resize(bodies.size());
    sleepers_.clear();
    current = this;
    for (std::size_t i = 0; i != bodies.size(); ++i) prepare(static_cast<int>(i));
    running_ = 0;
    bool good = true;
    while (!all_done() && good) {
      const int next = choose();
      good = next >= 0;
      if (!good) break;
      running_ = next;
      swapcontext(&main_, &context_[static_cast<std::size_t>(next)]);
    }
    current = nullptr;
    return good;
  }

  // Before an atomic step.
  void point() { yield(); }

  // Sleeps; the caller has checked in the same step that it should. False: its time limit passed.
  bool sleep(const void* at, bool limited) {
    const auto me = static_cast<std::size_t>(running_);
    state_[me] = state::asleep;
    limited_[me] = limited;
    woken_.resize(state_.size());
    woken_[me] = false;
    sleepers_.push_back({at, running_});
    yield();
    return woken_[me];
  }
  void wake(const void* at, int count) {
    for (std::size_t i = 0; i < sleepers_.size() && count > 0;) {
      if (sleepers_[i].at != at) {
        ++i;
        continue;
      }
      const auto who = static_cast<std::size_t>(sleepers_[i].who);
      sleepers_.erase(sleepers_.begin() + static_cast<std::ptrdiff_t>(i));
      state_[who] = state::ready;
      woken_[who] = true;
      --count;
    }
  }

  std::vector<step> steps;

 private:
  enum class state { ready, asleep, done };
  struct sleeper {
    const void* at;
    int who;
  };

  void prepare(int who) {
    ucontext_t& c = context_[static_cast<std::size_t>(who)];
    getcontext(&c);
    stack_[static_cast<std::size_t>(who)].resize(1 << 16);
    c.uc_stack.ss_sp = stack_[static_cast<std::size_t>(who)].data();
    c.uc_stack.ss_size = stack_[static_cast<std::size_t>(who)].size();
    c.uc_link = &main_;
    makecontext(&c, reinterpret_cast<void (*)()>(&scheduler::enter), 1, who);
  }
  bool can_go_on(int who) const {
    const state s = state_[static_cast<std::size_t>(who)];
    return s == state::ready || (s == state::asleep && limited_[static_cast<std::size_t>(who)]);
  }
  bool all_done() const {
    for (const state s : state_)
      if (s != state::done) return false;
    return true;
  }
  int choose() {
    const std::size_t number = steps.size();
    std::vector<int> able;
    for (int i = 0; i != static_cast<int>(state_.size()); ++i)
      if (can_go_on(i)) able.push_back(i);
    if (able.empty()) return -1;
    const bool goes_on = state_[static_cast<std::size_t>(running_)] == state::ready;
    int who = number < prefix_->size() ? (*prefix_)[number] : goes_on ? running_ : able[0];
    step made{who, {}, goes_on && who != running_};
    for (const int other : able)
      if (other != who) made.others.push_back(other);
    steps.push_back(made);
    if (state_[static_cast<std::size_t>(who)] == state::asleep) {  // its time limit passes
      for (std::size_t i = 0; i != sleepers_.size(); ++i)
        if (sleepers_[i].who == who) {
          sleepers_.erase(sleepers_.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
      state_[static_cast<std::size_t>(who)] = state::ready;
    }
    return who;
  }
  void yield() {
    const int me = running_, next = choose();
    if (next == me) return;
    if (next < 0) {  // nothing can go on: the run ends there
      swapcontext(&context_[static_cast<std::size_t>(me)], &main_);
      return;
    }
    running_ = next;
    swapcontext(&context_[static_cast<std::size_t>(me)], &context_[static_cast<std::size_t>(next)]);
  }
  static void enter(int who) {
    (*current->bodies_)[static_cast<std::size_t>(who)]();
    current->state_[static_cast<std::size_t>(who)] = state::done;
  }

  const std::vector<int>* prefix_ = nullptr;
  const std::vector<std::function<void()>>* bodies_ = nullptr;
  std::vector<state> state_;
  std::vector<bool> limited_, woken_;
  std::vector<sleeper> sleepers_;
  int running_ = 0;
  ucontext_t main_;
  std::vector<ucontext_t> context_;
  std::vector<std::vector<char>> stack_;
};

// Depth-first search over all schedules with at most `preemptions` switches away from a body that could go on. `once` runs one
// and returns whether it was good; the search ends with the first that was not. Returns how many there were.
inline std::uint64_t try_all(int preemptions, const std::function<bool(scheduler&, const std::vector<int>&)>& once) {
  std::uint64_t schedules = 0;
  scheduler s;
  std::vector<std::vector<int>> open{{}};
  while (!open.empty()) {
    const std::vector<int> prefix = open.back();
    open.pop_back();
    if (!once(s, prefix)) return schedules;
    ++schedules;
    int used = 0;
    std::vector<int> path;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const scheduler::step& made = s.steps[i];
      if (i >= prefix.size()) {
        const bool forced = i != 0 && !made.preempts && made.who != s.steps[i - 1].who;  // the one before cannot go on
        for (const int other : made.others) {
          if (!forced && used >= preemptions) break;
          open.push_back(path);
          open.back().push_back(other);
        }
      }
      used += made.preempts ? 1 : 0;
      path.push_back(made.who);
    }
  }
  return schedules;
}

}  // namespace interleaving

#endif
