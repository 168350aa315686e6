#include <whywait/finalize/waiting_sample.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace whywait;
using finalize::waiting_sample;

namespace {

/// A run that alternates parts of 1 s that are recorded and parts of 9 s that are not, in which `share(t)` waits.
template <class Share>
reports::share_range of_run(int parts, const Share& share, double* truth) {
  waiting_sample s;
  double waiting = 0, seconds = 0;
  for (int i = 0; i < parts; ++i) {
    double recorded = 0;
    for (int k = 0; k < 10; ++k) {
      const double part = share(seconds);
      if (k == 0) recorded = part;
      waiting += part;
      ++seconds;
    }
    s.add(1, recorded, 0);
    s.add(0, 0, 9);
  }
  *truth = waiting / seconds;
  return s.of_all();
}

}  // namespace

TEST_CASE("parts that are not recorded wait like the mean of their neighbours") {
  waiting_sample s;
  s.add(1, 0.5, 8);  // mean of 0.5 and 0.6: 4.4
  s.add(1, 0.6, 2);  // 0.55: 1.1
  s.add(2, 0.8, 0);
  s.add(2, 1.2, 5);  // the two are one part, with 0.5: 2.5
  const reports::share_range all = s.of_all();
  const double sum = 0.5 + 0.6 + 2 + 4.4 + 1.1 + 2.5, seconds = 6 + 15;
  CHECK((all.low + all.high) / 2 == doctest::Approx(sum / seconds));
  // Differences 0.1 across 8 s and 0.1 across 2 s; for the last 5 s as usual: 0.1. Student's factor for 1.6 degrees of freedom is 5.5.
  const double error = 5.5 * std::sqrt((0.8 * 0.8 + 0.2 * 0.2 + 0.5 * 0.5) / 2);
  CHECK((all.high - all.low) / 2 * seconds == doctest::Approx(error).epsilon(0.03));
}

TEST_CASE("too few parts have no error that is known") {
  waiting_sample s;
  CHECK(s.of_all().high == 0);
  s.add(1, 0.5, 8);
  s.add(1, 0.7, 2);
  CHECK(s.of_all().high == 0);
  s.add(1e-5, 1e-5, 2);  // begins and ends without records
  CHECK(s.of_all().high == 0);
  s.add(1, 0.6, 0);
  CHECK(s.of_all().high > 0);
}

TEST_CASE("what was recorded bounds the estimate") {
  waiting_sample s;
  for (int i = 0; i < 3; ++i) s.add(1, i == 1 ? 1 : 0, 1);
  const reports::share_range all = s.of_all();
  CHECK(all.low == doctest::Approx(1.0 / 6));
  CHECK(all.high == doctest::Approx(4.0 / 6));
}

TEST_CASE("what recording adds may all be waiting or all be work") {
  // 40 of 100 s wait; up to 10 s are due to recording: 30 of 90 or 40 of 90 s.
  const reports::share_range all = finalize::without_overhead({0.4, 0.4}, 0.1);
  CHECK(all.low == doctest::Approx(30.0 / 90));
  CHECK(all.high == doctest::Approx(40.0 / 90));
  const reports::share_range any = finalize::without_overhead({0.4, 0.9}, 0.5);
  CHECK(any.low == 0);
  CHECK(any.high == 1);
  CHECK(finalize::without_overhead({0.4, 0.9}, 1).high == 1);
  CHECK(finalize::without_overhead({}, 0.1).high == 0);
}

TEST_CASE("95 of 100 estimates hold the truth, and a slow change does not widen them") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0.2, 0.6);
  for (const int parts : {4, 12, 60}) {
    int held = 0;
    for (int run = 0; run < 1000; ++run) {
      double truth = 0;
      const reports::share_range all = of_run(
          parts, [&](double) { return any(random); }, &truth);
      held += all.low <= truth && truth <= all.high;
    }
    CHECK(held >= 930);
  }
  double truth = 0;
  const reports::share_range slow = of_run(
      50, [](double t) { return t / 1000; }, &truth);
  CHECK(slow.low <= truth);
  CHECK(truth <= slow.high);
  CHECK(slow.high - slow.low < 0.01);
}
