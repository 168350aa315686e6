#include <whywait/base/places.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>

using namespace whywait::base;
using namespace whywait::report;

TEST_CASE("a call site is printed with its region and line") {
  CHECK(call_text(sample::call("MPI_Recv", "main/exchange", "src/halo.cpp", 142)) == "MPI_Recv in exchange (halo.cpp:142)");
  CHECK(call_text(sample::call("MPI_Recv", "main/exchange", "src/halo.cpp", 142), "at") ==
        "MPI_Recv at exchange (halo.cpp:142)");
}

TEST_CASE("without regions the function is named, without debug information module and offset") {
  place p = sample::call("MPI_Recv", "", "", 0);
  CHECK(call_text(p) == "MPI_Recv in app::exchange (app+0x1234)");
  p.function.clear();
  CHECK(call_text(p) == "MPI_Recv (app+0x1234)");
  p.module.clear();
  CHECK(call_text(p) == "MPI_Recv at an unknown place");
  CHECK(call_text(place{}) == "a call at an unknown place");
}

TEST_CASE("long names lose their middle and the file name stays whole") {
  place p = sample::call("MPI_Recv", "a_region_with_a_name_that_never_seems_to_end", "dir/a_file_with_a_long_name.cpp", 142);
  const std::string text = call_text(p, "in", 60);
  CHECK(text == "MPI_Recv in a_regi...o_end (a_file_with_a_long_name.cpp:142)");
  CHECK(display_width(text) == 60);
  CHECK(call_text(p, "in", 10).find("a_file_with_a_long_name.cpp:142") != std::string::npos);
}

TEST_CASE("which rank adds a name first does not matter") {
  place poor;
  poor.call = "MPI_Send";
  const place rich = sample::call("MPI_Send", "main", "a.cpp", 3);
  const place other = sample::call("MPI_Send", "main", "b.cpp", 3);
  names one;
  one.add(7, poor);
  one.add(7, other);
  one.add(7, rich);
  names two;
  two.add(7, rich);
  two.add(7, poor);
  two.add(7, other);
  REQUIRE(one.find(7) != nullptr);
  CHECK(*one.find(7) == rich);
  CHECK(*two.find(7) == rich);
  CHECK(one.find(8) == nullptr);
  CHECK(one.size() == 1);
}
