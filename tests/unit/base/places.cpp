#include <whywait/base/places.hpp>

#include <doctest/doctest.h>

#include <string>

namespace base = whywait::base;

TEST_CASE("a place is within its innermost region, or else within its function") {
  base::place p;
  CHECK(base::within_text(p) == "");
  p.function = "double heat::solve<double>(int, char const*)";
  const std::string function = base::within_text(p);
  CHECK(function.find("solve") != std::string::npos);
  CHECK(function.find("char") == std::string::npos);
  p.region = "main/iterate/exchange";
  CHECK(base::within_text(p) == "exchange");
  p.function.clear();
  CHECK(base::within_text(p) == "exchange");
  p.region = "a\x1b[31m";
  CHECK(base::within_text(p).find('\x1b') == std::string::npos);
}
