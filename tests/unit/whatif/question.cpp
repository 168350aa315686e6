#include <whywait/base/vector.hpp>
#include <whywait/whatif/question.hpp>

#include "../models/support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using namespace whywait::whatif;

TEST_CASE("questions are read and written in one notation") {
  const whywait::base::vector<question> q = parse_questions(
      "block compute interior x2;network x1.5 ; balance;; balance steps; ranks x4 weak; ranks x2; without "
      "MPI_Barrier;");
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

TEST_CASE("parts of time that stay are the same questions in another notation, and several at once are one") {
  const whywait::base::vector<question> q =
      parse_questions("compute  interior = 0.5; network=0.25 ; a=0,network = 0, b=2;operator===0.1");
  REQUIRE(q.size() == 4);
  CHECK(q[0].text() == "block compute interior x2");
  CHECK(q[1].text() == "network x4");
  CHECK(q[2].what == question::kind::block);
  CHECK(q[2].name == "a");
  CHECK(std::isinf(q[2].factor));
  REQUIRE(q[2].also.size() == 2);
  CHECK(q[2].also[0].what == question::kind::network);
  CHECK(q[2].also[1].factor == 0.5);
  CHECK(q[2].text() == "a=0,network=0,b=2");
  CHECK(q[3].name == "operator==");
  std::string again;
  for (const question& x : parse_questions("a=0;a=0,network=0.5;network=0")) again += x.text() + ";";
  CHECK(again == "a=0;a=0,network=0.5;network=0;");
  CHECK(parse_questions("block=0.5").front().name == "block");
}

TEST_CASE("a question that is not understood is shown with its place") {
  for (const char* text : {"faster",      "block x2",
                           "block a",     "block a 2",
                           "network",     "network x0",
                           "network x-1", "network xinf",
                           "balance now", "balance steps now",
                           "ranks two",   "ranks x2 weak weak",
                           "without",     "balance; what",
                           "block a x2y", "a=",
                           "=1",          "a=x2",
                           "a=-1",        "a=0.5,",
                           "a=0.5,b",     "a=nan",
                           "a=1e7",       "a=0.5 b=1x"})
    CHECK_MESSAGE(test::number_of_error([&] { parse_questions(text); }) == "whywait-P023", text);
  try {
    parse_questions("balance; netwrk x2");
    FAIL("accepted");
  } catch (const prediction_error& e) {
    CHECK(e.column() == 9);
  }
  try {
    parse_questions("balance; a=0.5, network=O");
    FAIL("accepted");
  } catch (const prediction_error& e) {
    CHECK(std::string(e.what()) ==
          "whywait-P023: expected the part of its time that stays, such as 0.5 or 0\n"
          "  balance; a=0.5, network=O\n"
          "                          ^");
  }
}

TEST_CASE("a misspelt question is one line with the wrong word, its place and what was expected") {
  const auto line_of = [](const std::string& question, std::size_t begin) {
    try {
      parse_questions(question);
    } catch (const prediction_error& e) {
      return whywait::whatif::misspelt(question, begin, e);
    }
    return std::string("accepted");
  };
  CHECK(line_of(" blok compute x2 ", 8) ==
        "cannot read 'blok' at character 10, in 'blok compute x2': "
        "expected block, network, balance, ranks, without, or NAME=PART (whywait-P023)");
  CHECK(line_of("block compute 2", 0) ==
        "cannot read '2' at character 15, in 'block compute 2': expected a factor such as x2 (whywait-P023)");
  CHECK(line_of("a=1,\tb=O,c=1", 0) ==
        "cannot read 'O' at character 8, in 'a=1, b=O,c=1': "
        "expected the part of its time that stays, such as 0.5 or 0 (whywait-P023)");
  CHECK(line_of("network", 3) ==
        "something is missing at character 11, in 'network': expected a factor such as x2 (whywait-P023)");
  CHECK(line_of("balance steps\nnow", 0) ==
        "cannot read 'now' at character 15, in 'balance steps now': expected ';' or the end (whywait-P023)");
}
