#include <whywait/comparison/json_value.hpp>

#include <doctest/doctest.h>

#include <string>

using whywait::comparison::json_value;
using whywait::comparison::parse_json;
using whywait::comparison::unreadable;

TEST_CASE("values of all kinds are read") {
  const json_value v = parse_json(R"( {"a": [1, -2.5e3, true, false, null, "x"], "b": {"c": {}}, "d": []} )");
  const auto& list = v.find("a", json_value::array)->items;
  REQUIRE(list.size() == 6);
  CHECK(list[0].amount == 1);
  CHECK(list[1].amount == -2500);
  CHECK(list[2].truth);
  CHECK(list[3].kind == json_value::boolean);
  CHECK(list[4].kind == json_value::null);
  CHECK(list[5].string == "x");
  CHECK(v.at("b").find("c") != nullptr);
  CHECK(v.list("d").empty());
}

TEST_CASE("what is missing or null has a fallback") {
  const json_value v = parse_json(R"({"a": null, "n": 3})");
  CHECK(v.number_of("a", 7) == 7);
  CHECK(v.number_of("n") == 3);
  CHECK(v.count_of("n") == 3);
  CHECK(v.text_of("a").empty());
  CHECK(v.at("a").names.empty());
  CHECK(v.list("none").empty());
  CHECK_FALSE(v.is_true("none"));
}

TEST_CASE("what is of another kind is refused by name") {
  using whywait::comparison::wrong_type;
  const json_value v = parse_json(R"({"a": "text", "n": 3, "l": [{}, null]})");
  CHECK_THROWS_WITH_AS(v.number_of("a"), "\"a\" is not a number", wrong_type);
  CHECK_THROWS_WITH_AS(v.text_of("n"), "\"n\" is not a text", wrong_type);
  CHECK_THROWS_WITH_AS(v.at("n"), "\"n\" is not an object", wrong_type);
  CHECK_THROWS_WITH_AS(v.list("n"), "\"n\" is not a list", wrong_type);
  CHECK_THROWS_WITH_AS(v.list("l"), "an element of \"l\" is not an object", wrong_type);
  CHECK_THROWS_WITH_AS(v.is_true("n"), "\"n\" is not true or false", wrong_type);
}

TEST_CASE("escapes, surrogate pairs and bytes beyond ASCII are text") {
  CHECK(parse_json(R"("a\"\\\/\n\tA\u00e9")").string == "a\"\\/\n\tA\xc3\xa9");
  CHECK(parse_json(R"("\ud83d\ude00")").string == "\xf0\x9f\x98\x80");
  CHECK(parse_json(R"("\ud83dx")").string == "\xef\xbf\xbdx");
  CHECK(parse_json("\"\xc3\xa9\"").string == "\xc3\xa9");
}

TEST_CASE("what is wrong is named with file, line and column") {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      parse_json(text, "run.json");
    } catch (const unreadable& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(problem("{\n  \"a\" 1}") == "run.json:2:7: expected ':'");
  CHECK(problem("[1,]") == "run.json:1:4: expected a JSON value");
  CHECK(problem("[1 2]") == "run.json:1:4: expected ',' or ']'");
  CHECK(problem("{\"a\": 1} x") == "run.json:1:10: expected the end of the file");
  CHECK(problem("\"abc") == "run.json:1:5: expected the closing quote of a text, but the file ends here");
  CHECK(problem("") == "run.json:1:1: expected a JSON value, but the file ends here");
  CHECK(problem("[1") == "run.json:1:3: expected ',' or ']', but the file ends here");
  CHECK(problem("{\"a\": nul}") == "run.json:1:7: expected a JSON value");
  CHECK(problem("\"\\q\"") == "run.json:1:4: an unknown escape");
  CHECK(problem("\"\\u12x4\"") == "run.json:1:6: expected four hexadecimal digits");
  CHECK(problem("+1") == "run.json:1:1: expected a JSON value");
  CHECK(problem(std::string(200, '[')).find("nested too deeply") != std::string::npos);
}
