#include <whywait/models/program.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::number_of_error;

namespace {
std::string error_of(const control_graph& g) {
  return number_of_error([&] { compile(g); });
}
}  // namespace

TEST_CASE("a malformed graph is refused with its number") {
  CHECK(error_of(control_graph().add("a", "b")) == "whywait-P004");
  CHECK(error_of(control_graph().add("a", "", "b")) == "whywait-P004");
  CHECK(error_of(control_graph().add("a", "").add("a", "")) == "whywait-P005");
  CHECK(error_of(control_graph().add("a", "b").add("b", "")) == "whywait-P006");
  CHECK(error_of(control_graph().add("a", "").add("b", "", "a")) == "whywait-P006");
  CHECK(error_of(control_graph().add("a", "").add("b", "b", "b")) == "whywait-P007");
  CHECK(error_of(control_graph().add("a", "a", "a")) == "whywait-P009");
  CHECK(error_of(control_graph()) == "whywait-P009");
  CHECK(error_of(control_graph().add("a", "b").add_immediate("b", "c", "a+c").add_immediate("c", "b", "b")) == "whywait-P008");
  CHECK(error_of(control_graph().add("a", "b|.5+c|.4").add("b", "", "a").add("c", "", "a")) == "whywait-P003");
  control_graph start = control_graph().add("a", "");
  start.start = {"z"};
  CHECK(error_of(start) == "whywait-P004");
  control_graph classes = control_graph().add("a", "", "", "x");
  classes.classes = {"y"};
  CHECK(error_of(classes) == "whywait-P015");
  control_graph modules = control_graph().add_immediate("a", "");
  modules.modules = {"m"};
  CHECK(error_of(modules) == "whywait-P010");
}

TEST_CASE("an AND that can never be filled makes its node unreachable") {
  // c needs a and b, but b follows c
  control_graph g = control_graph().add("a", "c").add("b", "c", "c").add("c", "b", "a.b");
  CHECK(error_of(g) == "whywait-P007");
}

TEST_CASE("an error names the node and points into the expression") {
  try {
    compile(control_graph().add("fork", "a . bb").add("a", "", "fork"));
    FAIL("accepted");
  } catch (const prediction_error& e) {
    CHECK(std::string(e.what()) == "whywait-P004: E(fork): there is no node 'bb'\n  a . bb\n      ^");
  }
}

TEST_CASE("classes are numbered as they appear and loops are seen") {
  const program p = compile(control_graph().add("a", "b", "", "x").add("b", "", "a", "y"));
  CHECK(p.classes == std::vector<std::string>{"x", "y"});
  CHECK(p.acyclic);
  CHECK_FALSE(compile(control_graph().add("i", "a").add("a", "a|1/2+x|1/2", "i+a").add("x", "", "a")).acyclic);
}
