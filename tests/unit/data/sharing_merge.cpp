#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/analysis/sharing_merge.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>

namespace data = whywait::data;
namespace core = whywait::core;

namespace {

data::sharing_node node(core::stable_key request, core::stable_key invalidation,
                        whywait::base::vector<core::stable_key> writes) {
  data::sharing_node n;
  n.request = request;
  n.invalidation = invalidation;
  n.writes = std::move(writes);
  return n;
}

/// The report of one process, with its nodes in either order; node 0 is INIT.
data::sharing_report one(bool turned, std::int64_t back, std::uint64_t thread) {
  data::sharing_report r;
  r.nodes = {node(0, 0, {}), node(7, 0, {}), node(8, 9, {7})};
  const std::uint32_t a = turned ? 2 : 1, b = turned ? 1 : 2;
  if (turned) std::swap(r.nodes[1], r.nodes[2]);
  data::sharing_group g;
  g.array = 5;
  g.pattern = data::sharing_pattern::producer_consumer;
  g.granules = 3;
  g.first_granule = thread;
  g.graph.count(0, a, 1);
  g.graph.count(a, b, 10);
  g.graph.count(b, a, back);
  g.graph.count(b, b, 10 - back);
  g.graph.touch(a, 0, thread);
  g.graph.touch(b, thread, 0);
  r.groups = {g};
  r.arrays = {{5, 100, 25, data::shared_array::error_of(25, 100)}};
  r.dropped = 1;
  return r;
}

std::int64_t between(const data::sharing_report& r, const data::sharing_group& g, core::stable_key from, core::stable_key to) {
  for (const data::sharing_edge& e : g.graph.edges)
    if (r.nodes[e.from].request == from && r.nodes[e.to].request == to) return e.count;
  return 0;
}

}  // namespace

TEST_CASE("equal nodes of two processes are one, however they are numbered, and their groups add up") {
  data::sharing_report all = one(false, 8, 1);
  data::merge(all, one(true, 6, 2));
  CHECK(all.nodes.size() == 3);
  REQUIRE(all.groups.size() == 1);
  const data::sharing_group& g = all.groups[0];
  CHECK(g.granules == 6);
  CHECK(g.first_granule == 1);
  CHECK(between(all, g, 0, 7) == 2);
  CHECK(between(all, g, 7, 8) == 20);
  CHECK(between(all, g, 8, 7) == 14);
  CHECK(between(all, g, 8, 8) == 6);
  for (const data::node_threads& t : g.graph.threads) CHECK((t.readers | t.writers) == 3);
  REQUIRE(all.arrays.size() == 1);
  CHECK(all.arrays[0].granules == 200);
  CHECK(all.arrays[0].watched == 50);
  CHECK(all.arrays[0].standard_error == doctest::Approx(0.5 * 0.1224744871));  // sqrt(0.75 / 50)
  CHECK(all.dropped == 2);
}

TEST_CASE("groups that behave otherwise stay apart") {
  data::sharing_report all = one(false, 10, 1);
  data::merge(all, one(true, 2, 2));  // 80 % of the transitions out of a node differ
  CHECK(all.groups.size() == 2);
  data::sharing_report other = one(true, 10, 1);
  other.groups[0].pattern = data::sharing_pattern::migratory;
  data::merge(all, std::move(other));
  CHECK(all.groups.size() == 3);
  CHECK(all.nodes.size() == 3);
}

TEST_CASE("merging into nothing changes nothing") {
  data::sharing_report all;
  data::merge(all, one(false, 8, 1));
  CHECK(data::pack(all) == data::pack(one(false, 8, 1)));
}

TEST_CASE("a report survives its way, and a torn one is noticed") {
  const data::sharing_report r = one(true, 7, 1);
  const whywait::base::packet p = data::pack(r);
  CHECK(data::pack(data::unpack_sharing(p.data(), p.size())) == p);
  for (std::size_t size = 0; size < p.size(); size += 7) CHECK_THROWS(data::unpack_sharing(p.data(), size));
}

TEST_CASE("no miss is lost or made by merging many random reports in any order") {
  constexpr std::uint32_t seed = 20261;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round != 50; ++round) {
    whywait::base::vector<data::sharing_report> all;
    std::int64_t misses = 0;
    std::uint64_t granules = 0;
    for (int i = 0; i != 6; ++i) {
      all.push_back(one(random() % 2 == 0, static_cast<std::int64_t>(random() % 11), random() % 4));
      misses += all.back().groups[0].graph.misses();
      granules += all.back().groups[0].granules;
    }
    while (all.size() > 1) {
      const std::size_t a = random() % all.size();
      data::sharing_report taken = std::move(all[a]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(a));
      data::merge(all[random() % all.size()], std::move(taken));
    }
    std::int64_t found = 0;
    std::uint64_t pieces = 0;
    for (const data::sharing_group& g : all[0].groups) {
      found += g.graph.misses();
      pieces += g.granules;
    }
    CHECK(found == misses);
    CHECK(pieces == granules);
  }
}
