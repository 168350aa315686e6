// -finstrument-functions makes regions of functions. counted.cpp is compiled with this flag, this file is not.
#include "counted.hpp"

#include <whywait/record.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/record/location.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;

const bool listening = (record::listen(), true);

struct sums {
  std::uint64_t visits = 0, ticks = 0;
};

// The regions of this thread since the last call, by name.
std::map<std::string, sums> collect() {
  std::map<std::string, sums> found;
  record::this_location()->path.close(core::cycle_clock::now(), [&found](const core::path_step& step) {
    sums& s = found[core::the_registry()->sites[step.block].name];
    s.visits += step.visits;
    s.ticks += step.ticks;
  });
  return found;
}

}  // namespace

TEST_CASE("each call of a function is a visit of its region, in the program and in a library") {
  for (const counted_code* code : {&in_program(), &in_library()}) {
    collect();
    CHECK(code->recursion(10) == 55);
    CHECK(record::this_location()->path.depth() == 0);
    const std::map<std::string, sums> ran = collect();
    REQUIRE(ran.size() == 1);
    CHECK(ran.begin()->second.visits == 177);
    CHECK(ran.begin()->second.ticks > 0);
    const std::string& name = ran.begin()->first;  // module and offset, until the report resolves the name
    CHECK(name.find(code == &in_program() ? "coverage_functions+0x" : "libcounted_functions.so+0x") == 0);
  }
}

TEST_CASE("regions of functions nest with marked ones") {
  collect();
  {
    WHYWAIT_REGION("around");
    in_program().loop(10);
    static std::uint32_t depth;
    in_program().open_loop(1, [](int) { depth = record::this_location()->path.depth(); });
    CHECK(depth == 2);
  }
  const std::map<std::string, sums> ran = collect();
  CHECK(ran.size() == 3);
  CHECK(ran.at("around").visits == 1);
}

TEST_CASE("exceptions also end regions") {  // with clang they end together with the enclosing function
  collect();
  CHECK(in_program().catching(20) == 0);
  CHECK(record::this_location()->path.depth() == 0);
  const std::map<std::string, sums> ran = collect();
  REQUIRE(ran.size() == 2);
  CHECK(ran.begin()->second.visits + ran.rbegin()->second.visits == 22);
}

TEST_CASE("each thread has its own, and functions with WHYWAIT_NO_COVERAGE are none") {
  collect();
  std::size_t own = 0, skipped = 0;
  std::thread([&] {
    in_program().loop(5);
    own = collect().size();
    in_program().skipped(5);
    skipped = collect().size();
  }).join();
  CHECK(own == 1);
  CHECK(skipped == 0);
  CHECK(collect().empty());
}
