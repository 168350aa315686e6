#include <whywait/comparison/matching.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runs.hpp"

using namespace whywait::comparison;

namespace {

whywait::base::place call(const char* name, const char* file, int line) {
  whywait::base::place p;
  p.call = name;
  p.region = "main/exchange";
  p.file = file;
  p.line = line;
  return p;
}

std::vector<int> partners(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<int> x, y, partner;
  detail::align_lines(a, b, x, y);
  for (const int n : x) {
    const auto at = std::find(y.begin(), y.end(), n);
    partner.push_back(at == y.end() ? -1 : static_cast<int>(at - y.begin()));
  }
  return partner;
}

}  // namespace

TEST_CASE("lines that moved together keep their partners") {
  CHECK(partners({10, 20}, {10, 20}) == std::vector<int>{0, 1});
  CHECK(partners({10, 20}, {15, 25}) == std::vector<int>{0, 1});
  CHECK(partners({10, 20}, {12, 15, 25}) == std::vector<int>{1, 2});  // a call was added before both
  CHECK(partners({10, 20, 30}, {13, 33}) == std::vector<int>{0, -1, 1});  // the second one was removed
  CHECK(partners({10}, {500}) == std::vector<int>{0});
  CHECK(partners({}, {1}).empty());
}

TEST_CASE("a place is recognised after lines were added above it") {
  place_matcher m;
  m.add(call("MPI_Recv", "halo.cpp", 10), before_side);
  m.add(call("MPI_Recv", "halo.cpp", 20), before_side);
  m.add(call("MPI_Recv", "halo.cpp", 17), after_side);
  m.add(call("MPI_Recv", "halo.cpp", 27), after_side);
  m.align();
  CHECK(m.key(call("MPI_Recv", "halo.cpp", 10), before_side) == m.key(call("MPI_Recv", "halo.cpp", 17), after_side));
  CHECK(m.key(call("MPI_Recv", "halo.cpp", 20), before_side) == m.key(call("MPI_Recv", "halo.cpp", 27), after_side));
  CHECK(m.key(call("MPI_Recv", "halo.cpp", 10), before_side) != m.key(call("MPI_Recv", "halo.cpp", 27), after_side));
}

TEST_CASE("a renamed file is recognised by what is in it, another new file is not") {
  place_matcher m;
  for (const char* name : {"MPI_Recv", "MPI_Send"}) m.add(call(name, "src/halo.cpp", 10), before_side);
  for (const char* name : {"MPI_Recv", "MPI_Send"}) m.add(call(name, "src/exchange.cpp", 12), after_side);
  m.add(call("MPI_Bcast", "src/new.cpp", 3), after_side);
  m.align();
  CHECK(m.key(call("MPI_Recv", "src/halo.cpp", 10), before_side) ==
        m.key(call("MPI_Recv", "src/exchange.cpp", 12), after_side));
  CHECK(m.key(call("MPI_Bcast", "src/new.cpp", 3), after_side).find("new.cpp") != std::string::npos);
  CHECK(m.with_old_names("relax (exchange.cpp:#)") == "relax (halo.cpp:#)");
}

TEST_CASE("unmarked code is recognised by the calls around it") {
  place_matcher m;
  timed_block a, b;
  a.kind = b.kind = "between";
  a.block = "between MPI_Recv (halo.cpp:10) and MPI_Send (halo.cpp:12)";
  a.from = call("MPI_Recv", "halo.cpp", 10);
  a.where = call("MPI_Send", "halo.cpp", 12);
  b.block = "between MPI_Recv (halo.cpp:15) and MPI_Send (halo.cpp:17)";
  b.from = call("MPI_Recv", "halo.cpp", 15);
  b.where = call("MPI_Send", "halo.cpp", 17);
  m.add(a, before_side);
  m.add(b, after_side);
  m.align();
  CHECK(m.key(a, before_side) == m.key(b, after_side));
  b.from.reset();  // since MPI_Init
  CHECK(m.key(a, before_side) != m.key(b, after_side));
}
