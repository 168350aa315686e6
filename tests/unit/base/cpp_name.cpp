#include <whywait/base/cpp_name.hpp>
#include <whywait/base/vector.hpp>

#include <doctest/doctest.h>

using namespace whywait::base;

TEST_CASE("mangled names become readable and others stay") {
  CHECK(demangle("_ZN3app6solver4stepEi") == "app::solver::step(int)");
  CHECK(demangle("main") == "main");
  for (const char* const c : {"w", "f", "i", "PFviE"}) CHECK(demangle(c) == c);  // would be types
  CHECK(demangle(nullptr).empty());
  CHECK(demangle("main.cold") == "main");  // parts of functions
  CHECK(demangle("jl_comm_allreduce.part.0.constprop.1") == "jl_comm_allreduce");
  CHECK(demangle("_ZN3app6solver4stepEi.isra.0") == "app::solver::step(int)");
  CHECK(demangle("main._omp_fn.0") == "main._omp_fn.0");  // a function of its own
}

TEST_CASE("procedures of Fortran modules have the name of the module in front") {
  CHECK(demangle("__halo_MOD_exchange") == "halo::exchange");
  CHECK(demangle("exchange_") == "exchange_");
  CHECK(demangle("MAIN__") == "main program");
  CHECK(demangle("MAIN__x") == "MAIN__x");
  CHECK(demangle("__MOD_x") == "__MOD_x");
  CHECK(demangle("a_MOD_b") == "a_MOD_b");
}

TEST_CASE("short names have no return type, parameters or template arguments") {
  CHECK(short_name("void app::solver<double, std::array<int, 3> >::step(int) const") == "app::solver<...>::step");
  CHECK(short_name("main") == "main");
  CHECK(short_name("whywait::base::vector<int> make<int>(int (*)(char))") == "make<...>");
  CHECK(short_name("f(int) [clone .cold]") == "f");
  CHECK(short_name("f[abi:cxx11](int)") == "f");
}

TEST_CASE("anonymous namespaces and lambdas stay recognisable") {
  CHECK(short_name("(anonymous namespace)::exchange(int)") == "(anonymous)::exchange");
  CHECK(short_name("main::{lambda(int)#1}::operator()(int) const") == "main::{lambda}::operator()");
  CHECK(short_name("run(int)::{lambda()#2}::operator()() const") == "run::{lambda}::operator()");
}

TEST_CASE("operators keep their symbols") {
  CHECK(short_name("app::operator<<(std::ostream&, app::x const&)") == "app::operator<<");
  CHECK(short_name("bool app::operator< <int>(app::x<int>)") == "app::operator<<...>");
  CHECK(short_name("app::x::operator->()") == "app::x::operator->");
  CHECK(short_name("app::x::operator new(unsigned long)") == "app::x::operator new");
  CHECK(short_name("my_operator(int)") == "my_operator");
}

TEST_CASE("unbalanced names do no harm") {
  for (const char* odd : {"", "<", ">", "(", ")", "a<b", "operator", "operator<", "{lambda(", "a(b", "x::"}) {
    CAPTURE(odd);
    CHECK(short_name(odd).size() <= 16);
  }
}
