#include <whywait/models/expression.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::number_of_error;

TEST_CASE("in E the exclusive-or binds tighter than AND, in D it is the other way round") {
  const expression e = parse_enables("a + b . c");
  REQUIRE(e.what == expression::kind::all);
  CHECK(e.parts[0].what == expression::kind::any);
  CHECK(e.parts[1].name == "c");
  const expression d = parse_needs("a + b . c");
  REQUIRE(d.what == expression::kind::any);
  CHECK(d.parts[0].name == "a");
  CHECK(d.parts[1].what == expression::kind::all);
}

TEST_CASE("weights are decimals or fractions and keep to one alternative") {
  const expression e = parse_enables(" (3|1/2+4|.5) | 1/3 . 5|0.75 ");
  REQUIRE(e.what == expression::kind::all);
  CHECK(e.parts[0].probability == weight(1, 3));
  CHECK(e.parts[0].parts[0].probability == weight(1, 2));
  CHECK(e.parts[0].parts[1].probability == weight(1, 2));
  CHECK(e.parts[1].probability == weight(3, 4));
  // a point without a following digit is AND
  CHECK(parse_enables("a|1.b").parts.size() == 2);
  // the denominator of a fraction is an integer
  CHECK(parse_enables("2|1/2.3|1/3").parts.size() == 2);
  // a weight in a group applies inside it
  const expression group = parse_enables("(a|1/2)|1/3");
  CHECK(group.probability == weight(1, 3));
  CHECK(group.parts[0].probability == weight(1, 2));
}

TEST_CASE("blank text means no arcs") {
  CHECK(parse_enables("").what == expression::kind::none);
  CHECK(parse_needs("  \t").what == expression::kind::none);
}

TEST_CASE("parse errors are shown with a caret under the position") {
  for (const char* text : {"a .", "a + ", "(a", "a)", "a b", "|1/2", "a|", "a||1", "a . . b", "()", "a;b"})
    CHECK_MESSAGE((number_of_error([&] { parse_enables(text); }) == "whywait-P001" ||
                   number_of_error([&] { parse_enables(text); }) == "whywait-P002"),
                  text);
  for (const char* text : {"a|2", "a|3/2", "a|1/0", "a|1.5", "a|x"})
    CHECK_MESSAGE(number_of_error([&] { parse_enables(text); }) == "whywait-P002", text);
  CHECK(number_of_error([] { parse_needs("a|1/2"); }) == "whywait-P001");
  try {
    parse_enables("ab . (c + d", "E(x)");
    FAIL("accepted");
  } catch (const prediction_error& e) {
    CHECK(std::string(e.what()) == "whywait-P001: E(x): expected ')'\n  ab . (c + d\n             ^");
    CHECK(e.column() == 11);
  }
}

TEST_CASE("very deep nesting is refused, not a crash") {
  CHECK(number_of_error([] { parse_enables(std::string(100000, '(')); }) == "whywait-P001");
}
