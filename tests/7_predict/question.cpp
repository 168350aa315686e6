#include <whywait/predict/question.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::predict;

TEST_CASE("questions are read and written in one notation") {
  const std::vector<question> q = parse_questions(
      "block compute interior x2;network x1.5 ; balance;; balance steps; ranks x4 weak; ranks x2; without MPI_Barrier;");
  REQUIRE(q.size() == 7);
  CHECK(q[0].what == question::kind::block);
  CHECK(q[0].name == "compute interior");
  CHECK(q[3].each_step);
  CHECK(q[4].fixed_total == false);
  std::string again;
  for (const question& x : q) again += x.text() + ";";
  CHECK(again == "block compute interior x2;network x1.5;balance;balance steps;ranks x4 weak;ranks x2;without MPI_Barrier;");
  CHECK(parse_questions("").empty());
}

TEST_CASE("a question that is not understood is shown with its place") {
  for (const char* text :
       {"faster", "block x2", "block a", "block a 2", "network", "network x0", "network x-1", "network xinf",
        "balance now", "balance steps now", "ranks two", "ranks x2 weak weak", "without", "balance; what", "block a x2y"})
    CHECK_MESSAGE(test::number_of_error([&] { parse_questions(text); }) == "whywait-P023", text);
  try {
    parse_questions("balance; netwrk x2");
    FAIL("accepted");
  } catch (const prediction_error& e) {
    CHECK(e.column() == 9);
  }
}
