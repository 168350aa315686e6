#include <whywait/base/places.hpp>
#include <whywait/report/names_packet.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>

using namespace whywait::base;
using namespace whywait::reports;

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

namespace {
place called_from(const char* caller, int line = 99, const char* region = "") {
  place p = sample::call("MPI_Wait", region, "parallel.c", line);
  p.caller = caller;
  return p;
}
}  // namespace

TEST_CASE("the caller follows the place of a call, or stands in a line of its own") {
  const place p = called_from("exchange (halo.c:80)");
  CHECK(call_text(p) == "MPI_Wait in app::exchange (parallel.c:99) from exchange (halo.c:80)");
  CHECK(brief_call_text(p) == "MPI_Wait (parallel.c:99) from exchange (halo.c:80)");
  CHECK(call_lines(p, 80).size() == 1);
  CHECK(call_lines(p, 80)[0] == call_text(p));
  REQUIRE(call_lines(p, 50).size() == 2);
  CHECK(call_lines(p, 50)[0] == "MPI_Wait in app::exchange (parallel.c:99)");
  CHECK(call_lines(p, 50)[1] == "    from exchange (halo.c:80)");
  CHECK(call_lines(called_from(""), 80).size() == 1);
}

TEST_CASE("a caller is named by its function and line, or by what is known of them") {
  place p = sample::call("", "", "src/halo.c", 80);
  CHECK(function_text(p) == "app::exchange (halo.c:80)");
  p.function = "(anonymous namespace)::exchange(int)";
  CHECK(function_text(p) == "exchange (halo.c:80)");
  p.function.clear();
  CHECK(function_text(p) == "halo.c:80");
  p.file.clear();
  CHECK(function_text(p) == "app+0x1234");
}

TEST_CASE("callers are kept only where calls would read the same") {
  names all;
  all.add(1, called_from("a (x.c:1)"));
  all.add(2, called_from("b (x.c:2)"));
  all.add(3, called_from("a (x.c:1)", 100));
  all.add(4, called_from("c (x.c:3)", 101));
  all.add(5, called_from("c (x.c:3)", 101));
  all.add(6, called_from("d (x.c:4)", 102, "main"));
  all.add(7, called_from("e (x.c:5)", 102, "setup"));
  all.add(8, called_from("f (x.c:6)", 103));
  all.add(9, called_from("", 103));
  place receive = called_from("g (x.c:7)");
  receive.call = "MPI_Recv";
  all.add(10, receive);
  all.clear_needless_callers();
  CHECK(all.find(1)->caller == "a (x.c:1)");
  CHECK(all.find(2)->caller == "b (x.c:2)");
  CHECK(all.find(3)->caller == "");
  CHECK(all.find(4)->caller == "");
  CHECK(all.find(5)->caller == "");
  CHECK(all.find(6)->caller == "");
  CHECK(all.find(7)->caller == "");
  CHECK(all.find(8)->caller == "f (x.c:6)");
  CHECK(all.find(9)->caller == "");
  CHECK(all.find(10)->caller == "");
}

TEST_CASE("the first caller of a function that helps others is always kept") {
  names all;
  place p = called_from("a (y.c:1), main (z.c:2)");
  p.helps = true;
  all.add(1, p);
  p.line += 1;
  p.caller = "b<int, long> (y.c:3)";
  all.add(2, p);
  p.line += 1;
  for (const unsigned key : {3u, 4u}) {
    p.caller = "c (y.c:4), main (z.c:" + std::to_string(key) + ")";
    all.add(key, p);
  }
  p.helps = false;
  p.line += 1;
  for (const unsigned key : {5u, 6u}) {
    p.caller = "d (y.c:" + std::to_string(key) + "), main (z.c:9)";  // the first ones tell them apart
    all.add(key, p);
  }
  all.clear_needless_callers();
  CHECK(all.find(1)->caller == "a (y.c:1)");
  CHECK(all.find(2)->caller == "b<int, long> (y.c:3)");
  CHECK(all.find(5)->caller == "d (y.c:5)");
  CHECK(all.find(6)->caller == "d (y.c:6)");
  CHECK(all.find(3)->caller == "c (y.c:4), main (z.c:3)");
  CHECK(all.find(4)->caller == "c (y.c:4), main (z.c:4)");
}

TEST_CASE("callers in the file of a call are kept only where those in other files do not tell calls apart") {
  for (const bool same : {false, true}) {
    CAPTURE(same);
    names all;
    for (const unsigned key : {1u, 2u}) {
      const std::string own = "solve (cg.hpp:" + std::to_string(key) + ")";
      place p = called_from((own + ", main (main.cpp:" + (same ? "9" : std::to_string(key)) + ")").c_str());
      p.own_callers = static_cast<int>(own.size());
      p.helps = true;
      all.add(key, p);
    }
    names received;
    const whywait::base::packet sent = whywait::reports::pack(all);
    REQUIRE(whywait::reports::unpack(sent.data(), sent.size(), received));
    for (names* table : {&all, &received}) {
      table->clear_needless_callers();
      table->clear_needless_callers();
      for (const unsigned key : {1u, 2u})
        CHECK(table->find(key)->caller == (same ? "solve (cg.hpp:" : "main (main.cpp:") + std::to_string(key) + ")");
    }
  }
}

TEST_CASE("instances of a template read the same") {
  names all;
  place p = called_from("a (x.c:1)");
  p.function = "void phase<int>(int)";
  all.add(1, p);
  p.function = "void phase<long>(long)";
  p.caller = "a (x.c:2)";
  all.add(2, p);
  p.function = "void other(long)";
  all.add(3, p);
  all.clear_needless_callers();
  CHECK(all.find(1)->caller == "a (x.c:1)");
  CHECK(all.find(2)->caller == "a (x.c:2)");
  CHECK(all.find(3)->caller == "");
}

TEST_CASE("without file and line calls read the same only at one address") {
  names all;
  place p = called_from("a (x.c:1)", 0);
  p.file.clear();
  all.add(1, p);
  p.caller = "b (x.c:2)";
  all.add(2, p);
  p.offset += 16;
  all.add(3, p);
  all.clear_needless_callers();
  CHECK(all.find(1)->caller == "a (x.c:1)");
  CHECK(all.find(2)->caller == "b (x.c:2)");
  CHECK(all.find(3)->caller == "");
}
