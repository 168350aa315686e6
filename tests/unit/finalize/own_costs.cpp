#include <whywait/base/vector.hpp>
#include <whywait/finalize/own_costs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

using namespace whywait;
using namespace whywait::finalize;
using namespace whywait::mpi;
using core::mpi_call;

TEST_CASE("one call of 64 times itself, later one of 256") {
  int timed = 0;
  for (std::uint64_t turn = 1; turn <= 4096; ++turn)
    timed += turn % self_timing::every == 0 && self_timing::wanted(mpi_call::Send, turn);
  CHECK(timed == 64);
  for (std::uint64_t turn = 4097; turn <= 4096 + 25600; ++turn)
    timed += turn % self_timing::every == 0 && self_timing::wanted(mpi_call::Send, turn);
  CHECK(timed == 64 + 100);
}

TEST_CASE("of each reading half belongs to either side, and one of a pair only to timing") {
  self_timing::kind k{};
  k.count = 1;
  k.last[0] = {50, 40, 60, 10};
  const core::call_overhead c = usual_cost(k, 0.5);
  CHECK(c.before_ns == 22.5);  // (50 - 5) ticks
  CHECK(c.inside_ns == 17.5);
  CHECK(c.back_ns == 2.5);
  CHECK(c.after_ns == 27.5);
  CHECK(c.before_ns + c.inside_ns + c.back_ns + c.after_ns == 0.5 * (50 + 40 + 60 - 10));  // one reading less
  CHECK(c.error_ns == 0);
}

TEST_CASE("the last timings of a kind count, but not those of an interrupted thread") {
  const auto timings = std::make_unique<self_timing>();
  for (std::uint32_t i = 0; i < 100; ++i) timings->note(mpi_call::Send, 7000, 7000, 7000, 7000);
  for (std::uint32_t i = 0; i < self_timing::kept; ++i) timings->note(mpi_call::Send, i % 8 == 3 ? 90000 : 20, 30, 40, 0);
  const core::call_overhead c = usual_cost(timings->of(mpi_call::Send), 1);
  CHECK(c.before_ns == 20);
  CHECK(c.inside_ns == 30);
  CHECK(c.after_ns == 40);
  CHECK(timings->of(mpi_call::Send).count == 132);
  CHECK(timings->of(mpi_call::Recv).count == 0);
  CHECK(timings->last_reading(mpi_call::Recv) == 0);
  timings->note(mpi_call::Recv, 1, 2, 3, 9);
  CHECK(timings->last_reading(mpi_call::Recv) == 9);
  CHECK(usual_cost(timings->of(mpi_call::Ssend), 1).before_ns == 0);
}

TEST_CASE("the mean of noisy timings is found, and the error is half of the range of their middle half") {
  std::mt19937 random(3);
  for (int round = 0; round != 200; ++round) {
    const auto timings = std::make_unique<self_timing>();
    whywait::base::vector<std::uint64_t> sums;
    double mean = 0;
    for (std::uint32_t i = 0; i < self_timing::kept; ++i) {
      const auto before = static_cast<std::uint32_t>(50 + random() % 50),
                 after = static_cast<std::uint32_t>(60 + random() % 30);
      timings->note(mpi_call::Wait, before, 5, after, 0);
      sums.push_back(before + 5 + after);
      mean += static_cast<double>(sums.back()) / self_timing::kept;
    }
    std::sort(sums.begin(), sums.end());
    const core::call_overhead c = usual_cost(timings->of(mpi_call::Wait), 1);
    CHECK(c.before_ns + c.inside_ns + c.after_ns == doctest::Approx(mean));
    CHECK(c.error_ns == doctest::Approx(static_cast<double>(sums[24] - sums[8]) / 2));
  }
}

TEST_CASE("timings that were left out are in the error, each as three times the median") {
  self_timing::kind k{};
  k.count = 10;
  for (std::uint32_t i = 0; i != 10; ++i) k.last[i] = {i == 3 ? 90000u : 20u, 30, 50, 0};
  const core::call_overhead c = usual_cost(k, 1);
  CHECK(c.before_ns == 20);
  CHECK(c.error_ns == doctest::Approx((3 * 100 - 100) / 10.0));
}

TEST_CASE("what wrappers take longer than in the calibration loop is in the error") {
  const auto timings = std::make_unique<self_timing>();
  const auto quiet = std::make_unique<calibration>();
  quiet->calls[static_cast<std::size_t>(mpi_call::Send)] = {40, 40, 40, 20};     // 60 beside readings
  quiet->calls[static_cast<std::size_t>(mpi_call::Barrier)] = {60, 60, 40, 20};  // 100
  quiet->spread[static_cast<std::size_t>(mpi_call::Barrier)] = 4;
  quiet->region_ticks = 50;
  quiet->reading_ticks = 20;
  const auto error = [&](mpi_call c) { return call_costs(*timings, *quiet, 0.5)[static_cast<std::size_t>(c)].error_ns; };
  CHECK(error(mpi_call::Send) == 0.5 * 60);  // never seen in the program: it may take twice as long
  CHECK(error(mpi_call::Barrier) == 0.5 * (4 + 100));
  CHECK(mark_costs(*timings, *quiet, 1).error == doctest::Approx(10.0 / 50));
  for (std::uint32_t i = 0; i != 8; ++i) timings->note(mpi_call::Send, 50, 50, 50, 20);  // 90 beside readings, 50 % more
  CHECK(error(mpi_call::Send) == 0.5 * (30 + 20));
  CHECK(error(mpi_call::Barrier) == 0.5 * (4 + 50));
  CHECK(mark_costs(*timings, *quiet, 1).error == doctest::Approx(5.0 / 50));
  // A few calls that were interrupted, or waited for memory, do not stand for the many others.
  for (std::uint32_t i = 0; i != 1000; ++i) timings->note(mpi_call::Send, 50, 50, 50, 20);
  for (std::uint32_t i = 0; i != 5; ++i) timings->note(mpi_call::Barrier, 9000, 9000, 9000, 20);
  CHECK(error(mpi_call::Send) < 0.5 * 200);  // and 0.5 * 20,000 if each kind counted once
  const auto slower = std::make_unique<self_timing>();
  for (std::uint32_t i = 0; i != 8; ++i) slower->note(mpi_call::Send, 45, 45, 45, 25);  // the readings only, 5 each
  CHECK(call_costs(*slower, *quiet, 1)[static_cast<std::size_t>(mpi_call::Send)].error_ns == 20);
  CHECK(call_costs(*slower, *quiet, 1)[static_cast<std::size_t>(mpi_call::Barrier)].error_ns == 4 + 2 * 5);
}

TEST_CASE("calls without own timings have the calibrated cost of the most similar call") {
  const auto timings = std::make_unique<self_timing>();
  const auto quiet = std::make_unique<calibration>();
  const mpi_call tried[] = {mpi_call::Send,  mpi_call::Recv, mpi_call::Sendrecv, mpi_call::Irecv,
                            mpi_call::Isend, mpi_call::Wait, mpi_call::Waitall,  mpi_call::Barrier};
  for (const mpi_call c : tried) quiet->calls[static_cast<std::size_t>(c)] = {100 + static_cast<std::uint32_t>(c), 0, 0, 0};
  for (std::uint64_t i = 0; i < enough_timings; ++i) timings->note(mpi_call::Ssend, 5, 0, 0, 0);
  for (std::uint64_t i = 0; i + 1 < enough_timings; ++i) timings->note(mpi_call::Bsend, 5, 0, 0, 0);
  const std::vector<core::call_overhead> costs = call_costs(*timings, *quiet, 1);
  const auto before = [&](mpi_call c) { return costs[static_cast<std::size_t>(c)].before_ns; };
  const auto of = [](mpi_call c) { return 100 + static_cast<double>(c); };
  REQUIRE(costs.size() == static_cast<std::size_t>(mpi_call::count_));
  for (std::size_t c = 1; c < costs.size(); ++c) CHECK(costs[c].before_ns > 0);  // each is similar to a calibrated call
  CHECK(before(mpi_call::Ssend) == 5);
  CHECK(before(mpi_call::Bsend) == of(mpi_call::Send));
  CHECK(before(mpi_call::Mprobe) == of(mpi_call::Recv));
  CHECK(before(mpi_call::Startall) == of(mpi_call::Isend));
  CHECK(before(mpi_call::Testsome) == of(mpi_call::Waitall));
  CHECK(before(mpi_call::Allreduce) == of(mpi_call::Barrier));
}

TEST_CASE("a clock that became dearer makes marks and rare calls dearer, one that is a bit slower does not") {
  const auto timings = std::make_unique<self_timing>();
  const auto quiet = std::make_unique<calibration>();
  quiet->calls[static_cast<std::size_t>(mpi_call::Barrier)] = {30, 40, 50, 20};
  quiet->region_ticks = 45;
  quiet->step_ticks = 2;
  quiet->reading_ticks = 18;
  const auto rare = [&] { return call_costs(*timings, *quiet, 0.5)[static_cast<std::size_t>(mpi_call::Allreduce)]; };
  for (std::uint32_t i = 0; i < 5; ++i) timings->note(mpi_call::Send, 1, 2, 3, 39);
  CHECK(mark_costs(*timings, *quiet, 0.5).region_ns == 22.5);
  CHECK(rare().before_ns == 10);  // half of 30 - 20 / 2
  for (std::uint32_t i = 0; i < 6; ++i) timings->note(mpi_call::Recv, 1, 2, 3, 1020);  // the median of all
  const core::mark_overhead dear = mark_costs(*timings, *quiet, 0.5);
  CHECK(dear.region_ns == 0.5 * (45 + 2 * 1000));
  CHECK(dear.step_ns == 1);
  CHECK(dear.reading_ns == 0.5 * 1018);
  CHECK(rare().before_ns == 0.5 * (1030 - 510));
  CHECK(rare().inside_ns == 0.5 * (1040 - 510));
  CHECK(rare().back_ns == 0.5 * 510);
  CHECK(rare().after_ns == 0.5 * (1050 - 510));
  for (std::uint32_t i = 0; i < self_timing::kept; ++i) timings->note(mpi_call::Wait, 1, 2, 3, 10);
  CHECK(mark_costs(*timings, *quiet, 0.5).region_ns == 12.5);  // cheaper
}

TEST_CASE("without calibration costs are zero") {
  const auto timings = std::make_unique<self_timing>();
  const auto quiet = std::make_unique<calibration>();
  for (const core::call_overhead& c : call_costs(*timings, *quiet, 1)) CHECK(c.before_ns + c.inside_ns + c.after_ns == 0);
}
