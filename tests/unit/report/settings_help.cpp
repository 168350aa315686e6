#include <whywait/report/settings_help.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace whywait::reports;

TEST_CASE("the help has a paragraph for each setting, with its default and the value that is set") {
  setenv("WHYWAIT_RULES", "own.rules", 1);
  const std::string text = settings_text();
  unsetenv("WHYWAIT_RULES");
  whywait::core::each_setting([&](const whywait::core::setting& each) {
    CHECK(text.find(std::string("\n  ") + each.name + " ") != std::string::npos);
    CHECK(text.find(each.text) != std::string::npos);
    CHECK(text.find(each.values) != std::string::npos);
  });
  CHECK(text.find("default 64M\n") != std::string::npos);
  CHECK(text.find("default not set; set to own.rules\n") != std::string::npos);
}
