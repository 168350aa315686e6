// Compares the compiler's counters and callbacks with code of known counts. It is linked to counted.cpp, which is
// compiled in all configurations of CMakeLists.txt; this file has no coverage flags.
#include "counted.hpp"

#include <whywait/coverage/counters/source.hpp>
#include <whywait/coverage/names/code_blocks.hpp>
#include <whywait/record.hpp>
#include <whywait/record/close_segment.hpp>
#include <whywait/record/listen.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace core = whywait::core;
namespace record = whywait::record;
namespace base = whywait::base;
namespace coverage = whywait::coverage;
namespace reports = whywait::reports;

const bool listening = (record::listen(), true);

// Whether counts are per process instead of per thread.
bool per_process() { return std::string(std::getenv("COUNTED_BY")) == "counters"; }
// clang does not count a call that has not returned, so that code around it may lag by one.
bool open_calls_lag() {
#ifdef __clang__
  return per_process();
#else
  return false;
#endif
}

using visits = std::map<std::uint32_t, std::int64_t>;

// The blocks that ran in this thread (or the process) since the last call.
visits collect() {
  visits sum;
  record::collect_code(*core::the_registry(), {&sum, [](void* self, const core::path_step& step) noexcept {
                                                 (*static_cast<visits*>(self))[step.block] +=
                                                     static_cast<std::int64_t>(step.visits);
                                               }});
  return sum;
}

// The visits of a line of counted.cpp, one entry for each block that begins there and each range that includes it.
std::vector<std::int64_t> visits_of(const visits& ran, int line, const std::string& patterns = "",
                                    const std::string& file = "counted.cpp") {
  base::pod_vector<std::uint32_t> numbers;
  for (const auto& step : ran) numbers.push_back(step.first);
  const coverage::code_blocks blocks(core::the_registry()->sources, numbers, coverage::code_filter(patterns));
  REQUIRE(blocks.problem() == "");
  std::map<core::stable_key, std::int64_t> sums;
  for (const auto& [number, count] : ran)
    for (const auto& term : blocks.code().find(number)) sums[term.block] += term.factor * count;
  std::vector<std::int64_t> result;
  for (const auto& [key, count] : sums) {
    const base::place* const where = blocks.find(key);
    REQUIRE(where != nullptr);
    CHECK((where->file.find("counted.cpp") != std::string::npos || where->file.find("loop.hpp") != std::string::npos));
    if (where->file.find(file) == std::string::npos) continue;
    if (line >= where->line && line <= where->last_line && count != 0) result.push_back(count);
  }
  return result;
}

std::int64_t single(const visits& ran, int line) {
  const std::vector<std::int64_t> all = visits_of(ran, line);
  CHECK(all.size() == 1);
  return all.empty() ? 0 : all.front();
}

std::vector<const counted_code*> modules() { return {&in_program(), &in_library()}; }

}  // namespace

TEST_CASE("code in a user's folder called whywait is counted") {
  for (const counted_code* code : modules()) {
    collect();
    code->in_folder(1000);
    const std::vector<std::int64_t> all = visits_of(collect(), code->in_folder_line, "", "user/whywait/loop.hpp");
    CHECK(all.size() == 1);
    if (!all.empty()) CHECK(all.front() == 1000);
  }
}

TEST_CASE("a loop's body is counted exactly, in the program and in a library") {
  for (const counted_code* code : modules()) {
    collect();
    for (const int n : {1, 7, 1000, 65536}) {
      code->loop(n);
      CHECK(single(collect(), code->loop_line) == n);
    }
    code->loop(300);
    code->loop(0);
    code->loop(5);
    CHECK(single(collect(), code->loop_line) == 305);
  }
}

TEST_CASE("each way of a branch has its own count") {
  for (const counted_code* code : modules()) {
    collect();
    code->branches(1000);
    const visits ran = collect();
    CHECK(single(ran, code->third_line) == 334);
    CHECK(single(ran, code->other_line) == 666);
    code->branches(1);
    CHECK(visits_of(collect(), code->other_line).empty());
  }
}

TEST_CASE("recursive calls are all counted") {
  for (const counted_code* code : modules()) {
    collect();
    CHECK(code->recursion(20) == 6765);
    const std::vector<std::int64_t> all = visits_of(collect(), code->sum_line);
    if (per_process()) CHECK(all.size() == 1);  // callbacks add a block where both branches join before the return
    CHECK(std::count(all.begin(), all.end(), 10945) >= 1);
  }
}

TEST_CASE("nothing ran: nothing is handed over, and nothing twice") {
  collect();
  in_program().loop(3);
  CHECK_FALSE(collect().empty());
  CHECK(collect().empty());
}

TEST_CASE("counts are also exact inside open functions") {
  static std::int64_t seen, wrong;
  for (const counted_code* code : modules()) {
    static const counted_code* which;
    which = code;
    seen = wrong = 0;
    collect();
    code->open_loop(50, [](int) {
      std::int64_t n = 0;
      for (const std::int64_t more : visits_of(collect(), which->open_line)) n += more;
      seen += n;
      if (n != 1) ++wrong;
    });
    for (const std::int64_t more : visits_of(collect(), which->open_line)) seen += more;
    CHECK(seen == 50);
    if (!open_calls_lag()) CHECK(wrong == 0);
  }
}

TEST_CASE("threads: each its own, or all in one sum") {
  collect();
  std::vector<std::int64_t> found(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &found] {
      for (int round = 0; round < 10; ++round) in_program().loop(100 * (t + 1));
      if (per_process()) return;
      const visits ran = collect();
      found[static_cast<std::size_t>(t)] = single(ran, in_program().loop_line);
    });
  for (std::thread& t : threads) t.join();
  if (per_process()) return;  // concurrent increments of several threads are lost
  for (int t = 0; t < 4; ++t) CHECK(found[static_cast<std::size_t>(t)] == 1000 * (t + 1));
}

TEST_CASE("counters are per process and include other threads") {
  if (!per_process()) return;
  collect();
  std::thread([] { in_program().loop(500); }).join();
  CHECK(single(collect(), in_program().loop_line) == 500);
}

TEST_CASE("functions with WHYWAIT_NO_COVERAGE are not counted") {
  collect();
  in_program().skipped(100);
  CHECK(visits_of(collect(), in_program().skipped_line).empty());
}

TEST_CASE("patterns keep and leave out functions and files") {
  collect();
  in_program().loop(10);
  in_program().branches(10);
  const visits ran = collect();
  CHECK(visits_of(ran, in_program().loop_line, "*loop").size() == 1);
  CHECK(visits_of(ran, in_program().third_line, "*loop").empty());
  CHECK(visits_of(ran, in_program().third_line, "-*loop").size() == 1);
  CHECK(visits_of(ran, in_program().loop_line, "-*loop").empty());
  CHECK(visits_of(ran, in_program().loop_line, "counted.*").size() == 1);
  CHECK(visits_of(ran, in_program().loop_line, "-*/counted.cpp").empty());
}
