#include <whywait/models/subsets.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;

namespace {
std::vector<feasible_subset<std::string>> subsets(const std::string& text) {
  return feasible_subsets<std::string>(parse_enables(text), [](const expression& e) { return e.name; });
}
weight total(const std::vector<feasible_subset<std::string>>& all) {
  weight sum(0, 1);
  for (const auto& s : all) sum = sum + s.probability;
  return sum;
}
}  // namespace

TEST_CASE("the probabilities of the feasible subsets sum to exactly one") {
  for (const char* text : {"", "a", "a|1/3", "a|1/2.b|1/3.c|1/4", "a|1/3+b|1/3+c|1/3", "(a.b)|1/4+c|3/4", "a+b+c",
                           "(a|1/2+b)|1/3.(c|.25.d)", "((a|1/7+b).c|2/3)|1/5+d"})
    CHECK_MESSAGE(total(subsets(text)).is_one(), text);
}

TEST_CASE("alternatives without a weight share the remainder") {
  const auto s = subsets("a|1/2+b+c");
  REQUIRE(s.size() == 3);
  CHECK(s[1].probability == weight(1, 4));
  CHECK(s[2].probability == weight(1, 4));
}

TEST_CASE("equal multisets are merged, a repeated destination stays twice") {
  const auto s = subsets("a|1/2+a|1/2");
  REQUIRE(s.size() == 1);
  CHECK(s[0].probability.is_one());
  CHECK(subsets("a.a")[0].destinations.size() == 2);
}

TEST_CASE("weights that do not sum to one are refused, rounding is not") {
  CHECK(test::number_of_error([] { subsets("a|.4+b|.5"); }) == "whywait-P003");
  CHECK(test::number_of_error([] { subsets("a|.6+b|.5"); }) == "whywait-P003");
  CHECK(test::number_of_error([] { subsets("a|.9+b|.2+c"); }) == "whywait-P003");
  const auto s = subsets("a|0.3333333333+b|0.3333333333+c|0.3333333334");
  CHECK(total(s).is_one());
  CHECK(total(subsets("a|0.3333333333+b|0.3333333333+c|0.3333333333")).is_one());
}

TEST_CASE("forty optional arcs are refused in good time") {
  std::string text = "n0|1/2";
  for (int i = 1; i != 40; ++i) text += ".n" + std::to_string(i) + "|1/2";
  CHECK(test::number_of_error([&] { subsets(text); }) == "whywait-P019");
}
