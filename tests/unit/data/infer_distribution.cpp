#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/infer_distribution.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>

namespace data = whywait::data;

namespace {

// The sets that the ranks of an owner function write, element by element.
whywait::base::vector<data::index_set> written(const data::index_space& space, const data::distribution& d,
                                               std::int32_t ranks) {
  whywait::base::vector<data::index_set> out(static_cast<std::size_t>(ranks));
  for (std::uint64_t e = 0; e != space.size(); ++e) {
    if (d.owner(e) >= 0) out[static_cast<std::size_t>(d.owner(e))].add({e, 1, 0, 1});
  }
  for (data::index_set& s : out) s.settle();
  return out;
}

data::inferred_distribution infer(const data::index_space& space, const whywait::base::vector<data::index_set>& sets) {
  whywait::base::pod_vector<data::rank_set> list;
  for (std::size_t r = 0; r != sets.size(); ++r) list.push_back({static_cast<std::int32_t>(r), &sets[r]});
  return data::infer_distribution(space, list);
}

}  // namespace

TEST_CASE("block, cyclic and block-cyclic are inferred from the writes of the ranks") {
  const data::index_space line{{1024}};
  for (const auto& map : {data::block_map(1024, 8), data::cyclic_map(1024, 8), data::cyclic_map(1024, 8, 4),
                          data::cyclic_map(1024, 8, 64), data::block_map(1000, 7), data::cyclic_map(1000, 7, 9)}) {
    const data::index_space space{{map.extent}};
    const auto out = infer(space, written(space, data::distribution({map}), static_cast<std::int32_t>(map.parts)));
    CHECK(out.found.text() == map.text());
    CHECK(out.agreement == 1);
  }
}

TEST_CASE("arrays of several dimensions are distributed by each on a grid of ranks") {
  const data::index_space space{{12, 20}};
  const data::distribution grid({data::block_map(12, 2), data::cyclic_map(20, 4)}),
      rows({data::block_map(12, 3), {20, 1, 20, {}}});
  CHECK(infer(space, written(space, grid, 8)).found.text() == "(block, cyclic) on 2 x 4 ranks");
  CHECK(infer(space, written(space, rows, 3)).found.text() == "(block, *)");
  // ranks in column-major order
  const data::distribution turned({data::block_map(12, 2), data::block_map(20, 2)}, {0, 2, 1, 3});
  const auto out = infer(space, written(space, turned, 4));
  CHECK(out.found.text() == "(block, block) on 2 x 2 ranks");
  CHECK(out.found.owner(10) == 2);
}

TEST_CASE("blocks that differ by one, as most programs deal out a remainder, are blocks") {
  whywait::base::vector<data::index_set> sets(4);
  for (const auto& part : {std::make_pair(0, 3), std::make_pair(3, 6), std::make_pair(6, 8), std::make_pair(8, 10)}) {
    sets[part.first < 6 ? static_cast<std::size_t>(part.first / 3) : static_cast<std::size_t>(part.first / 2 - 1)].add(
        {static_cast<std::uint64_t>(part.first), static_cast<std::uint64_t>(part.second - part.first), 0, 1});
  }
  for (auto& s : sets) s.settle();
  const auto out = infer({{10}}, sets);
  CHECK(out.found.text() == "block");
  CHECK(out.found.owner(7) == 2);
  CHECK(out.found.owner(8) == 3);
}

TEST_CASE("an array that all ranks write is replicated, and one without a rule is irregular") {
  whywait::base::vector<data::index_set> same(3), odd(2);
  for (auto& s : same) s.add({0, 10, 0, 1});
  for (const std::uint64_t e : {0u, 1u, 4u, 6u}) odd[0].add({e, 1, 0, 1});
  for (const std::uint64_t e : {2u, 3u, 5u, 6u, 7u}) odd[1].add({e, 1, 0, 1});
  for (auto& s : same) s.settle();
  for (auto& s : odd) s.settle();
  CHECK(infer({{10}}, same).found.kind() == data::distribution_kind::replicated);
  const auto out = infer({{10}}, odd);
  CHECK(out.found.kind() == data::distribution_kind::irregular);
  CHECK(out.found.owner(5) == 1);
  CHECK(out.found.owner(6) == 0);
  CHECK(out.found.owner(9) == data::distribution::nobody);
  CHECK(out.agreement == doctest::Approx(8. / 9));
}

TEST_CASE("one cell in a hundred may be elsewhere, more may not") {
  auto sets = written({{400}}, data::distribution({data::block_map(400, 4)}), 4);
  sets[0].add({100, 4, 0, 1});
  sets[0].settle();
  CHECK(infer({{400}}, sets).found.text() == "block");
  sets[0].add({200, 50, 0, 1});
  sets[0].settle();
  CHECK(infer({{400}}, sets).found.text() == "irregular");
}

TEST_CASE("the inferred owners equal a table of all cells") {
  for (std::uint64_t seed = 1; seed != 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const data::index_space space =
        pick(0, 1) == 0 ? data::index_space{{pick(8, 200)}} : data::index_space{{pick(4, 20), pick(4, 20)}};
    whywait::base::vector<data::dimension_map> maps;
    std::uint64_t cells = 1;
    for (const std::uint64_t n : space.extent) {
      const std::uint64_t parts = pick(1, 4), kind = pick(0, 2);
      maps.push_back(parts == 1  ? data::dimension_map{n, 1, n, {}}
                     : kind == 0 ? data::block_map(n, parts)
                                 : data::cyclic_map(n, parts, kind == 1 ? 1 : pick(1, 3)));
      cells *= parts;
    }
    whywait::base::vector<std::int32_t> ranks;
    for (std::uint64_t c = 0; c != cells; ++c) ranks.push_back(static_cast<std::int32_t>(c));
    std::shuffle(ranks.begin(), ranks.end(), random);
    whywait::base::vector<std::int32_t> table;
    const data::distribution truth(maps, ranks);
    for (std::uint64_t e = 0; e != space.size(); ++e) table.push_back(truth.owner(e));
    if (pick(0, 3) == 0) {
      for (std::int32_t& owner : table) owner = static_cast<std::int32_t>(pick(0, cells - 1));  // arbitrary owners
    }
    whywait::base::vector<data::index_set> sets(static_cast<std::size_t>(cells));
    for (std::uint64_t e = 0; e != space.size(); ++e)
      sets[static_cast<std::size_t>(table[static_cast<std::size_t>(e)])].add({e, 1, 0, 1});
    for (auto& s : sets) s.settle();
    const auto out = infer(space, sets);
    double right = 0;
    for (std::uint64_t e = 0; e != space.size(); ++e) right += out.found.owner(e) == table[static_cast<std::size_t>(e)] ? 1 : 0;
    CHECK(right / static_cast<double>(space.size()) == doctest::Approx(out.agreement).epsilon(1e-9));
    CHECK(out.agreement >= 0.99);
  }
}
