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

TEST_CASE("negative shares keep their sign") {
  CHECK(percent(-0.031) == "-3.1 %");
  CHECK(percent(-1e-9) == "0 %");
}

TEST_CASE("counts are grouped, and rounded from ten million on") {
  CHECK(count(1234567) == "1,234,567");
  CHECK(count(-12) == "-12");
  CHECK(count(-999) == "-999");
  CHECK(count(1000) == "1,000");
  CHECK(count(-1000) == "-1,000");
  CHECK(count(12345678) == "12.3 million");
  CHECK(count(999499999) == "999 million");
  CHECK(count(999500000) == "1.00 billion");
  CHECK(count(4567000000) == "4.57 billion");
  CHECK(count(std::numeric_limits<std::int64_t>::min()) == "-9223372037 billion");
  CHECK(counted(1, "wait") == "1 wait");
  CHECK(counted(2, "wait") == "2 waits");
  CHECK(counted(1200, "wait") == "1,200 waits");
  CHECK(counted(0, "box", "boxes") == "0 boxes");
}

TEST_CASE("plain numbers have three digits, and integers are exact") {
  CHECK(number(1930) == "1930");
  CHECK(number(18.94) == "18.9");
  CHECK(number(0.00123) == "0.00123");
  CHECK(number(-2.5) == "-2.50");
  CHECK(number(99.96) == "100");
  CHECK(number(0.99996) == "1.00");
  CHECK(number(-0.0) == "0");
  CHECK(number(1.234e20) == "1.23e+20");
  CHECK(number(1e-7) == "1e-07");
  CHECK(number(std::nan("")) == "unknown");
}

TEST_CASE("memory has three digits and binary units") {
  CHECK(memory(512) == "512 bytes");
  CHECK(memory(1) == "1 byte");
  CHECK(memory(std::int64_t(1536)) == "1.50 KiB");
  CHECK(memory(20 << 20) == "20 MiB");
  CHECK(memory((1 << 20) - 1) == "1.00 MiB");
  CHECK(memory(3.5 * (1ull << 40)) == "3.50 TiB");
}
