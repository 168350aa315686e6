#include <whywait/models/reduce.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::near;

namespace {
const machine& own() {
  static const machine m = machine::servers_for_all({1.0});
  return m;
}
}  // namespace

TEST_CASE("a stencil is not series-parallel and is left to the chain") {
  control_graph g = control_graph().add("a", "c.d").add("b", "c.d").add("c", "", "a.b").add("d", "", "a.b");
  g.nodes[0].enables = "c.d";
  g.nodes[2].needs = "a.b";
  control_graph n = control_graph().add("7", "10.11").add("8", "11").add("10", "", "7").add("11", "", "7.8");
  const reduction r = reduce(n, own());
  CHECK_FALSE(r.complete);
  CHECK(r.left > 1);
}

TEST_CASE("an optional arc is not a branch of a fork") {
  const reduction r = reduce(control_graph().add("a", "b|1/2.c").add("b", "", "a").add("c", "", "a"), own());
  CHECK_FALSE(r.complete);
}

TEST_CASE("a merge of two tokens runs twice and is not reduced as a join") {
  const reduction r = reduce(control_graph().add("1", "3").add("2", "3").add("3", "", "1+2"), own());
  CHECK_FALSE(r.complete);
}

TEST_CASE("several starts, a choice without a merge and a loop are reduced") {
  const reduction forks = reduce(control_graph().add("a", "").add("b", "").add("c", ""), own());
  REQUIRE(forks.complete);
  CHECK(near(forks.whole.tasks, 3.0));
  const reduction choice =
      reduce(control_graph().add("a", "b|1/4+c|3/4").add("b", "", "a").add("c", "d", "a").add("d", "", "c"), own());
  REQUIRE(choice.complete);
  CHECK(near(choice.whole.mean, 1 + 0.25 + 1.5));
  const reduction loop =
      reduce(control_graph().add("i", "a").add("a", "b", "i+b").add("b", "a|3/4+x|1/4", "a").add("x", "", "b"), own());
  REQUIRE(loop.complete);
  CHECK(near(loop.whole.mean, 2 + 8));
}
