#include <whywait/report/prediction_text.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace whywait;

namespace {

reports::prediction_section two_answers() {
  whatif::answer faster;
  faster.question = "block pack x2";
  faster.engine = "replay";
  faster.seconds = 9.5;
  faster.low_seconds = 9;
  faster.high_seconds = 10.2;
  faster.baseline_error = -0.0123;
  faster.measured_seconds = 12;
  faster.rests_on = 0.9877;
  faster.notes = {"an assumption"};
  whatif::answer none;
  none.question = "balance";
  none.refusal = "the run took no time";
  reports::prediction_section p;
  p.measured_seconds = 12;
  p.answers = {faster, none};
  return p;
}

}  // namespace

TEST_CASE("an answer is printed with its interval, its saving, its model and that model's error") {
  CHECK(reports::detail::prediction_text(two_answers(), 80) ==
        "\n    what if  (the run took 12.0 s)\n"
        "      block pack x2: 9.50 s (9.00 s to 10.2 s), saves 2.5 s\n"
        "        by replay; rests on the 98.7 % of the run that is understood\n"
        "        an assumption\n"
        "      balance: no answer: the run took no time\n");
}

TEST_CASE("answers of the clocks are compared with replay") {
  reports::prediction_section p = two_answers();
  p.answers[0].engine = "clocks";
  whatif::engine_answer replay;
  replay.engine = "replay";
  replay.seconds = 9.69;
  p.answers[0].engines = {replay};
  CHECK(reports::detail::prediction_text(p, 80).find(
            "        by the clocks of the critical path; replay is +2.0 % from that; rests on\n"
            "        the 98.7 % of the run that is understood\n") != std::string::npos);
  p.answers[0].engines[0].refusal = "it misses the unchanged program by 12 %";
  CHECK(reports::detail::prediction_text(p, 80).find(
            "        by the clocks of the critical path, not checked by replay: it misses the\n") != std::string::npos);
}

TEST_CASE("changes that make the program slower are reported as costs") {
  reports::prediction_section p = two_answers();
  p.answers[0].seconds = 13;
  CHECK(reports::detail::prediction_text(p, 80).find("costs 1.0 s") != std::string::npos);
}

TEST_CASE("a long run reports that the answer covers its beginning only") {
  reports::prediction_section p = two_answers();
  p.whole_run = false;
  CHECK(reports::detail::prediction_text(p, 80).find("(the first 12.0 s of the run: the calls of the rest are not kept)") !=
        std::string::npos);
}

TEST_CASE("without questions nothing is printed") {
  CHECK(reports::detail::prediction_text(reports::prediction_section{}, 80).empty());
}
