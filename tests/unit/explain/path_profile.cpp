#include <whywait/base/vector.hpp>
#include <whywait/explain/path_profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

using namespace whywait::base;
using namespace whywait::explain;

TEST_CASE("the most recent alignment that applies is taken; one of all ranks ends the older ones") {
  alignments a;
  const auto latest = [&a](std::uint64_t who) { return a.latest([who](std::uint64_t w) { return w == who; })[0].ns; };
  CHECK(latest(1) == 0);
  a.remember(1, 10, {{1, 100, 0}});
  a.remember(2, 20, {{1, 200, 0}});
  CHECK(latest(1) == 100);
  CHECK(latest(2) == 200);
  a.remember(1, 30, {{1, 300, 0}});
  CHECK(latest(1) == 300);
  a.world(40, {{1, 400, 0}});
  CHECK(latest(1) == 400);
  CHECK(latest(3) == 400);
  a.remember(3, 50, {{1, 500, 0}});
  CHECK(latest(3) == 500);
  CHECK(latest(1) == 400);
}

TEST_CASE("only the 16 most recent alignments are kept") {
  alignments a;
  for (int i = 1; i != 21; ++i) a.remember(static_cast<std::uint64_t>(i), i, {{0, i, 0}});
  const auto latest = [&a](std::uint64_t who) { return a.latest([who](std::uint64_t w) { return w == who; })[0].ns; };
  CHECK(latest(4) == 0);
  CHECK(latest(5) == 5);
  CHECK(latest(20) == 20);
}

TEST_CASE("alignments keep their profiles when others are added and when profiles grow") {
  alignments a;
  whywait::base::vector<path_profile> kept;
  std::uint64_t random = 3;
  for (std::size_t i = 0; i != 40; ++i) {
    path_profile p(1 + i);  // each has one block more than the previous one
    for (path_use& u : p) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      u.ns = static_cast<std::int64_t>(random >> 40);
    }
    a.remember(i % 13, static_cast<std::int64_t>(i), p);
    kept.push_back(p);
    for (std::size_t who = 0; who <= std::min<std::size_t>(i, 12); ++who) {
      std::size_t last = i;
      while (last % 13 != who) --last;
      const alignments::view found = a.latest([who](std::uint64_t w) { return w == who; });
      CHECK(found.at_ns == static_cast<std::int64_t>(last));
      for (std::size_t b = 0; b != 44; ++b) CHECK(found[b].ns == (b < kept[last].size() ? kept[last][b].ns : 0));
    }
  }
}
