#include <whywait/core/settings.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

using namespace whywait::core;

namespace {

struct variable {
  std::string name, value;
};

// WHYWAIT_ORACLES configures the tests and is not a setting of whywait.
const bool forgotten = unsetenv("WHYWAIT_ORACLES") == 0;

// Sets environment variables for one test.
class environment {
 public:
  environment(std::initializer_list<variable> variables) : set_(variables) {
    for (const variable& each : set_) setenv(each.name.c_str(), each.value.c_str(), 1);
  }
  ~environment() {
    for (const variable& each : set_) unsetenv(each.name.c_str());
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  std::vector<variable> set_;
};

std::vector<std::string> refused() {
  std::vector<std::string> names;
  settings::from_environment([&](const bad_setting& bad) {
    names.push_back(std::string(bad.name) + "=" + bad.value + (bad.expected != nullptr ? "" : "?"));
  });
  return names;
}

}  // namespace

TEST_CASE("without variables everything has its default") {
  CHECK(forgotten);
  const settings s = settings::from_environment();
  CHECK(s.enable);
  CHECK(s.report);
  CHECK(s.clock == settings::clock_choice::automatic);
  CHECK(s.memory_bytes == 64u << 20);
  CHECK(s.output == nullptr);
  CHECK(s.coverage == nullptr);
  CHECK(s.whatif == nullptr);
  CHECK(s.bad == nullptr);
}

TEST_CASE("every variable is read") {
  const environment e{{"WHYWAIT_ENABLE", "0"},      {"WHYWAIT_REPORT", "none"},    {"WHYWAIT_CLOCK", "monotonic"},
                      {"WHYWAIT_MEMORY", "2G"},     {"WHYWAIT_OUTPUT", "out/run"}, {"WHYWAIT_COVERAGE", "solve*,-debug*"},
                      {"WHYWAIT_WHATIF", "balance"}};
  const settings s = settings::from_environment();
  CHECK_FALSE(s.enable);
  CHECK(std::string(s.coverage) == "solve*,-debug*");
  CHECK_FALSE(s.report);
  CHECK(s.clock == settings::clock_choice::monotonic);
  CHECK(s.memory_bytes == std::uint64_t(2) << 30);
  CHECK(std::string(s.output) == "out/run");
  CHECK(std::string(s.whatif) == "balance");
  CHECK(s.bad == nullptr);
  CHECK(refused().empty());
}

TEST_CASE("the clock may be fenced") {
  const environment e{{"WHYWAIT_CLOCK", "fenced"}};
  CHECK(settings::from_environment().clock == settings::clock_choice::fenced);
  CHECK(refused().empty());
}

TEST_CASE("an empty variable is none") {
  const environment e{{"WHYWAIT_ENABLE", ""}, {"WHYWAIT_MEMORY", ""}, {"WHYWAIT_OUTPUT", ""}};
  const settings s = settings::from_environment();
  CHECK(s.enable);
  CHECK(s.memory_bytes == 64u << 20);
  CHECK(s.output == nullptr);
  CHECK(refused().empty());
}

TEST_CASE("a value that is not understood keeps the default and is named") {
  const environment e{{"WHYWAIT_ENABLE", "yes"}, {"WHYWAIT_MEMORY", "lots"}, {"WHYWAIT_CLOCK", "sundial"}};
  const settings s = settings::from_environment();
  CHECK(s.enable);
  CHECK(s.memory_bytes == 64u << 20);
  CHECK(std::string(s.bad) == "WHYWAIT_ENABLE");
  CHECK(refused() == std::vector<std::string>{"WHYWAIT_ENABLE=yes", "WHYWAIT_CLOCK=sundial", "WHYWAIT_MEMORY=lots"});
}

TEST_CASE("memory that holds no records is refused") {
  for (const char* value : {"1", "65535", "64K"}) {
    const environment e{{"WHYWAIT_MEMORY", value}};
    const bool enough = std::string(value) == "64K";
    CHECK(settings::from_environment().memory_bytes == (enough ? 64u << 10 : 64u << 20));
    CHECK(refused().empty() == enough);
  }
}

TEST_CASE("a misspelt variable of any length is reported") {
  const environment e{{"WHYWAIT_OUTPTU", "x"}};
  CHECK(refused() == std::vector<std::string>{"WHYWAIT_OUTPTU=?"});
  const std::string longer = "WHYWAIT_" + std::string(200, 'X');
  const environment f{{longer, "x"}};
  CHECK(refused().size() == 2);
  const environment g{{"WHYWAIT_OUTPUT2", "x"}};  // begins like an existing one
  CHECK(refused().size() == 3);
}

TEST_CASE("pauses are a percentage, mostly of the whole run") {
  const auto parse = [](const char* text, std::uint64_t percent, std::uint64_t seconds) {
    settings s;
    s.pauses_percent = s.pauses_free_seconds = 7;
    const bool understood = s.parse_pauses(text);
    CHECK_MESSAGE(understood == (percent != 7), text);
    CHECK_MESSAGE(s.pauses_percent == percent, text);
    CHECK_MESSAGE(s.pauses_free_seconds == seconds, text);
  };
  parse("1%", 1, 0);
  parse("50%", 50, 0);
  parse("1000000%", 1000000, 0);
  parse("20% after 60 s", 20, 60);
  parse("20% after 1000000000 s", 20, 1000000000);
  parse("unlimited", 0, 0);
  for (const char* bad : {"",
                          "%",
                          "0%",
                          "50",
                          "50K",
                          "50 %",
                          "50%%",
                          "-1%",
                          "5.5%",
                          "1000001%",
                          "99999999999999999999999%",
                          "50% after",
                          "50% after 60",
                          "50% after 0 s",
                          "50% after -1 s",
                          "50% after 60 s ",
                          "50%after 60 s",
                          "after 60 s",
                          "50% after 1000000001 s",
                          "unlimited%",
                          "Unlimited"})
    parse(bad, 7, 7);
  const environment e{{"WHYWAIT_PAUSES", "half"}};
  CHECK(settings::from_environment().pauses_percent == 50);
  CHECK(settings::from_environment().pauses_free_seconds == 600);
  CHECK(refused() == std::vector<std::string>{"WHYWAIT_PAUSES=half"});
}

TEST_CASE("bytes are digits and one suffix") {
  const auto parse = [](const char* text) {
    std::uint64_t bytes = 7;
    return settings::parse_bytes(text, bytes) ? bytes : 7;
  };
  CHECK(parse("0") == 0);
  CHECK(parse("123") == 123);
  CHECK(parse("64K") == 65536);
  CHECK(parse("64m") == 64u << 20);
  CHECK(parse("3G") == std::uint64_t(3) << 30);
  CHECK(parse("18446744073709551615") == ~std::uint64_t(0));
  for (const char* bad : {"", "M", "-1", "+1", " 1", "1 ", "1MB", "1T", "0x10", "1.5G", "18446744073709551616",
                          "99999999999999999999", "18446744073709551615K"}) {
    CAPTURE(bad);
    CHECK(parse(bad) == 7);
  }
}

TEST_CASE("the path order is kept on request") {
  CHECK_FALSE(settings::from_environment().path_order);
  const environment e{{"WHYWAIT_PATH", "order"}};
  CHECK(settings::from_environment().path_order);
  CHECK(refused().empty());
  const environment wrong{{"WHYWAIT_PATH", "ordered"}};
  CHECK(refused() == std::vector<std::string>{"WHYWAIT_PATH=ordered"});
}

TEST_CASE("a timeline has a policy, a size and perhaps blocks") {
  using choice = settings::timeline_choice;
  CHECK(settings::from_environment().timeline == choice::none);
  struct {
    const char* text;
    choice policy;
    std::uint64_t bytes;
    bool blocks;
  } const good[] = {{"none", choice::none, 16u << 20, false},
                    {"drop_newest", choice::drop_newest, 16u << 20, false},
                    {"overwrite_oldest:64M", choice::overwrite_oldest, 64u << 20, false},
                    {"drop_newest:blocks", choice::drop_newest, 16u << 20, true},
                    {"overwrite_oldest:1000:blocks", choice::overwrite_oldest, 1000, true}};
  for (const auto& each : good) {
    const environment e{{"WHYWAIT_TIMELINE", each.text}};
    const settings s = settings::from_environment();
    CHECK(s.timeline == each.policy);
    CHECK(s.timeline_bytes == each.bytes);
    CHECK(s.timeline_blocks == each.blocks);
    CHECK(refused().empty());
  }
  for (const char* bad : {"1", "fold", "drop_newest:", "drop_newest:x", "drop_newest:16MB", "none:16M", ":16M"}) {
    const environment e{{"WHYWAIT_TIMELINE", bad}};
    CHECK(settings::from_environment().timeline == choice::none);
    CHECK(refused() == std::vector<std::string>{std::string("WHYWAIT_TIMELINE=") + bad});
  }
}

TEST_CASE("the table names each variable once, and its default is what the parser takes without it") {
  std::vector<std::string> names;
  whywait::core::each_setting([&](const setting& each) {
    for (const std::string& name : names) CHECK(name != each.name);
    names.push_back(each.name);
    const settings without = settings::from_environment();
    const environment e{{each.name, each.fallback}};
    CHECK(refused().empty());
    const settings with = settings::from_environment();
    CHECK(with.help == without.help);
    CHECK(with.pauses_percent == without.pauses_percent);
    CHECK(with.pauses_free_seconds == without.pauses_free_seconds);
    CHECK(with.enable == without.enable);
    CHECK(with.report == without.report);
    CHECK(with.clock == without.clock);
    CHECK(with.memory_bytes == without.memory_bytes);
    CHECK(with.path_order == without.path_order);
    CHECK(with.timeline == without.timeline);
    CHECK(with.output == without.output);
  });
  CHECK(names.size() == 14);
}

TEST_CASE("a value that is not understood is reported with what the table says") {
  const environment e{{"WHYWAIT_HELP", "please"}};
  std::string expected;
  settings::from_environment([&](const bad_setting& bad) { expected = bad.expected; });
  CHECK(expected == "0 or 1");
}

TEST_CASE("WHYWAIT_HELP=1 asks for the table") {
  const environment e{{"WHYWAIT_HELP", "1"}};
  CHECK(settings::from_environment().help);
}
