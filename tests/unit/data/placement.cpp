#include "ranks.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/examine.hpp>

#include <doctest/doctest.h>

using namespace ranks;

namespace {

struct table_row {
  std::uint64_t n, parts;
  data::dimension_map data, loop;
  double identity, stencil;
};

double share(const table_row& row, const whywait::base::vector<whywait::base::vector<std::int64_t>>& offsets) {
  data::access_pattern f;
  f.kind = data::access_kind::offsets;
  f.offsets = offsets;
  const data::index_space space{{row.n}};
  return data::count_remote(data::distribution({row.data}), data::distribution({row.loop}), f, space, space).share();
}

class names final : public data::naming {
 public:
  std::string data(core::stable_key k) const override { return k == key("u") ? "u" : k == key("v") ? "v" : "?"; }
  std::string place(core::stable_key k) const override {
    return k == key("update") ? "update" : k == key("fill") ? "fill" : "?";
  }
};

// Rank r of 4 writes `u` (n elements of 8 bytes, allocated completely on every rank) as distributed by `data` and
// updates `v` from it in a loop distributed by `loop`.
data::placement_report loop_over(std::uint64_t n, const data::dimension_map& data, const data::dimension_map& loop,
                                 bool stencil) {
  program p(4);
  const auto u = p.object("u", {n}, 8), v = p.object("v", {n}, 8);
  for (std::uint64_t i = 0; i != n; ++i) {
    const auto owner = static_cast<std::int32_t>(data.part_of(i)), runs = static_cast<std::int32_t>(loop.part_of(i));
    p.write(owner, "fill", u, {8 * i, 8 * i + 8, 0, 0});
    p.write(runs, "update", v, {8 * i, 8 * i + 8, 0, 0});
    const std::uint64_t low = stencil && i != 0 ? i - 1 : i, high = stencil && i + 1 != n ? i + 2 : i + 1;
    p.read(runs, "update", u, {8 * low, 8 * high, 0, 0});
  }
  explain::simulated_transport transport(4);
  return data::examine(transport, p.finished());
}

}  // namespace

TEST_CASE("the share of remote accesses is that of the table, for 16 indices on 4 ranks") {
  const auto block = data::block_map(16, 4), cyclic = data::cyclic_map(16, 4), two = data::cyclic_map(16, 4, 2);
  const table_row table[] = {{16, 4, block, block, 0, 6. / 46},
                             {16, 4, block, cyclic, 0.75, 34. / 46},
                             {16, 4, block, two, 0.75, 34. / 46},
                             {16, 4, cyclic, cyclic, 0, 30. / 46},
                             {16, 4, two, two, 0, 14. / 46}};
  for (const table_row& row : table) {
    CHECK(share(row, {{0}}) == doctest::Approx(row.identity).epsilon(1e-12));
    CHECK(share(row, {{-1}, {0}, {1}}) == doctest::Approx(row.stencil).epsilon(1e-12));
  }
}

TEST_CASE("the share of remote accesses is that of the table, for 1024 indices on 8 ranks") {
  for (const std::uint64_t b : {1u, 4u, 16u, 64u, 128u}) {
    const table_row row{1024, 8, data::block_map(1024, 8), data::cyclic_map(1024, 8, b), b == 128 ? 0 : 0.875, 0};
    CHECK(share(row, {{0}}) == doctest::Approx(row.identity).epsilon(1e-12));
  }
}

TEST_CASE("a cyclic loop over block-distributed data gets the advice to run in blocks") {
  const auto r = loop_over(16, data::block_map(16, 4), data::cyclic_map(16, 4), true);
  REQUIRE(r.better.size() == 1);
  CHECK(r.better[0].change == data::placement_change::schedule);
  CHECK(data::placement_text(r, r.better[0], names()) ==
        "loop `update` runs cyclic over `u`, which is block-distributed: 74 % of accesses are remote; a block schedule "
        "makes it 13 %");
  const auto plain = loop_over(16, data::block_map(16, 4), data::cyclic_map(16, 4), false);
  REQUIRE(plain.better.size() == 1);
  CHECK(data::placement_text(plain, plain.better[0], names()) ==
        "loop `update` runs cyclic over `u`, which is block-distributed: 75 % of accesses are remote; a block schedule "
        "makes it 0 %");
}

TEST_CASE("data and loop that agree but are wrong for the stencil are both to be changed") {
  const auto r = loop_over(64, data::cyclic_map(64, 4), data::cyclic_map(64, 4), true);
  REQUIRE(r.better.size() == 1);
  CHECK(r.better[0].change == data::placement_change::both);
  CHECK(r.better[0].moved_bytes == 64 * 8 * 3 / 4);
  CHECK(data::placement_text(r, r.better[0], names()) ==
        "loop `update` runs cyclic over `u`, which is cyclic-distributed: 66 % of accesses are remote; a block "
        "schedule over `u`, "
        "block-distributed, makes it 3.2 %, moving 384 bytes once");
}

TEST_CASE("improvements of less than a tenth are not reported") {
  CHECK(loop_over(64, data::block_map(64, 4), data::block_map(64, 4), true).better.empty());
  CHECK(loop_over(64, data::cyclic_map(64, 4, 8), data::cyclic_map(64, 4, 8), true).better.empty());
}

TEST_CASE("a schedule that suits one array is not advised if another array pays for it") {
  const auto loop = [](unsigned against) {
    whywait::base::vector<data::placed_array> arrays;
    const data::index_space space{{64}};
    for (unsigned a = 0; a != 1 + against; ++a) {
      arrays.push_back({a + 1, space, 8, data::distribution({a == 0 ? data::block_map(64, 4) : data::cyclic_map(64, 4)}), 1});
    }
    const whywait::base::vector<data::placed_loop> loops = {{9, space, data::distribution({data::cyclic_map(64, 4)}), 1}};
    whywait::base::vector<data::array_use> uses;
    for (std::size_t a = 0; a != arrays.size(); ++a) {
      data::array_use u;
      u.array = a;
      u.access.kind = data::access_kind::offsets;
      u.access.offsets = {{0}};
      u.remote = data::count_remote(arrays[a].placed, loops[0].schedule, u.access, space, space);
      uses.push_back(u);
    }
    return data::improve_placement(arrays, loops, uses, {0, 1, 2, 3});
  };
  REQUIRE(loop(0).size() == 1);
  CHECK(loop(0)[0].change == data::placement_change::schedule);
  REQUIRE(loop(2).size() == 1);
  CHECK(loop(2)[0].change == data::placement_change::data);
}

TEST_CASE("a loop over columns of an array in blocks of rows is recognised") {
  program p(4);
  const auto u = p.object("u", {16, 16}, 8);
  for (int r = 0; r != 4; ++r) {
    const auto first = static_cast<std::uint64_t>(r) * 4;
    p.write(r, "fill", u, {first * 128, first * 128 + 512, 0, 0});
    auto& loop = p.add(r, core::data_op::iterations, "update", 0, {first, first + 4, 0, 0});
    loop.stride = 0;
    p.read(r, "update", u, {first * 8, 2048 - 128 + first * 8 + 32, 128, 32});
  }
  explain::simulated_transport transport(4);
  const auto report = data::examine(transport, p.finished());
  REQUIRE(report.uses.size() == 1);
  CHECK(report.uses[0].access.text() == "slices of dimension 1");
  CHECK(report.arrays[0].placed.text() == "(block, *)");
  CHECK(report.loops[0].schedule.text() == "block");
  CHECK(report.uses[0].remote.share() == doctest::Approx(0.75));
  CHECK(report.uses[0].measured_remote == doctest::Approx(0.75));
  REQUIRE(report.better.size() == 1);
  CHECK(data::placement_text(report, report.better[0], names()) ==
        "loop `update` runs block over `u`, which is distributed (block, *): 75 % of accesses are remote; `u` "
        "distributed (*, block) "
        "makes it 0 %, moving 1.50 KiB once");
}

TEST_CASE("a declared distribution or schedule is taken as it is") {
  program p(2);
  const auto u = p.object("u", {8}), v = p.object("v", {8});
  for (int r = 0; r != 2; ++r) {
    p.read(r, "update", u, {4u * static_cast<unsigned>(r), 4u * static_cast<unsigned>(r) + 4, 0, 0});
    p.write(r, "update", v, {4u * static_cast<unsigned>(r), 4u * static_cast<unsigned>(r) + 4, 0, 0});
  }
  explain::simulated_transport transport(2);
  const auto guess = data::examine(transport, p.finished());
  CHECK(guess.uses[0].remote.share() == 0);
  const auto told = data::examine(transport, p.finished(), {{key("u"), data::distribution({data::cyclic_map(8, 2)})}});
  CHECK(told.uses[0].remote.share() == doctest::Approx(0.5));
  CHECK(told.better.size() == 1);
}
