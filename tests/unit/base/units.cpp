#include <whywait/base/units.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace whywait::base;

TEST_CASE("nanoseconds become the double that prints as written") {
  CHECK(seconds_of(17200000000) == 17.2);
  CHECK(seconds_of(-1) == -1e-9);
  CHECK(seconds_of(0) == 0.0);
}

TEST_CASE("a duration shows three digits in the unit that suits it") {
  CHECK(duration(18.9) == "18.9 s");
  CHECK(duration(1.5) == "1.50 s");
  CHECK(duration(123.456) == "123 s");
  CHECK(duration(0.0019) == "1.90 ms");
  CHECK(duration(0.0019, 2) == "1.9 ms");
  CHECK(duration(95e-3, 2) == "95 ms");
  CHECK(duration(1e-6, 2) == "1.0 us");
  CHECK(duration(340e-9) == "340 ns");
  CHECK(duration(0) == "0 s");
  CHECK(duration(-2e-3) == "-2.00 ms");
}

TEST_CASE("rounding never leaves a unit with four digits") {
  CHECK(duration(0.9999) == "1.00 s");
  CHECK(duration(999.6e-6) == "1.00 ms");
  CHECK(duration(9.996) == "10.0 s");
  CHECK(duration(99.96) == "100 s");
  CHECK(duration(0.996, 2) == "1.0 s");
  CHECK(duration(999.4e-9) == "999 ns");
}

TEST_CASE("very long durations are hours") {
  CHECK(duration(9999) == "9999 s");
  CHECK(duration(12345) == "3.43 h");
  CHECK(duration(1234567) == "343 h");
}

TEST_CASE("values that are not numbers are printed as unknown") {
  CHECK(duration(std::nan("")) == "unknown");
  CHECK(duration(std::numeric_limits<double>::infinity()) == "unknown");
  CHECK(percent(std::nan("")) == "unknown");
}

TEST_CASE("fixed numbers show no negative zero") {
  CHECK(fixed(-0.001, 1) == "0.0");
  CHECK(fixed(-0.06, 1) == "-0.1");
  CHECK(fixed(1e300, 0).size() == 301);
}

TEST_CASE("percentages keep one decimal below ten") {
  CHECK(percent(0.31) == "31 %");
  CHECK(percent(0.031) == "3.1 %");
  CHECK(percent(0.004) == "0.4 %");
  CHECK(percent(0.0999) == "10 %");
  CHECK(percent(0.0001) == "under 0.1 %");
  CHECK(percent(0) == "0 %");
  CHECK(percent(1) == "100 %");
}

TEST_CASE("counts stay exact until they are unreadable") {
  CHECK(count_of(1234567) == "1234567");
  CHECK(count_of(-12) == "-12");
  CHECK(count_of(12345678) == "12.3 million");
  CHECK(count_of(999499999) == "999 million");
  CHECK(count_of(999500000) == "1.00 billion");
  CHECK(count_of(4567000000) == "4.57 billion");
  CHECK(count_of(std::numeric_limits<std::int64_t>::min()) == "-9223372037 billion");
  CHECK(counted(1, "wait") == "1 wait");
  CHECK(counted(2, "wait") == "2 waits");
  CHECK(counted(0, "box", "boxes") == "0 boxes");
}
