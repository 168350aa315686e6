#include <whywait/comparison/noise.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace whywait::comparison;

// Tables of Student's distribution, for example Abramowitz and Stegun, table 26.10.
TEST_CASE("Student's distribution agrees with published tables") {
  CHECK(student_two_sided(12.706, 1) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(student_two_sided(4.604, 4) == doctest::Approx(0.01).epsilon(0.001));
  CHECK(student_two_sided(2.228, 10) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(student_two_sided(3.850, 20) == doctest::Approx(0.001).epsilon(0.002));
  CHECK(student_two_sided(0, 5) == doctest::Approx(1));
}

TEST_CASE("without repeated runs the prior decides") {
  samples s{{10}, {11}, 0.5};
  const difference d = compare_means(s, 10);
  CHECK(d.deviation == doctest::Approx(0.5));
  CHECK(d.probability == doctest::Approx(student_two_sided(1 / (0.5 * std::sqrt(2.0)), 10)));
}

TEST_CASE("repeated runs outweigh the prior in proportion to their number") {
  // variance of both sides 0.01 with 2 + 2 degrees of freedom, prior 0.25 with 10: (10 * 0.25 + 4 * 0.01) / 14
  samples s{{9.9, 10, 10.1}, {9.9, 10, 10.1}, 0.5};
  CHECK(compare_means(s, 10).deviation == doctest::Approx(std::sqrt((10 * 0.25 + 4 * 0.01) / 14)));
  CHECK(compare_means(s, 10).probability == doctest::Approx(1));
}

TEST_CASE("a difference with a known reason does not count") {
  samples s{{10}, {12}, 0.1};
  CHECK(compare_means(s, 10).probability < 1e-6);
  s.known = 2;
  CHECK(compare_means(s, 10).probability == doctest::Approx(1));
}

TEST_CASE("Holm's procedure compares the smallest probability with the chance divided by all") {
  CHECK(significant({0.005, 0.02, 0.03}, 0.05) == std::vector<bool>{true, true, true});
  CHECK(significant({0.03, 0.005, 0.04}, 0.05) == std::vector<bool>{false, true, false});
  CHECK(significant({0.02, 0.03}, 0.03) == std::vector<bool>{false, false});
  CHECK(significant({}, 0.05).empty());
}

TEST_CASE("the least difference that counts is the one whose probability is the chance") {
  samples s{{10, 10}, {10, 10}, 0.3};
  const double least = least_difference(s, compare_means(s, 10), 10, 0.02, 5);
  s.after = {10 + least, 10 + least};
  CHECK(compare_means(s, 10).probability == doctest::Approx(0.02 / 5).epsilon(0.001));
}
