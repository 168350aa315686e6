#include <whywait/compare.hpp>
#include <whywait/comparison/badge.hpp>
#include <whywait/comparison/compare_json.hpp>
#include <whywait/comparison/compare_markdown.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "runs.hpp"

using namespace whywait::comparison;
using runs::repeated;
using runs::run;
using runs::spec;

namespace {

spec slower() {
  spec s;
  s.seconds = 13;
  s.waiting = 15;
  s.relax = 12;
  s.relax_more = 15;
  s.parallel = 0.6;
  return s;
}

}  // namespace

TEST_CASE("equal runs are the same, and the smallest visible change is named") {
  const changes c = whywait::compare(run({}), run({}));
  CHECK(c.direction() == change::same);
  CHECK_FALSE(c.any());
  CHECK_FALSE(c.worse());
  CHECK(c.same_waits == 1);
  CHECK(c.least_seen > 0.02 * 10);
  CHECK(c.least_seen < 0.3 * 10);
  CHECK(text_of(c).find("no change beyond the noise") != std::string::npos);
}

TEST_CASE("a regression is found with the block and the rank that caused it") {
  const changes c = whywait::compare(repeated({}, 3), repeated(slower(), 3));
  CHECK(c.worse());
  CHECK(c.run().what == change::worse);
  CHECK(c.run().values.change() == doctest::Approx(3));
  REQUIRE(c.path_causes.size() == 1);
  CHECK(c.path_causes[0].block.block == "relax");
  CHECK(c.path_causes[0].seconds.change() == doctest::Approx(3));
  REQUIRE(c.waits.size() == 1);
  CHECK(c.waits[0].what == change::worse);
  CHECK(c.waits[0].seconds.change() == doctest::Approx((15 - 8) / 4.0));
  CHECK(c.waits[0].rank == 1);
  REQUIRE(c.waits[0].why.size() == 1);
  CHECK(c.waits[0].why[0].block.block == "relax");
  CHECK(c.waits[0].why[0].by_speed == doctest::Approx(7 / 4.0));
  const std::string text = text_of(c);
  CHECK(text.find("whywait compare: worse") == 0);
  CHECK(text.find("The run takes 13.0 s instead of 10.0 s, 30 % longer.") != std::string::npos);
  CHECK(text.find("relax (app.cpp:10) takes 3.00 s more") != std::string::npos);
}

TEST_CASE("the opposite is better") {
  const changes c = whywait::compare(repeated(slower(), 3), repeated({}, 3));
  CHECK_FALSE(c.worse());
  CHECK(c.better());
  CHECK(outcome_word(c) == "better");
  REQUIRE(c.waits.size() == 1);
  CHECK(c.waits[0].what == change::better);
}

TEST_CASE("kinds of waits appear and go") {
  spec with;
  with.other = 6;
  changes c = whywait::compare(repeated({}, 3), repeated(with, 3));
  REQUIRE(c.waits.size() == 1);
  CHECK(c.waits[0].what == change::appeared);
  CHECK(c.waits[0].wait.pattern == "late_sender");
  CHECK(c.waits[0].rank == 3);
  CHECK(c.worse());
  c = whywait::compare(repeated(with, 3), repeated({}, 3));
  REQUIRE(c.waits.size() == 1);
  CHECK(c.waits[0].what == change::gone);
  CHECK_FALSE(c.worse());
  CHECK(text_of(c).find("MPI_Recv in main (app.cpp:30)") != std::string::npos);
}

TEST_CASE("waiting that moved to another call is not worse") {
  spec moved;
  moved.waiting = 2;
  moved.other = 6;
  const changes c = whywait::compare(repeated({}, 5), repeated(moved, 5));
  CHECK(c.waits.size() == 2);
  CHECK_FALSE(c.worse());
  CHECK(c.any_worse());
  CHECK(outcome_word(c) == "changed");
}

TEST_CASE("the same waiting for another reason is shifted") {
  std::vector<compared_run> before = repeated({}, 3), after = repeated({}, 3);
  for (compared_run& r : after) {
    timed_block other = r.waits[0].residual[0];
    other.block = "smooth";
    other.seconds = other.speed_seconds = 5;
    r.waits[0].residual[0].seconds = 3.4;
    r.waits[0].residual.push_back(other);
    r.waits[0].causers = {{1, 3.0}, {2, 5.0}};
  }
  const changes c = whywait::compare(before, after);
  REQUIRE(c.waits.size() == 1);
  CHECK(c.waits[0].what == change::shifted);
  CHECK(c.waits[0].rank == 2);
  REQUIRE(c.waits[0].why.size() == 2);
  CHECK(c.waits[0].why[0].seconds.change() == doctest::Approx(5 / 4.0));
  CHECK_FALSE(c.worse());
  CHECK(c.waits[0].why[1].seconds.change() == doctest::Approx((3.4 - 8) / 4));
  CHECK(sentences(c).back() ==
        "Ranks wait as long as before in MPI_Allreduce in main (app.cpp:20), but for another reason and more "
        "for rank 2: the late side runs 1.25 s more of smooth (app.cpp:10).");
}

TEST_CASE("moved lines and a renamed file change nothing") {
  spec moved;
  moved.line = 57;
  moved.file = "solver.cpp";
  CHECK_FALSE(whywait::compare(repeated({}, 3), repeated(moved, 3)).any());
}

TEST_CASE("what the machine withheld is not blamed on the program") {
  spec disturbed = slower();
  CHECK(whywait::compare(run({}), run(disturbed)).worse());
  disturbed.sharing = 4 * 3;  // each rank had no processor for 3 s
  const changes c = whywait::compare(run({}), run(disturbed));
  CHECK(c.run().what == change::same);
  REQUIRE_FALSE(c.notes.empty());
  CHECK(c.notes[0].find("a rank had no processor for 0 s before and for 3.0 s after") == 0);
}

TEST_CASE("small changes need several runs") {
  spec little;
  little.seconds = 10.8;
  little.relax = 9.8;
  CHECK(whywait::compare(run({}), run(little)).run().what == change::same);
  CHECK(whywait::compare(repeated({}, 10), repeated(little, 10)).run().what == change::worse);
}

TEST_CASE("a difference that does not matter is none, however certain") {
  spec little;
  little.seconds = 10.1;
  std::vector<compared_run> before(400, run({})), after(400, run(little));
  CHECK(whywait::compare(before, after).run().what == change::same);
  compare_options finer;
  finer.at_least = 0.005;
  CHECK(whywait::compare(before, after, finer).run().what == change::worse);
}

// The promise of the rule, on runs whose noise is known: at most 2 % of the comparisons may name any change.
TEST_CASE("equal programs with noise are hardly ever said to differ") {
  std::mt19937 random(12345);
  std::normal_distribution<double> normal;
  for (const int n : {1, 3, 6}) {
    int named = 0;
    constexpr int tries = 300;
    for (int i = 0; i != tries; ++i) {
      std::vector<compared_run> sides[2];
      for (auto& side : sides)
        for (int r = 0; r != n; ++r) {
          spec s;
          s.seconds = 10 * (1 + 0.03 * normal(random));
          s.waiting = 8 + 0.5 * normal(random);
          s.other = 6 + 0.45 * normal(random);
          s.relax = 0.9 * s.seconds + 0.2 * normal(random);  // the rest of the critical path is in pack
          s.parallel = 0.7 + 0.025 * normal(random);
          side.push_back(run(s));
        }
      named += whywait::compare(sides[0], sides[1]).any() ? 1 : 0;
    }
    CAPTURE(n);
    CHECK(named <= tries * 0.04);
  }
}

TEST_CASE("a predicted saving is compared with the real one") {
  spec before = slower(), after;
  before.saving = 2.5;
  changes c = whywait::compare(repeated(before, 3), repeated(after, 3));
  REQUIRE(c.savings.size() == 1);
  CHECK(c.savings[0].followed);
  CHECK(c.savings[0].real_seconds == doctest::Approx(3));
  CHECK(saving_text(c, c.savings[0]) ==
        "balancing relax: predicted to save 2.50 s; this reason is gone, and the run is 3.00 s shorter (120 % of it)");
  after.saving = 1.25;
  c = whywait::compare(repeated(before, 3), repeated(after, 3));
  CHECK(c.savings[0].followed);
  CHECK(saving_text(c, c.savings[0]) ==
        "balancing relax: predicted to save 2.50 s; this reason is left with 1.25 s, and the run is 3.00 s shorter");
  after.saving = 2.4;
  c = whywait::compare(repeated(before, 3), repeated(after, 3));
  REQUIRE(c.savings.size() == 1);
  CHECK_FALSE(c.savings[0].followed);
}

TEST_CASE("an answer to a question is compared with the run") {
  compared_run before = run(slower());
  predicted_saving p;
  p.text = p.identity = "balance relax";
  p.seconds = 10.1;
  p.low = 9.5;
  p.high = 10.7;
  before.answers = {p};
  changes c = whywait::compare(before, run({}));
  REQUIRE(c.savings.size() == 1);
  CHECK(c.savings[0].within);
  spec other;
  other.seconds = 6;
  c = whywait::compare(before, run(other));
  CHECK_FALSE(c.savings[0].within);
}

TEST_CASE("what makes a comparison doubtful is noted") {
  spec more;
  more.ranks = 8;
  const changes c = whywait::compare(run({}), run(more));
  REQUIRE(c.notes.size() == 2);
  CHECK(c.notes[0] == "the runs have different numbers of ranks; waiting is compared per rank");
  CHECK(c.notes[1] == "noise is assumed, not measured: compare several runs of each side");
  CHECK_THROWS_AS(whywait::compare(std::vector<compared_run>{}, {run({})}), unreadable);
}

TEST_CASE("Markdown escapes the program's names") {
  spec s = slower();
  s.file = "a|b*<x>.cpp";
  const std::string text = markdown_of(whywait::compare(repeated({}, 3), repeated(s, 3)));
  CHECK(text.find("### whywait: worse") == 0);
  CHECK(text.find("a\\|b\\*&lt;x&gt;.cpp") != std::string::npos);
  CHECK(text.find("a|b") == std::string::npos);
}

TEST_CASE("the badge has the efficiency and the change, red if it is worse") {
  const std::string worse = badge_of(whywait::compare(repeated({}, 3), repeated(slower(), 3)));
  CHECK(worse.find("<title>whywait: efficiency 60 %, 30 % longer</title>") != std::string::npos);
  CHECK(worse.find("#b71c1c") != std::string::npos);
  spec good;
  good.parallel = 0.93;
  const std::string alone = badge_of(run(good));
  CHECK(alone.find("efficiency 93 %") != std::string::npos);
  CHECK(alone.find("#2e7d32") != std::string::npos);
}

TEST_CASE("results of a program are compared through their JSON form") {
  struct holder {
    std::string text;
    std::string json() const { return text; }
  };
  CHECK_FALSE(whywait::compare(holder{runs::report({})}, holder{runs::report({})}).any());
  CHECK(whywait::compare(holder{runs::report({})}, holder{runs::report(slower())}).worse());
  CHECK_THROWS_WITH(whywait::compare(holder{}, holder{}), "before has no report here: only rank 0 has it");
}

TEST_CASE("a file that is no report is refused with its name") {
  const auto problem = [](const char* text) -> std::string {
    try {
      run_from_json(text, "other.json");
    } catch (const unreadable& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(problem("{}") == "other.json: is not a report of whywait (\"schema\" is not whywait/1)");
  CHECK(problem("{\"schema\": \"whywait/1\", \"run\": {\"ranks\": 4, \"seconds\": 0}}") ==
        "other.json: no time was recorded in this run");
  CHECK_THROWS_WITH(read_run("/nonexistent/run.json"), "cannot read /nonexistent/run.json: No such file or directory");
}

TEST_CASE("the badge is green from 80 %, yellow from 60 % and red below") {
  CHECK(detail::efficiency_colour(0.8) == std::string("#2e7d32"));
  CHECK(detail::efficiency_colour(0.7999) == std::string("#8a6d00"));
  CHECK(detail::efficiency_colour(0.6) == std::string("#8a6d00"));
  CHECK(detail::efficiency_colour(0.5999) == std::string("#b71c1c"));
}

TEST_CASE("sentences that differ in their numbers only are the same") {
  CHECK(detail::without_numbers("rank 12 waits 3.5 s in a2") == "rank # waits #.# s in a#");
  CHECK(detail::without_numbers("no number") == "no number");
  CHECK(detail::without_numbers("2024") == "#");
  CHECK(detail::without_numbers("rank 3") == detail::without_numbers("rank 417"));
}

TEST_CASE("an empty line separates the rule of a comparison from what changed") {
  const std::string text = text_of(whywait::compare(repeated({}, 3), repeated(slower(), 3)));
  const std::string rule = detail::rule_text(whywait::compare(repeated({}, 3), repeated(slower(), 3)));
  CHECK(text.find("\n\n    " + rule.substr(0, 20)) != std::string::npos);
}
