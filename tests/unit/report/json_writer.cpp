#include <whywait/report/json_writer.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

using namespace whywait::reports;

namespace {

template <class Write>
std::string written(Write write) {
  std::string text;
  auto sink = [&text](const char* data, std::size_t size) { text.append(data, size); };
  json_writer<decltype(sink)> out(sink);
  write(out);
  CHECK(out.complete());
  return text;
}

template <class Value>
nlohmann::json read_back(const Value& value) {
  return nlohmann::json::parse(written([&](auto& out) { out.begin_array().value(value).end_array(); })).at(0);
}

}  // namespace

TEST_CASE("objects and arrays nest, empty ones stay on one line") {
  CHECK(written([](auto& out) {
          out.begin_object().member("a", 1).key("b").begin_array().value(true).value("x").end_array();
          out.key("c").begin_object().end_object().key("d").begin_array().end_array().end_object();
        }) == "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    \"x\"\n  ],\n  \"c\": {},\n  \"d\": []\n}\n");
}

TEST_CASE("rows of numbers stay on one line; compact documents have no spaces") {
  const auto write = [](auto& out) {
    out.begin_object().key("rows").begin_array();
    out.begin_row().value(1).value(0.5).end_array().begin_row().end_array();
    out.end_array().member("a", "b c").key("d").begin_array().value(2).end_array().end_object();
  };
  CHECK(written(write) == "{\n  \"rows\": [\n    [1, 0.5],\n    []\n  ],\n  \"a\": \"b c\",\n  \"d\": [\n    2\n  ]\n}\n");
  std::string text;
  auto sink = [&text](const char* data, std::size_t size) { text.append(data, size); };
  json_writer<decltype(sink)> out(sink, true);
  write(out);
  CHECK(text == "{\"rows\":[[1,0.5],[]],\"a\":\"b c\",\"d\":[2]}\n");
}

TEST_CASE("every double reads back to the same bits") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const double again = read_back(value).get<double>();
    CAPTURE(value);
    CHECK(again == value);
  }
  for (const double value :
       {17.2, 1e-6, 0.1 + 0.2, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()})
    CHECK(read_back(value).get<double>() == value);
}

TEST_CASE("values that are not numbers are null, and there is no negative zero") {
  CHECK(read_back(std::numeric_limits<double>::quiet_NaN()).is_null());
  CHECK(read_back(std::numeric_limits<double>::infinity()).is_null());
  CHECK(read_back(-std::numeric_limits<float>::infinity()).is_null());
  CHECK(written([](auto& out) { out.begin_array().value(-0.0).end_array(); }) == "[\n  0\n]\n");
}

TEST_CASE("whole numbers keep all digits") {
  CHECK(read_back(std::numeric_limits<std::int64_t>::min()).get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(read_back(std::numeric_limits<std::uint64_t>::max()).get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("text is escaped and reads back") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\xc3\xa4\xe7\xae\x97\xf0\x9f\x9a\x80";
  CHECK(read_back(all).get<std::string>() == all);
  CHECK(written([](auto& out) { out.begin_array().value("a\"\\\n\t\001").end_array(); }) ==
        "[\n  \"a\\\"\\\\\\n\\t\\u0001\"\n]\n");
}

TEST_CASE("bytes that are not UTF-8 become replacement characters") {
  CHECK(read_back(std::string("a\xff z\xc3")).get<std::string>() == "a\xef\xbf\xbd z\xef\xbf\xbd");
}

TEST_CASE("a locale with a decimal comma changes nothing") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"})
    if (std::setlocale(LC_ALL, locale) != nullptr) break;
  CHECK(written([](auto& out) { out.begin_array().value(1.5).end_array(); }) == "[\n  1.5\n]\n");
  std::setlocale(LC_ALL, before.c_str());
}
