#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/sharing_graph.hpp>

#include <doctest/doctest.h>

namespace data = whywait::data;

namespace {

data::sharing_graph two_ways(std::int64_t left, std::int64_t right) {
  data::sharing_graph g;
  g.touch(1, 1, 2);
  g.touch(2, 2, 0);
  g.touch(3, 2, 0);
  g.count(1, 2, left);
  g.count(1, 3, right);
  return g;
}

}  // namespace

TEST_CASE("the distance of graphs is how far apart their frequencies are") {
  CHECK(data::distance(two_ways(9, 1), two_ways(90, 10)) == doctest::Approx(0));
  CHECK(data::distance(two_ways(9, 1), two_ways(8, 2)) == doctest::Approx(0.1));
  CHECK(data::distance(two_ways(9, 1), two_ways(1, 9)) == doctest::Approx(0.8));
  CHECK(data::distance(two_ways(1, 0), two_ways(0, 1)) == doctest::Approx(1));
  data::sharing_graph other;
  other.count(1, 9);
  CHECK(data::distance(two_ways(1, 1), other) == doctest::Approx(1));
  CHECK(data::distance(other, two_ways(1, 1)) == doctest::Approx(1));
}

TEST_CASE("alike graphs are merged, others and other patterns kept apart") {
  whywait::base::vector<data::sharing_group> groups;
  whywait::base::vector<data::sharing_graph> leaders;
  const auto add = [&](std::uint64_t granule, data::sharing_pattern p, const data::sharing_graph& g) {
    data::group_granule(groups, leaders, 5, granule, p, g, 0.25);
  };
  add(4, data::sharing_pattern::migratory, two_ways(9, 1));
  add(3, data::sharing_pattern::migratory, two_ways(8, 2));
  add(2, data::sharing_pattern::migratory, two_ways(1, 9));
  add(1, data::sharing_pattern::mixed, two_ways(9, 1));
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].granules == 2);
  CHECK(groups[0].first_granule == 3);
  CHECK(groups[0].graph.misses() == 20);
  CHECK(groups[0].graph.frequency(1, 2) == doctest::Approx(0.85));
}
