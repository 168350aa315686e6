#include <whywait/record/mark_macros.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "recorded.hpp"

namespace {

struct before_main {
  before_main() { WHYWAIT_REGION("before main"); }
};
const before_main first_object;

template <class Value>
Value in_template(Value value) {
  WHYWAIT_REGION("in template");
  return value;
}

inline int in_inline_function(int value) {
  WHYWAIT_REGION("in inline function");
  return value;
}

struct records_at_the_end_of_its_thread {
  ~records_at_the_end_of_its_thread() { WHYWAIT_REGION("thread_local destructor"); }
  int touched = 0;
};
thread_local records_at_the_end_of_its_thread last_of_the_thread;

}  // namespace

TEST_CASE("regions before main are recorded") {
  // static initialisation runs on the main thread
  CHECK(recorded().visits("before main") == 1);
}

TEST_CASE("a region lasts to the end of its scope, and two may share a scope or a line") {
  on_new_thread([] {
    {
      WHYWAIT_REGION("first of scope");
      WHYWAIT_REGION("second of scope");
      CHECK(recorded().here().path.depth() == 2);
      // clang-format off
      WHYWAIT_REGION("one line"); WHYWAIT_REGION("one line");
      // clang-format on
      CHECK(recorded().here().path.depth() == 4);
    }
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().visits("one line") == 2);
  });
}

TEST_CASE("a region is the whole statement of an if without braces") {
  on_new_thread([] {
    for (int i = 0; i < 4; ++i) {
      if (i == 1) WHYWAIT_REGION("under if");
      else WHYWAIT_WAIT("under else");
      CHECK(recorded().here().path.depth() == 0);
    }
    CHECK(recorded().visits("under if") == 1);
    CHECK(recorded().visits("under else") == 3);
    CHECK(recorded().kind("under else") == whywait::site_kind::waiting);
  });
}

TEST_CASE("blocks and work are expressions") {
  on_new_thread([] {
    WHYWAIT_REGION("around blocks");
    for (int i = 0; i < 10; ++i, WHYWAIT_BLOCK("in a for head")) {
      if (i % 2 == 0) WHYWAIT_BLOCK("under if");
      i % 3 == 0 ? WHYWAIT_BLOCK("in a conditional") : WHYWAIT_WORK(i);
    }
    const recorded all;
    CHECK(all.visits("in a for head") == 10);
    CHECK(all.visits("in a conditional") == 4);
    CHECK(all.work("around blocks") == 1 + 2 + 4 + 5 + 7 + 8);
  });
}

TEST_CASE("next ends a region and begins another, to the end of the same scope") {
  on_new_thread([] {
    {
      WHYWAIT_REGION("phase before");
      CHECK(recorded().innermost() == "phase before");
      for (int i = 0; i < 3; ++i) WHYWAIT_NEXT("phase between");
      CHECK(recorded().innermost() == "phase between");
      CHECK(recorded().here().path.depth() == 1);
      WHYWAIT_NEXT("phase after");
      WHYWAIT_WORK(5);
      { WHYWAIT_REGION("within a phase"); }
      CHECK(recorded().innermost() == "phase after");
    }
    const recorded all;
    CHECK(all.here().path.depth() == 0);
    CHECK(all.visits("phase before") == 1);
    CHECK(all.visits("phase between") == 3);
    CHECK(all.visits("phase after") == 1);
    CHECK(all.work("phase after") == 5);
    CHECK(all.here().mismatched_ends == 0);
  });
}

TEST_CASE("one place in a template is one site, however many instances") {
  on_new_thread([] {
    in_template(1);
    in_template(1.0);
    in_template('c');
    CHECK(recorded().visits("in template") == 3);
    CHECK(recorded().places("in template") == 1);
  });
}

TEST_CASE("regions work in lambdas, inline functions, loops, switches and nested scopes") {
  on_new_thread([] {
    const auto lambda = [](int n) {
      WHYWAIT_REGION("in lambda");
      const auto inner = [n] {
        WHYWAIT_REGION("in inner lambda");
        WHYWAIT_WORK(n);
      };
      inner();
    };
    lambda(2);
    in_inline_function(1);
    switch (in_inline_function(3)) {
      case 3: {
        WHYWAIT_REGION("in case");
        break;
      }
      default: break;
    }
    const recorded all;
    CHECK(all.visits("in lambda") == 1);
    CHECK(all.work("in inner lambda") == 2);
    CHECK(all.visits("in inline function") == 2);
    CHECK(all.visits("in case") == 1);
    CHECK(all.here().mismatched_ends == 0);
  });
}

TEST_CASE("an exception leaves the regions of macros") {
  on_new_thread([] {
    CHECK_THROWS_AS(
        [] {
          WHYWAIT_REGION("thrown through");
          throw std::runtime_error("thrown");
        }(),
        std::runtime_error);
    CHECK(recorded().here().path.depth() == 0);
  });
}

TEST_CASE("a thread_local destructor may still record") {
  on_new_thread([] { last_of_the_thread.touched = 1; });
  whywait::record::totals totals;
  REQUIRE(totals.open());
  totals.add_all(*whywait::core::the_registry(), 0);
  std::uint64_t visits = 0;
  const auto& sites = whywait::core::the_registry()->sites;
  for (std::uint32_t i = 0; i < sites.size(); ++i)
    if (std::strcmp(sites[i].name, "thread_local destructor") == 0) visits += totals[i].visits;
  CHECK(visits == 1);
  totals.release();
}
