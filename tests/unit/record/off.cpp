// The only file of this program with whywait disabled. It links with the others, because the inline namespace differs
// (v0_off).
#define WHYWAIT_DISABLE
#include <whywait/record.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

int evaluated = 0;
int evaluate() { return ++evaluated; }

}  // namespace

TEST_CASE("switched off, macros are statements that evaluate nothing") {
  int only_counted = 0;
  ++only_counted;
  WHYWAIT_REGION("off");
  WHYWAIT_WAIT("off");
  if (evaluated != 0) WHYWAIT_REGION("off");
  else WHYWAIT_BLOCK("off");
  WHYWAIT_NEXT("off");
  WHYWAIT_WORK(evaluate());
  WHYWAIT_WORK(only_counted);
  // a capture that only marks use causes no warning
  const auto lambda = [only_counted] { WHYWAIT_WORK(only_counted); };
  lambda();
  CHECK(evaluated == 0);
}

TEST_CASE("switched off, the functions and classes are there and empty") {
  static whywait::site here(whywait::site_kind::region, "off");
  whywait::region r(here);
  whywait::region named("off");
  whywait::waiting w("off");
  r.next(here);
  whywait::next(here);
  whywait::begin("off");
  whywait::end("off");
  whywait::visit(here);
  whywait::visit("off");
  whywait::work(1);
  CHECK(std::is_empty_v<whywait::region>);
  CHECK(std::is_empty_v<whywait::waiting>);
  CHECK(std::is_empty_v<whywait::site>);
  CHECK_FALSE(std::is_copy_constructible_v<whywait::region>);
}
