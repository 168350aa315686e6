#include <whywait/base/table.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace whywait::base;

TEST_CASE("widths count columns, not bytes") {
  CHECK(display_width("halo") == 4);
  CHECK(display_width("h\xc3\xa4lo \xc2\xb7") == 6);      // a umlaut, middle dot
  CHECK(display_width("a\xcc\x88") == 1);                 // combining diaeresis
  CHECK(display_width("\xe8\xa8\x88\xe7\xae\x97") == 4);  // two Han characters
  CHECK(display_width("\xf0\x9f\x9a\x80") == 2);          // a rocket
}

TEST_CASE("bytes that are not UTF-8 are recognised one by one") {
  CHECK(code_point_at("\xff", 0).value == 0xfffd);
  CHECK(code_point_at("\xc0\x80", 0).bytes == 1);               // overlong
  CHECK(code_point_at("\xed\xa0\x80", 0).value == 0xfffd);      // surrogate
  CHECK(code_point_at("\xe8\xa8", 0).value == 0xfffd);          // cut off
  CHECK(code_point_at("\xf4\x90\x80\x80", 0).value == 0xfffd);  // above U+10FFFF
  CHECK(code_point_at("\xf4\x8f\xbf\xbf", 0).value == 0x10ffff);
}

TEST_CASE("names cannot control the terminal") {
  CHECK(printable("a\033[31mb\nc\xff\x7f") == "a?[31mb?c??");
  CHECK(printable("h\xc3\xa4lo") == "h\xc3\xa4lo");
}

TEST_CASE("text that is too long loses its middle but no part of a character") {
  CHECK(shorten_middle("compute", 7) == "compute");
  CHECK(shorten_middle("compute_interior_cells", 11) == "comp...ells");
  CHECK(shorten_middle("compute", 2) == "..");
  const std::string wide = "\xe8\xa8\x88\xe7\xae\x97\xe8\xa8\x88\xe7\xae\x97";
  for (std::size_t width = 0; width < 9; ++width) {
    const std::string cut = shorten_middle(wide, width);
    CHECK(display_width(cut) <= width);
    CHECK(printable(cut) == cut);
  }
}

TEST_CASE("padding respects wide characters") {
  CHECK(pad_left("\xe7\xae\x97", 4) == "  \xe7\xae\x97");
  CHECK(pad_right("ab", 4) == "ab  ");
  CHECK(pad_right("abcde", 4) == "abcde");
}

TEST_CASE("text wraps at spaces and a long word stays whole") {
  CHECK(wrap("one two three", 9, "", "") == "one two\nthree\n");
  CHECK(wrap("one two three", 9, "- ", "    ") == "- one two\n    three\n");
  CHECK(wrap("a verylongwordindeed b", 8, "", "") == "a\nverylongwordindeed\nb\n");
  CHECK(wrap("", 8, "", "") == "\n");
}

TEST_CASE("amounts align, and wide labels do not move them") {
  const std::string text = table({{{"compute"}, "+17.2 s", "slower"},
                                  {{"between A", "    and B_that_is_wide"}, "+1.5 s", ""},
                                  {{"pack"}, "-0.5 s", ""}},
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
