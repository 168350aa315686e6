#include <whywait/report/progress.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <string>

using whywait::report::progress;

namespace {

struct terminal {
  std::int64_t now_ns = 5;
  std::string text;
};

}  // namespace

TEST_CASE("an analysis of less than a second shows nothing") {
  terminal t;
  {
    progress p(
        true, "explaining", [&] { return t.now_ns; }, [&](const std::string& s) { t.text += s; });
    for (; t.now_ns < 1000000000; t.now_ns += 100000000) p(0.5);
  }
  CHECK(t.text.empty());
}

TEST_CASE("a longer one shows its share at most five times a second and cleans up") {
  terminal t;
  {
    progress p(
        true, "explaining", [&] { return t.now_ns; }, [&](const std::string& s) { t.text += s; });
    t.now_ns += 1000000000;
    p(0.07);
    t.now_ns += 100000000;
    p(0.2);  // too soon
    t.now_ns += 100000000;
    p(0.45);
    CHECK(t.text == "\rwhywait: explaining   7 %\rwhywait: explaining  45 %");
    t.text.clear();
  }
  CHECK(t.text == "\r\033[K");
}

TEST_CASE("progress never goes back and stays between 0 and 100") {
  terminal t;
  progress p(
      true, "x", [&] { return t.now_ns; }, [&](const std::string& s) { t.text += s; });
  for (const double fraction : {std::nan(""), -1.0, 0.5, 0.25, 7.0}) {
    t.now_ns += 2000000000;
    p(fraction);
  }
  CHECK(t.text == "\rwhywait: x   0 %\rwhywait: x   0 %\rwhywait: x  50 %\rwhywait: x  50 %\rwhywait: x 100 %");
}

TEST_CASE("nothing is shown where nobody looks") {
  terminal t;
  {
    progress p(
        false, "x", [&] { return t.now_ns; }, [&](const std::string& s) { t.text += s; });
    t.now_ns += 5000000000;
    p(0.5);
  }
  CHECK(t.text.empty());
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    progress p(file);
    p(0.5);
    p.clear();
  }
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
}
