#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/access_pattern.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <set>

namespace data = whywait::data;

namespace {

// A loop whose iterations are distributed, with the elements that each rank then accesses.
struct dealt {
  std::deque<data::index_set> iterations, elements;

  template <class Touch>
  dealt(const data::index_space& loop, const data::distribution& schedule, std::int32_t ranks, Touch&& touch)
      : iterations(static_cast<std::size_t>(ranks)), elements(static_cast<std::size_t>(ranks)) {
    for (std::uint64_t i = 0; i != loop.size(); ++i) {
      const auto r = static_cast<std::size_t>(schedule.owner(i));
      iterations[r].add({i, 1, 0, 1});
      touch(i, [&](std::uint64_t e) { elements[r].add({e, 1, 0, 1}); });
    }
    for (auto& s : iterations) s.settle();
    for (auto& s : elements) s.settle();
  }
  data::access_pattern infer(const data::index_space& loop, const data::index_space& array) const {
    whywait::base::pod_vector<data::rank_access> list;
    for (std::size_t r = 0; r != iterations.size(); ++r)
      list.push_back({static_cast<std::int32_t>(r), &iterations[r], &elements[r]});
    return data::infer_access(loop, array, list);
  }
};

data::access_pattern line(std::uint64_t n, const data::dimension_map& schedule, whywait::base::vector<std::int64_t> offsets) {
  const data::index_space space{{n}};
  return dealt(space, data::distribution({schedule}), static_cast<std::int32_t>(schedule.parts),
               [&](std::uint64_t i, auto&& touch) {
                 for (const std::int64_t o : offsets) {
                   std::uint64_t e = 0;
                   if (data::shifted(space, i, {o}, e)) touch(e);
                 }
               })
      .infer(space, space);
}

}  // namespace

TEST_CASE("loops that access their own index are contiguous for any schedule") {
  CHECK(line(64, data::block_map(64, 4), {0}).text() == "contiguous");
  CHECK(line(64, data::cyclic_map(64, 4), {0}).text() == "contiguous");
}

TEST_CASE("stencils are found with their offsets") {
  CHECK(line(64, data::block_map(64, 4), {-1, 0, 1}).text() == "stencil with offsets -1, 0, 1");
  CHECK(line(64, data::cyclic_map(64, 8), {-1, 0, 1}).text() == "stencil with offsets -1, 0, 1");
  CHECK(line(64, data::cyclic_map(64, 8), {-1, 1}).text() == "stencil with offsets -1, 1");
  CHECK(line(64, data::cyclic_map(64, 16), {0, 2}).text() == "stencil with offsets 0, 2");
  CHECK(line(64, data::block_map(64, 4), {3}).text() == "stencil with offsets 3");
}

TEST_CASE("a star and a box of two dimensions are distinguished") {
  const data::index_space space{{12, 12}};
  const data::distribution blocks({data::block_map(12, 2), data::block_map(12, 2)});
  const auto stencil = [&](bool corners) {
    return dealt(space, blocks, 4,
                 [&](std::uint64_t i, auto&& touch) {
                   for (std::int64_t y = -1; y <= 1; ++y) {
                     for (std::int64_t x = -1; x <= 1; ++x) {
                       std::uint64_t e = 0;
                       if ((corners || x == 0 || y == 0) && data::shifted(space, i, {y, x}, e)) touch(e);
                     }
                   }
                 })
        .infer(space, space);
  };
  CHECK(stencil(false).text() == "stencil with offsets (-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)");
  // With one block per rank only the corner distinguishes them; one of the four is enough for a rank.
  const auto box = stencil(true);
  CHECK(box.kind == data::access_kind::offsets);
  CHECK(box.offsets.size() == 9);
}

TEST_CASE("transposed, strided, sliced, broadcast and indirect walks have their names") {
  const data::index_space square{{8, 12}}, turned{{12, 8}}, loop{{16}}, long_line{{64}}, matrix{{16, 10}};
  const data::distribution rows({data::block_map(8, 4), {12, 1, 12, {}}}), blocks({data::block_map(16, 4)});
  CHECK(
      dealt(square, rows, 4, [](std::uint64_t i, auto&& touch) { touch(i % 12 * 8 + i / 12); }).infer(square, turned).text() ==
      "transposed");
  CHECK(dealt(loop, blocks, 4, [](std::uint64_t i, auto&& touch) { touch(4 * i + 2); }).infer(loop, long_line).text() ==
        "strided(4)");
  CHECK(dealt(loop, blocks, 4,
              [](std::uint64_t i, auto&& touch) {
                for (std::uint64_t j = 0; j != 10; ++j) touch(i * 10 + j);
              })
            .infer(loop, matrix)
            .text() == "slices of dimension 0");
  const auto wide = dealt(loop, blocks, 4, [](std::uint64_t i, auto&& touch) {
    for (std::uint64_t j = 0; j != 10; ++j) {
      touch(i * 10 + j);
      if (i != 0) touch(i * 10 - 10 + j);
    }
  });
  CHECK(wide.infer(loop, matrix).text() == "stencil over dimension 0 with offsets -1, 0");
  CHECK(dealt(loop, blocks, 4,
              [](std::uint64_t, auto&& touch) {
                for (std::uint64_t e = 0; e != 64; ++e) touch(e);
              })
            .infer(loop, long_line)
            .text() == "broadcast read");
  CHECK(dealt(loop, blocks, 4, [](std::uint64_t i, auto&& touch) { touch(i * i % 61); }).infer(loop, long_line).text() ==
        "indirect");
}

TEST_CASE("in random loops the inferred function accesses exactly the recorded elements") {
  int functions = 0;
  for (std::uint64_t seed = 1; seed != 150; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const bool flat = pick(0, 1) == 0;
    const data::index_space space = flat ? data::index_space{{pick(20, 120)}} : data::index_space{{pick(6, 14), pick(6, 14)}};
    const std::uint64_t parts = pick(1, 4);
    whywait::base::vector<data::dimension_map> maps;
    for (std::size_t d = 0; d != space.extent.size(); ++d) {
      const std::uint64_t n = space.extent[d];
      maps.push_back(d != 0            ? data::dimension_map{n, 1, n, {}}
                     : pick(0, 1) == 0 ? data::block_map(n, parts)
                                       : data::cyclic_map(n, parts, pick(1, 3)));
    }
    std::set<whywait::base::vector<std::int64_t>> offsets;
    for (std::uint64_t n = pick(1, 4); n != 0; --n) {
      whywait::base::vector<std::int64_t> o;
      for (std::size_t d = 0; d != space.extent.size(); ++d) o.push_back(static_cast<std::int64_t>(pick(0, 4)) - 2);
      offsets.insert(o);
    }
    const dealt truth(space, data::distribution(maps), static_cast<std::int32_t>(parts), [&](std::uint64_t i, auto&& touch) {
      for (const auto& o : offsets) {
        std::uint64_t e = 0;
        if (data::shifted(space, i, o, e)) touch(e);
      }
    });
    const data::access_pattern f = truth.infer(space, space);
    if (f.kind == data::access_kind::broadcast_read) continue;
    REQUIRE(f.kind == data::access_kind::offsets);
    ++functions;
    const dealt again(space, data::distribution(maps), static_cast<std::int32_t>(parts), [&](std::uint64_t i, auto&& touch) {
      for (const auto& o : f.offsets) {
        std::uint64_t e = 0;
        if (data::shifted(space, i, o, e)) touch(e);
      }
    });
    for (std::size_t r = 0; r != truth.elements.size(); ++r) CHECK(again.elements[r] == truth.elements[r]);
  }
  CHECK(functions > 100);
}
