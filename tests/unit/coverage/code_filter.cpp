#include <whywait/base/vector.hpp>
#include <whywait/coverage/names/code_filter.hpp>

#include <doctest/doctest.h>

using whywait::coverage::code_filter;
using whywait::coverage::own_headers;

TEST_CASE("without patterns everything is kept but system headers and whywait itself") {
  const code_filter all("", own_headers("/opt/include/whywait/coverage/names/own_headers.hpp"));
  CHECK(all.keeps("void app::solve(int)", "src/solve.cpp"));
  CHECK(all.keeps("", "a.cpp"));
  CHECK_FALSE(all.keeps("whywait::base::vector<int>::size() const", "/usr/include/c++/12/bits/stl_vector.h"));
  CHECK_FALSE(all.keeps("whywait::v0::reports::text_of(int)", "somewhere.cpp"));
  CHECK_FALSE(all.keeps("MPI_Send", "somewhere.cpp"));
  CHECK_FALSE(all.keeps("app::f()", "/opt/include/whywait/record/region.hpp"));
}

TEST_CASE("patterns keep, and patterns with a minus leave out") {
  const code_filter some("solve*,force.cpp,-*debug*");
  CHECK(some.keeps("solve_all(int)", "a.cpp"));
  CHECK(some.keeps("f()", "src/force.cpp"));
  CHECK_FALSE(some.keeps("f()", "src/other.cpp"));
  CHECK_FALSE(some.keeps("solve_debug()", "a.cpp"));
  const code_filter but("-init*,");
  CHECK(but.keeps("f()", "a.cpp"));
  CHECK_FALSE(but.keeps("f()", "src/init.cpp"));
  CHECK_FALSE(but.keeps("f()", "/usr/include/a.h"));
}

TEST_CASE("system headers can be selected, whywait's own code cannot") {
  CHECK(code_filter("/usr/*").keeps("std::f()", "/usr/include/a.h"));
  CHECK_FALSE(code_filter("*").keeps("whywait::v0::f()", "a.cpp"));
}

TEST_CASE("code of users in folders called whywait is kept") {
  const code_filter all("", own_headers("/home/me/whywait/include/whywait/coverage/names/own_headers.hpp"));
  CHECK(all.keeps("app::f()", "/home/me/whywait/src/solve.hpp"));
  CHECK(all.keeps("app::f()", "/home/me/whywait/include/solve.hpp"));
  CHECK(all.keeps("app::f()", "/home/me/other/whywait/solve.hpp"));
  CHECK(all.keeps("app::f()", "whywait/solve.hpp"));
  CHECK_FALSE(all.keeps("app::f()", "/home/me/whywait/include/whywait/record/region.hpp"));
  CHECK_FALSE(all.keeps("app::f()", "/home/me/whywait/build/../include/whywait//record/./region.hpp"));
}

TEST_CASE("empty patterns select and exclude nothing") {
  for (const char* const patterns : {",", "-", ",,-,", "-init*,,-"}) {
    CAPTURE(patterns);
    const code_filter one(patterns);
    CHECK(one.keeps("solve(int)", "/home/user/solve.cpp"));
    CHECK_FALSE(one.keeps("printf", "/usr/include/stdio.h"));
  }
  CHECK_FALSE(code_filter("solve*,,").keeps("init(int)", "/home/user/init.cpp"));
}
