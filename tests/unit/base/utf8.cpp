#include <whywait/base/utf8.hpp>

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
  CHECK_FALSE(code_point_at("\xff", 0).valid());
  CHECK(code_point_at("\xef\xbf\xbd", 0).valid());           // U+FFFD itself
  CHECK(code_point_at("\xc0\x80", 0).bytes == 1);               // overlong
  CHECK(code_point_at("\xed\xa0\x80", 0).value == 0xfffd);      // surrogate
  CHECK(code_point_at("\xe8\xa8", 0).value == 0xfffd);          // cut off
  CHECK(code_point_at("\xf4\x90\x80\x80", 0).value == 0xfffd);  // above U+10FFFF
  CHECK(code_point_at("\xf4\x8f\xbf\xbf", 0).value == 0x10ffff);
}

TEST_CASE("a byte that is not UTF-8 counts as one code point") {
  CHECK(code_points("h\xc3\xa4lo") == 4);
  CHECK(code_points("\xe8\xa8\xff") == 3);
  CHECK(code_points("") == 0);
}

TEST_CASE("names cannot control the terminal") {
  CHECK(printable("a\033[31mb\nc\xff\x7f") == "a?[31mb c??");
  CHECK(printable("h\xc3\xa4lo\t|\xc2\x9b|\xef\xbf\xbd") == "h\xc3\xa4lo |?|\xef\xbf\xbd");  // U+009B opens an escape sequence
}

TEST_CASE("what is too long loses its middle and never half a character") {
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

TEST_CASE("the first columns of a text hold whole characters, and marks that combine with the last one") {
  CHECK(first_columns("compute", 7) == "compute");
  CHECK(first_columns("compute", 4) == "comp");
  CHECK(first_columns("compute", 0) == "");
  CHECK(first_columns("\xe8\xa8\x88\xe7\xae\x97", 3) == "\xe8\xa8\x88");
  CHECK(first_columns("e\xcc\x81x", 1) == "e\xcc\x81");
}

TEST_CASE("padding respects wide characters") {
  CHECK(pad_left("\xe7\xae\x97", 4) == "  \xe7\xae\x97");
  CHECK(pad_right("ab", 4) == "ab  ");
  CHECK(pad_right("abcde", 4) == "abcde");
}
