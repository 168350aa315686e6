#include "sample.hpp"

#include <doctest/doctest.h>

using sample::value;

TEST_CASE("expressions compute with the usual precedence") {
  CHECK(value("1 + 2 * 3") == "7");
  CHECK(value("(1 + 2) * 3") == "9");
  CHECK(value("7 - 2 - 1") == "4");
  CHECK(value("12 / 3 / 2") == "2");
  CHECK(value("-2 * -3") == "6");
  CHECK(value("1 < 2 and 2 < 1 or not false") == "yes");
  CHECK(value("not true or false") == "no");
  CHECK(value("min(3, 1, 2) + max(3, 1, 2) * 10") == "31");
  CHECK(value("abs(-2.5)") == "2.50");
  CHECK(value("floor(2.9) + round(2.5)") == "5");
  CHECK(value("ranks / 8") == "0.500");
}

TEST_CASE("units go with numbers") {
  CHECK(value("1500 us + 1 ms") == "2.50 ms");
  CHECK(value("duration * 2") == "5.00 ms");
  CHECK(value("2 KiB / 1 s") == "2 KiB/s");
  CHECK(value("1 min / 1 s") == "60");
  CHECK(value("duration > 0 and duration < 1 h") == "yes");
  CHECK(value("0 + 3 ms") == "3.00 ms");
  CHECK(value("1500 B") == "1.46 KiB");
  CHECK(value("5 %") == "0.0500");
  CHECK(value("percent(31 %)") == "31 %");
  CHECK(value("duration + ranks").find("whywait-R041") != std::string::npos);
  // the literal 0 fits any unit, a sum with it has the unit of the other side
  CHECK(value("1 s + 0 + 1 B").find("whywait-R041") != std::string::npos);
  CHECK(value("0 + 1 s + 1 B").find("whywait-R041") != std::string::npos);
}

TEST_CASE("templates join texts and show numbers") {
  CHECK(value("'a' + 'b'") == "ab");
  CHECK(value("text(ranks) + ' ranks'") == "4 ranks");
  CHECK(value("plural(1, 'message', 'messages')") == "1 message");
  CHECK(value("plural(ranks, 'message', 'messages')") == "4 messages");
  CHECK(value("if(ranks = 4, 'four', 'other')") == "four");
  CHECK(value("if(ranks != 4, 1 s, 2 s)") == "2.00 s");
  CHECK(value("contains('abc', 'bc')") == "yes");
  CHECK(value("starts_with('abc', 'bc')") == "no");
  CHECK(value("'a' < 'b' and 'b' <= 'b' and 'c' > 'b' and 'c' >= 'c' and 'a' != 'b'") == "yes");
  CHECK(value("instances") == "1");
}

TEST_CASE("a division by zero and an overflow are faults, not values") {
  CHECK(value("1 / (ranks - 4)") == "R060");
  CHECK(value("1e300 * 1e300") == "R061");
  CHECK(value("if(ranks = 4, 1, 1 / 0)") == "1");
  CHECK(value("ranks = 4 or 1 / 0 > 1") == "yes");
}

TEST_CASE("a template of a thousand pieces needs no deep stack") {
  std::string text = "declare problem for run parameters (name = \"x\", duration = 1 s, advice = \"";
  for (int i = 0; i < 1000; ++i) text += "{ranks},";
  whywait::rules::compiler all;
  all.add("my.rules", text + "\");");
  const auto known = all.finish();
  REQUIRE(known.log.empty());
  whywait::rules::event_store store(known);
  whywait::rules::row_writer(store, "run").set("ranks", 4);
  const auto found = whywait::rules::evaluator(store).evaluate();
  REQUIRE(found.list.size() == 1);
  CHECK(found.list[0].advice.size() == 2000);
}
