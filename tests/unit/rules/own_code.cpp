#include <whywait/rules/own_code.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace whywait;
using core::code_count;

namespace {

/// Asleep for 5 of 8 ms, in "io" (5 ms) or "burn" (3 ms), or for 5 ms in "io" alone.
explain::rank_history slept(histories::rank_data& rank, bool alone) {
  rank.clock.ns_per_tick = 1e6;
  rank.step("io", 5);
  if (!alone) rank.step("burn", 3);
  core::code_counts counts{};
  counts[code_count::sleeps] = 1;
  counts[code_count::ran_ns] = alone ? 0 : 3000000;
  core::counted_step::write(counts, [&](const core::path_step& s) { rank.locations[0].steps.push_back(s); });
  const std::uint64_t end = alone ? 5 : 8;
  rank.call(core::mpi_call::Barrier, end, end + 1);
  rank.end_ns = static_cast<std::int64_t>(end + 1) * 1000000;
  return rank.view(1);
}

}  // namespace

TEST_CASE("a block that may have slept or not is not said to sleep, but its thread is") {
  for (const bool alone : {false, true}) {
    CAPTURE(alone);
    histories::rank_data rank(0, 1);
    const explain::rank_history h = slept(rank, alone);
    base::pod_vector<rules::rank_code> own;
    rules::add_own_code(own, h);
    rules::add_own_code(own, h);  // of two epochs
    const rules::code_table code = rules::code_of(0, own);
    const rules::code_use* const io = code.find(core::key_of("io"));
    const rules::code_use* const burn = code.find(core::key_of("burn"));
    REQUIRE(io != nullptr);
    CHECK(io->ns == 10000000);
    CHECK(io->asleep() == doctest::Approx(alone ? 1.0 : 0.4));
    CHECK((burn == nullptr) == alone);
    if (burn != nullptr) CHECK(burn->asleep() == 0);
    if (burn != nullptr) CHECK(burn->most_asleep_ns == 10000000);
    CHECK(code.whole.counts[code_count::blocked_ns] == 10000000);
    CHECK(code.blocks.size() == (alone ? 1 : 2));
  }
}
