#include <whywait/base/table.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace whywait::base;

TEST_CASE("text wraps at spaces and a long word stays whole") {
  CHECK(wrap("one two three", 9, "", "") == "one two\nthree\n");
  CHECK(wrap("one two three", 9, "- ", "    ") == "- one two\n    three\n");
  CHECK(wrap("a verylongwordindeed b", 8, "", "") == "a\nverylongwordindeed\nb\n");
  CHECK(wrap("", 8, "", "") == "\n");
}

TEST_CASE("amounts align, and wide labels do not move them") {
  const std::string text = table(
      {{{"compute"}, "+17.2 s", "slower"}, {{"between A", "    and B_that_is_wide"}, "+1.5 s", ""}, {{"pack"}, "-0.5 s", ""}},
      40, 2, 12);
  CHECK(text ==
        "  compute  +17.2 s  slower\n"
        "  between A\n"
        "      and B_that_is_wide\n"
        "            +1.5 s\n"
        "  pack      -0.5 s\n");
}

TEST_CASE("a remark that does not fit goes to the next line") {
  CHECK(table({{{"compute"}, "+17.2 s", "same visits, each slower"}}, 40, 2, 12) ==
        "  compute  +17.2 s\n      same visits, each slower\n");
}
