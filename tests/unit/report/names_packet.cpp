#include <whywait/report/names_packet.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <string>

using namespace whywait::base;
using namespace whywait::reports;

TEST_CASE("names survive the way to another rank") {
  names sent = sample::names();
  place lines = sample::block("loop in f", "", "src/f.cpp", 8, "step");
  lines.last_line = 11;
  sent.add(99, lines);
  place wrapped = sample::call("MPI_Wait", "", "src/parallel.c", 99);
  wrapped.caller = "exchange (halo.c:80)";
  sent.add(100, wrapped);
  names got;
  const packet bytes = pack(sent);
  REQUIRE(unpack(bytes.data(), bytes.size(), got));
  CHECK(got.entries() == sent.entries());
  CHECK(got.find(99)->last_line == 11);
  CHECK(got.find(100)->caller == "exchange (halo.c:80)");
  CHECK(pack(got) == pack(sent));
  CHECK(pack(names{}).empty());
}

TEST_CASE("a packet that was cut off is noticed at every length") {
  names one;
  one.add(5, sample::block("pack_halo", "main/exchange/pack_halo", "src/halo.cpp", 60));
  const packet bytes = pack(one);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    names got;
    CAPTURE(size);
    CHECK_FALSE(unpack(bytes.data(), size, got));
    CHECK(got.size() == 0);
  }
}

TEST_CASE("two packets one after the other are the union") {
  names one;
  one.add(1, sample::call("MPI_Send", "", "a.cpp", 1));
  names two;
  two.add(2, sample::call("MPI_Recv", "", "a.cpp", 2));
  names got;
  packet both = pack(one);
  const packet second = pack(two);
  put_bytes(both, second.data(), second.size());
  REQUIRE(unpack(both.data(), both.size(), got));
  CHECK(got.size() == 2);
}
