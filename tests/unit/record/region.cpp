#include <whywait/record/region.hpp>
#include <whywait/record/totals.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "recorded.hpp"

using whywait::record::mismatch;

namespace {

std::string first_mismatch() {
  char text[300];
  const std::size_t length = whywait::record::describe(whywait::record::this_location()->first_mismatch,
                                                       whywait::core::the_registry()->sites, text, sizeof text);
  return std::string(text, length);
}

}  // namespace

TEST_CASE("a region is identified by name, file and line") {
  on_new_thread([] {
    static whywait::site here(whywait::site_kind::region, "known place");
    const std::uint32_t line = __LINE__ - 1;
    whywait::region r(here);
    const auto& info = whywait::core::the_registry()->sites[whywait::record::this_location()->path.innermost()];
    CHECK(std::string(info.name) == "known place");
    CHECK(std::strstr(info.file, "region.cpp") != nullptr);
    CHECK(info.line == line);
    CHECK(info.kind == whywait::site_kind::region);
  });
}

TEST_CASE("regions by object and by name count their visits") {
  on_new_thread([] {
    static whywait::site here(whywait::site_kind::region, "by object");
    for (int i = 0; i < 3; ++i) whywait::region r(here);
    for (int i = 0; i < 4; ++i) whywait::region r("by name");
    for (int i = 0; i < 5; ++i) whywait::waiting w("by waiting");
    for (int i = 0; i < 6; ++i) whywait::visit("by visit");
    const recorded all;
    CHECK(all.visits("by object") == 3);
    CHECK(all.visits("by name") == 4);
    CHECK(all.visits("by waiting") == 5);
    CHECK(all.kind("by waiting") == whywait::site_kind::waiting);
    CHECK(all.visits("by visit") == 6);
    CHECK(all.kind("by visit") == whywait::site_kind::step);
    CHECK(all.here().mismatched_ends == 0);
  });
}

TEST_CASE("a name known only at run time may change or vanish after begin") {
  on_new_thread([] {
    std::string name = "first name, long enough to live on the heap";
    whywait::begin(name.c_str());
    const std::string again = name;
    name = "another, also long enough to live on the heap...";
    whywait::end(again.c_str());
    CHECK(recorded().visits(again.c_str()) == 1);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("a begin that has no end when the run ends is counted once, with its name") {
  on_new_thread([] {
    whywait::record::location& here = *whywait::record::this_location();
    whywait::begin("ended");
    whywait::begin("never ended", "loop.cpp", 7);
    whywait::region scope("a scope");
    whywait::record::detail::count_open_begins(here);
    CHECK(here.mismatched_ends == 2);
    whywait::record::detail::count_open_begins(here);
    CHECK(here.mismatched_ends == 2);
    CHECK(here.first_mismatch.what == mismatch::fault::never_ended);
    CHECK(first_mismatch().find("whywait::begin(\"ended\") at region.cpp:") == 0);
    CHECK(first_mismatch().find(" has no whywait::end") != std::string::npos);
  });
  on_new_thread([] {
    whywait::begin("paired");
    whywait::end("paired");
    whywait::region scope("at the level of paired");
    whywait::record::detail::count_open_begins(*whywait::record::this_location());
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("a name may be any text with a size, and is cut at 500 characters") {
  on_new_thread([] {
    const std::string text = "sized|behind", long_text(600, 'x');
    const std::string_view name = std::string_view(text).substr(0, 5);
    { whywait::region r(name); }
    whywait::begin(name);
    whywait::end(name);
    whywait::visit(std::string("sized"));
    { whywait::waiting w(long_text); }
    whywait::begin(long_text);
    whywait::end(long_text);
    const recorded all;
    CHECK(all.visits("sized") == 3);
    CHECK(all.visits(long_text.substr(0, 500).c_str()) == 2);
    CHECK(all.here().mismatched_ends == 0);
  });
}

TEST_CASE("work of any type is added to the innermost region, and negative work is ignored") {
  on_new_thread([] {
    {
      whywait::region r("counted work");
      whywait::work(3);
      whywait::work(2u);
      whywait::work(1.9);
      whywait::work(-4);
      whywait::work(std::size_t(10));
    }
    CHECK(recorded().work("counted work") == 16);
  });
}

TEST_CASE("phases follow each other in one scope") {
  on_new_thread([] {
    static whywait::site one(whywait::site_kind::region, "phase one");
    static whywait::site two(whywait::site_kind::region, "phase two");
    {
      whywait::region phase(one);
      phase.next(two);
      CHECK(recorded().innermost() == "phase two");
    }
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().visits("phase one") == 1);
    CHECK(recorded().visits("phase two") == 1);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("ending the outer region first is counted, both are ended, and the report can say where") {
  on_new_thread([] {
    whywait::begin("outer", "dir/a.cpp", 1);
    whywait::begin("inner", "dir/a.cpp", 2);
    whywait::end("outer", "dir/a.cpp", 3);
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 1);
    CHECK(first_mismatch() == "whywait::end(\"outer\") at a.cpp:3, but \"inner\" (a.cpp:2) is the innermost open region");
    whywait::end("inner", "dir/a.cpp", 4);
    CHECK(recorded().here().mismatched_ends == 2);
    CHECK(recorded().here().first_mismatch.what == mismatch::fault::wrong_order);  // the first one is kept
  });
}

TEST_CASE("an end without a begin ends nothing") {
  on_new_thread([] {
    whywait::begin("open");
    whywait::end("never begun", "b.cpp", 7);
    whywait::end(nullptr);
    CHECK(recorded().innermost() == "open");
    CHECK(recorded().here().mismatched_ends == 2);
    CHECK(first_mismatch() == "whywait::end(\"never begun\") at b.cpp:7, but no region of that name is open");
    whywait::end("open");
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 2);
  });
}

TEST_CASE("leaving a scope ends the regions that were begun in it") {
  on_new_thread([] {
    {
      whywait::region r("scope", "c.cpp", 1);
      whywait::begin("forgotten", "c.cpp", 2);
    }
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 1);
    CHECK(first_mismatch() == "the scope of \"scope\" (c.cpp:1) was left before \"forgotten\" (c.cpp:2) was ended");
  });
}

TEST_CASE("a scope whose region was ended by hand does not end another") {
  on_new_thread([] {
    whywait::begin("around");
    {
      whywait::region r("scope", "d.cpp", 1);
      whywait::end("scope");
    }
    CHECK(recorded().innermost() == "around");
    CHECK(recorded().here().mismatched_ends == 1);
    CHECK(first_mismatch() == "the scope of \"scope\" (d.cpp:1) was left after whywait::end ended it");
    whywait::end("around");
  });
}

TEST_CASE("next ends regions that were left open and does nothing for an ended region") {
  on_new_thread([] {
    static whywait::site second(whywait::site_kind::region, "second");
    {
      whywait::region r("first");
      whywait::begin("forgotten");
      r.next(second);
      CHECK(recorded().innermost() == "second");
      CHECK(recorded().here().mismatched_ends == 1);
      whywait::end("second");
      r.next(second);
      CHECK(recorded().here().path.depth() == 0);
      CHECK(recorded().here().mismatched_ends == 2);
    }
    CHECK(recorded().here().mismatched_ends == 3);
  });
}

TEST_CASE("next outside any region counts the visit, and the report can say where") {
  on_new_thread([] {
    static whywait::site phase(whywait::site_kind::region, "phase of nothing", "e.cpp", 3);
    for (int i = 0; i < 2; ++i) whywait::next(phase);
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().visits("phase of nothing") == 2);
    CHECK(recorded().here().mismatched_ends == 2);
    CHECK(first_mismatch() == "WHYWAIT_NEXT(\"phase of nothing\") at e.cpp:3, but no region is open");
  });
}

TEST_CASE("next replaces a region from begin, and its name ends it") {
  on_new_thread([] {
    static whywait::site phase(whywait::site_kind::region, "phase of begin");
    whywait::begin("begun");
    whywait::next(phase);
    CHECK(recorded().innermost() == "phase of begin");
    whywait::end("phase of begin");
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("next beyond the deepest level only counts") {
  on_new_thread([] {
    static whywait::site phase(whywait::site_kind::region, "deep phase");
    for (int i = 0; i < 1023; ++i) whywait::begin("deep");
    whywait::next(phase);
    CHECK(recorded().innermost() == "deep phase");
    whywait::begin("deepest");
    whywait::begin("deeper than kept");
    whywait::next(phase);
    CHECK(recorded().innermost() == "deepest");
    CHECK(recorded().visits("deep phase") == 2);
    CHECK(recorded().here().mismatched_ends == 0);
    for (int i = 0; i < 1025; ++i) whywait::record::this_location()->path.leave(whywait::core::cycle_clock::now());
    CHECK(recorded().here().path.depth() == 0);
  });
}

TEST_CASE("names at one address are distinguished by content") {
  on_new_thread([] {
    char name[8];
    std::uint64_t wanted[3] = {};
    for (int i = 0; i < 300; ++i) {
      const int which = (i * i + i / 7) % 3;
      name[0] = static_cast<char>('a' + which);
      std::strcpy(name + 1, " name");
      whywait::begin(name, "f.cpp", 1);
      whywait::end(name, "f.cpp", 2);
      ++wanted[which];
    }
    CHECK(recorded().visits("a name") == wanted[0]);
    CHECK(recorded().visits("b name") == wanted[1]);
    CHECK(recorded().visits("c name") == wanted[2]);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("end works beyond the deepest level that is kept") {
  on_new_thread([] {
    whywait::begin("bottom");
    for (int i = 0; i < 1100; ++i) whywait::begin("deep");
    whywait::end("nowhere");
    CHECK(recorded().here().path.depth() == 1101);
    whywait::end("bottom");
    CHECK(recorded().here().path.depth() == 0);
  });
}

TEST_CASE("an exception leaves every region it passes") {
  on_new_thread([] {
    try {
      whywait::region outer("outer of throw");
      whywait::region inner("inner of throw");
      throw std::runtime_error("thrown");
    } catch (const std::runtime_error&) {
    }
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("recursion far beyond the deepest level comes back to the same place") {
  on_new_thread([] {
    struct recursion {
      static void descend(int depth) {
        static whywait::site here(whywait::site_kind::region, "recursion");
        whywait::region r(here);
        if (depth > 1) descend(depth - 1);
      }
    };
    recursion::descend(5000);
    CHECK(recorded().visits("recursion") == 5000);
    CHECK(recorded().here().path.depth() == 0);
    CHECK(recorded().here().mismatched_ends == 0);
  });
}

TEST_CASE("a mismatch is described without writing beyond the room there is") {
  whywait::core::site_table sites;
  REQUIRE(sites.open());
  const std::uint32_t a = sites.intern(whywait::site_kind::region, "a", "x/a.cpp", 1);
  char text[12] = {};
  text[11] = '#';
  CHECK(describe(mismatch{mismatch::fault::never_begun, a, 0}, sites, text, 11) == 10);
  CHECK(std::string(text) == "whywait::e");
  CHECK(text[11] == '#');
  CHECK(describe(mismatch{mismatch::fault::none, 0, 0}, sites, text, 11) == 0);
  CHECK(describe(mismatch{mismatch::fault::never_begun, a, 0}, sites, text, 0) == 0);
}
