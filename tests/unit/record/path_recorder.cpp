#include <whywait/core/pages.hpp>
#include <whywait/record/path_recorder.hpp>

#include "../../sanitizers.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <new>
#include <random>
#include <vector>

using whywait::core::path_step;

namespace {

struct fake_clock {
  static inline std::uint64_t time = std::uint64_t(1) << 32;  // some seconds after the machine started
  static std::uint64_t now() noexcept { return time; }
};

/// A path recorder whose marks read a fake clock.
struct recorder : whywait::record::path_recorder {
  std::uint32_t enter(std::uint32_t block) { return path_recorder::enter(block, fake_clock::now()); }
  void leave() { path_recorder::leave(fake_clock::now()); }
  void next(std::uint32_t block) { path_recorder::next(block, fake_clock::now()); }
};
using segment = std::map<std::uint32_t, path_step>;

/// A recorder in fresh pages.
struct opened {
  void* pages = whywait::core::map_pages(sizeof(recorder), false);
  recorder* it = nullptr;
  opened() {
    REQUIRE(pages != nullptr);
    it = new (pages) recorder;
    it->open(fake_clock::time);
  }
  ~opened() { whywait::core::unmap_pages(pages, sizeof(recorder)); }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  recorder* operator->() const { return it; }
};

template <class Recorder>
segment close(Recorder& from) {
  segment closed;
  from.close(fake_clock::now(), [&](const path_step& step) {
    CHECK(closed.count(step.block) == 0);
    closed[step.block] = step;
  });
  return closed;
}

template <class Recorder>
segment peek(const Recorder& from, std::uint64_t now) {
  segment open;
  from.peek(now, [&](const path_step& step) { open[step.block] = step; });
  return open;
}

bool same(const segment& a, const segment& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [block, step] : a) {
    const auto other = b.find(block);
    if (other == b.end() || other->second.visits != step.visits || other->second.ticks != step.ticks ||
        other->second.work != step.work || other->second.within != step.within)
      return false;
  }
  return true;
}

// A simple reference with a stack, which counts every tick as it passes.
class reference {
 public:
  void pass(std::uint64_t ticks) {
    now_[innermost()].ticks += ticks;
    pause(ticks);
  }
  /// Time that belongs to no block but passes inside all open regions. With a region inside itself it counts once.
  void pause(std::uint64_t ticks) {
    ++passes_;
    for (std::size_t level = 0; level < stack_.size() && level < recorder::max_depth; ++level) {
      const std::uint32_t block = stack_[level];
      if (block >= whole_.size()) whole_.resize(block + 1);
      opened_region& r = whole_[block];
      if (r.pass == passes_) r.repeated = true;
      else r.ticks += ticks;
      r.pass = passes_;
    }
  }
  struct opened_region {
    std::uint64_t ticks = 0, pass = 0;  // the last pass in which it was open; 0: none
    bool repeated = false;  // it was inside itself for some time
  };
  /// By block.
  const std::vector<opened_region>& whole() const { return whole_; }
  void enter(std::uint32_t block) {
    ++now_[block].visits;
    now_[block].within = 0;
    stack_.push_back(block);
  }
  void leave() {
    if (!stack_.empty()) stack_.pop_back();
  }
  void next(std::uint32_t block) {
    ++now_[block].visits;
    if (!stack_.empty() && stack_.size() <= recorder::max_depth) stack_.back() = block;
  }
  void visit(std::uint32_t block) {
    if (now_.count(block) == 0) now_[block].within = innermost();
    ++now_[block].visits;
  }
  void work(std::uint64_t units) { now_[innermost()].work += units; }
  segment close() {
    segment closed;
    for (auto [block, step] : now_) {
      step.block = block;
      if (block != 0 && (step.visits | step.ticks | step.work) != 0) closed[block] = step;
    }
    now_.clear();
    return closed;
  }
  std::uint64_t outside() { return now_[0].ticks; }
  std::uint32_t innermost() const {
    if (stack_.empty()) return 0;
    return stack_.size() <= recorder::max_depth ? stack_.back() : stack_[recorder::max_depth - 1];
  }
  const std::vector<std::uint32_t>& stack() const { return stack_; }

 private:
  std::vector<std::uint32_t> stack_;
  std::map<std::uint32_t, path_step> now_;
  std::vector<opened_region> whole_;
  std::uint64_t passes_ = 0;
};

}  // namespace

TEST_CASE("a region's time is its own, without that of the regions inside it") {
  const opened r;
  fake_clock::time += 5;
  r->enter(7);
  fake_clock::time += 10;
  r->enter(8);
  fake_clock::time += 100;
  r->leave();
  fake_clock::time += 20;
  r->leave();
  fake_clock::time += 3;
  const segment s = close(*r.it);
  REQUIRE(s.size() == 2);
  CHECK(s.at(7).ticks == 30);
  CHECK(s.at(7).visits == 1);
  CHECK(s.at(8).ticks == 100);
  CHECK(close(*r.it).empty());
}

TEST_CASE("a segment in which only code outside of regions ran can be closed at once, any other not") {
  const opened r;
  fake_clock::time += 10;
  CHECK(r->close_if_outside(fake_clock::time));
  fake_clock::time += 5;
  r->work(3);  // outside, so not counted
  CHECK(r->close_if_outside(fake_clock::time));
  CHECK(close(*r.it).empty());

  r->visit(5);
  CHECK_FALSE(r->close_if_outside(fake_clock::time));
  CHECK(close(*r.it).at(5).visits == 1);
  CHECK(r->close_if_outside(fake_clock::time));

  r->enter(7);
  fake_clock::time += 2;
  CHECK_FALSE(r->close_if_outside(fake_clock::time));
  close(*r.it);
  fake_clock::time += 3;
  CHECK_FALSE(r->close_if_outside(fake_clock::time));  // still inside
  r->leave();
  CHECK_FALSE(r->close_if_outside(fake_clock::time));
  CHECK(close(*r.it).at(7).ticks == 3);
  CHECK(r->close_if_outside(fake_clock::time));

  fake_clock::time += 8;
  CHECK(r->close_if_outside(fake_clock::time));
  r->enter(7);
  fake_clock::time += 4;
  r->leave();
  CHECK(close(*r.it).at(7).ticks == 4);  // without the time before
}

TEST_CASE("an open region continues in the next segment without a new visit") {
  const opened r;
  r->enter(7);
  fake_clock::time += 10;
  CHECK(close(*r.it).at(7).visits == 1);
  fake_clock::time += 4;
  const segment s = close(*r.it);
  CHECK(s.at(7).visits == 0);
  CHECK(s.at(7).ticks == 4);
  r->leave();
}

TEST_CASE("a pause belongs to no block") {
  const opened r;
  r->enter(7);
  fake_clock::time += 10;
  close(*r.it);
  fake_clock::time += 1000;
  r->resume(fake_clock::time);
  fake_clock::time += 6;
  CHECK(close(*r.it).at(7).ticks == 6);
}

TEST_CASE("an untimed block is counted and stores the region around its first visit") {
  const opened r;
  r->visit(5);
  r->enter(7);
  r->visit(6);
  r->visit(5);
  fake_clock::time += 10;
  r->leave();
  const segment s = close(*r.it);
  CHECK(s.at(5).visits == 2);
  CHECK(s.at(5).within == 0);
  CHECK(s.at(5).ticks == 0);
  CHECK(s.at(6).within == 7);
}

TEST_CASE("leaving without a region is counted and changes nothing") {
  const opened r;
  r->leave();
  CHECK(r->unmatched_leaves() == 1);
  CHECK(r->depth() == 0);
  CHECK(r->enter(7) == 1);
  CHECK(r->depth() == 1);
}

TEST_CASE("the path names the whole stack, in order, and returns when a region is left") {
  const opened r;
  const auto outside = r->path();
  r->enter(7);
  const auto seven = r->path();
  r->enter(8);
  const auto seven_eight = r->path();
  r->next(9);
  const auto seven_nine = r->path();
  r->next(8);
  CHECK(r->path() == seven_eight);
  r->leave();
  CHECK(r->path() == seven);
  r->leave();
  CHECK(r->path() == outside);
  r->enter(8);
  r->enter(7);
  CHECK(r->path() != seven_eight);
  CHECK(seven != outside);
  CHECK(seven_eight != seven);
  CHECK(seven_nine != seven_eight);
  CHECK(r->open_region(0) == 8);
  CHECK(r->open_region(1) == 7);
}

TEST_CASE("deeper than the stack, visits are counted and the time stays with the deepest that fits") {
  const opened r;
  constexpr std::uint32_t deep = recorder::max_depth + 10;
  for (std::uint32_t i = 1; i <= deep; ++i) CHECK(r->enter(i) == i);
  fake_clock::time += 50;
  CHECK(r->depth() == deep);
  CHECK(r->innermost() == recorder::max_depth);
  CHECK(r->open_region(recorder::max_depth - 1) == recorder::max_depth);
  CHECK(r->open_region(deep - 1) == 0);
  for (std::uint32_t i = 0; i < deep; ++i) r->leave();
  CHECK(r->depth() == 0);
  CHECK(r->unmatched_leaves() == 0);
  const segment s = close(*r.it);
  CHECK(s.at(recorder::max_depth).ticks == 50);
  CHECK(s.at(deep).visits == 1);
  CHECK(s.at(deep).ticks == 0);
}

TEST_CASE("random nestings equal those of a plain stack, and the times of all blocks add up to the elapsed time") {
  std::random_device device;
  const unsigned seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const opened r;
  reference plain;
  bool stacks_agree = true, segments_agree = true, peeks_agree = true, sums_agree = true, wholes_agree = true;
  std::uint64_t timed = 0, begin = fake_clock::time, paused = 0;
  int wholes = 0;
  constexpr int steps = repetitions(200'000);
  for (int step = 0; step < steps; ++step) {
    const std::uint64_t ticks = below(4) * below(50);
    fake_clock::time += ticks;
    plain.pass(ticks);
    const std::uint32_t deep = step / (steps / 10) == 3 ? 20 : 3;  // exceeds the maximum depth once
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        // in the second half regions may be inside themselves
        const std::uint32_t block = step < steps / 2 ? 200 + 4 * r->depth() + below(4) : 1 + below(40);
        r->enter(block);
        plain.enter(block);
        break;
      }
      case 4:
      case 5:
      case 6:
        if (deep == 20 && below(4) != 0) break;
        r->leave();
        plain.leave();
        break;
      case 7:
      case 8: {
        const std::uint32_t block = 100 + below(40);
        r->visit(block);
        plain.visit(block);
        break;
      }
      case 9: {
        const std::uint32_t depth = r->depth() == 0 ? 0 : r->depth() - 1;
        const std::uint32_t block = step < steps / 2 ? 200 + 4 * depth + below(4) : 1 + below(40);
        r->next(block);
        plain.next(block);
        break;
      }
      case 10: {
        const std::uint64_t units = below(100);
        r->work(units);
        plain.work(units);
        break;
      }
      default: {
        if (below(20) != 0) break;
        const segment shown = peek(*r.it, fake_clock::now());
        timed += plain.outside();
        const segment wanted = plain.close();
        const bool at_once = r->close_if_outside(fake_clock::now());
        const segment got = at_once ? segment() : close(*r.it);
        segments_agree = segments_agree && same(got, wanted);
        peeks_agree = peeks_agree && same(shown, wanted);
        for (const auto& [block, each] : got) timed += each.ticks;
        sums_agree = sums_agree && timed + paused == fake_clock::time - begin;
        const std::uint64_t pause = below(3) * 1000;
        fake_clock::time += pause;
        plain.pause(pause);
        paused += pause;
        r->resume(fake_clock::time);
        if (below(2) == 0) {  // such as the explanation of an epoch
          const std::uint64_t left_out = 500;
          fake_clock::time += left_out;
          paused += left_out;
          r->leave_out(left_out);
          r->resume(fake_clock::time);
        }
        for (std::uint32_t block = 0; block != plain.whole().size(); ++block) {
          const reference::opened_region& whole = plain.whole()[block];
          if (whole.pass == 0 || whole.repeated || r->is_repeated(block)) continue;
          wholes_agree = wholes_agree && r->whole_ticks(block, fake_clock::time) == whole.ticks;
          ++wholes;
        }
      }
    }
    stacks_agree = stacks_agree && r->depth() == plain.stack().size() && r->innermost() == plain.innermost();
    for (std::uint32_t level = 0; level < r->depth() && level < 5; ++level)
      stacks_agree = stacks_agree && r->open_region(level) == plain.stack()[level];
  }
  CHECK(stacks_agree);
  CHECK(segments_agree);
  CHECK(peeks_agree);
  CHECK(sums_agree);
  CHECK(wholes_agree);
  CHECK(wholes > 10'000);
  CHECK(timed > 0);
}

TEST_CASE("the whole time of a region has everything inside it, also calls and other segments") {
  const opened r;
  r->enter(7);
  fake_clock::time += 10;
  r->enter(8);
  fake_clock::time += 100;
  r->visit(5);
  close(*r.it);
  fake_clock::time += 1000;  // a call
  r->resume(fake_clock::time);
  fake_clock::time += 3;
  CHECK(r->whole_ticks(8, fake_clock::time) == 1103);  // open
  r->leave();
  r->next(9);
  fake_clock::time += 40;
  r->next(7);
  fake_clock::time += 2;
  r->leave();
  CHECK(r->whole_ticks(7, fake_clock::time) == 1115);
  CHECK(r->whole_ticks(8, fake_clock::time) == 1103);
  CHECK(r->whole_ticks(9, fake_clock::time) == 40);
  CHECK(r->whole_ticks(5, fake_clock::time) == 0);  // not timed
  CHECK(r->whole_ticks(6, fake_clock::time) == 0);  // never entered
  CHECK_FALSE(r->is_repeated(7));
  const segment s = close(*r.it);
  CHECK(s.at(7).ticks == 2);
  CHECK(s.at(8).ticks == 3);
  CHECK(s.at(9).ticks == 40);
}

TEST_CASE("a pause can be left out of the whole time, and what was before the run") {
  const opened r;
  r->enter(7);
  fake_clock::time += 30;
  r->enter(8);
  r->leave();
  r->begin_whole(10, fake_clock::time);
  CHECK(r->whole_ticks(7, fake_clock::time) == 0);
  r->enter(8);
  fake_clock::time += 5;
  r->leave_out(3);
  r->leave();
  r->leave();
  CHECK(r->whole_ticks(7, fake_clock::time) == 2);
  CHECK(r->whole_ticks(8, fake_clock::time) == 2);
  const segment s = close(*r.it);
  CHECK(s.at(7).ticks == 30);
  CHECK(s.at(8).ticks == 5);
}

TEST_CASE("a region inside itself is noticed, because its time would count twice") {
  const opened r;
  for (const bool nested : {false, true}) {
    r->enter(7);
    fake_clock::time += 10;
    if (nested) r->enter(7);
    fake_clock::time += 10;
    if (nested) r->leave();
    CHECK(r->is_repeated(7) == nested);
    r->leave();
  }
  const segment s = close(*r.it);
  CHECK(s.at(7).ticks == 40);  // its own time is right
  CHECK(s.at(7).visits == 3);
  CHECK(r->is_repeated(7));
}

TEST_CASE("peeking gives running time only up to the given moment") {
  const opened r;
  r->enter(7);
  fake_clock::time += 10;
  CHECK(peek(*r.it, 0).at(7).ticks == 0);
  CHECK(peek(*r.it, fake_clock::time - 4).at(7).ticks == 6);
  CHECK(peek(*r.it, fake_clock::time).at(7).ticks == 10);
  CHECK(close(*r.it).at(7).ticks == 10);  // unchanged
}

TEST_CASE("a block that would have taken less than no time took none") {
  const opened r;
  fake_clock::time += 1000;
  r->enter(7);
  fake_clock::time -= 5;  // the thread moved to a processor whose counter is slightly behind
  r->leave();
  CHECK(close(*r.it).at(7).ticks == 0);
}

TEST_CASE("a timed region that is also visited without a time keeps its time and its work") {
  opened r;
  r->enter(5);
  fake_clock::time += 100;
  r->leave();
  CHECK(close(*r.it)[5].ticks == 100);
  r->enter(1);
  r->visit(5);
  r->enter(5);
  r->work(7);
  fake_clock::time += 10;
  r->leave();
  r->leave();
  const segment second = close(*r.it);
  REQUIRE(second.count(5) == 1);
  CHECK(second.at(5).visits == 2);
  CHECK(second.at(5).ticks == 10);
  CHECK(second.at(5).work == 7);
  CHECK(second.at(5).within == 0);
}
