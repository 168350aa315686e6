#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/ownership.hpp>

#include <doctest/doctest.h>

#include <random>

namespace data = whywait::data;
using data::origin;
using data::origin_kind;

TEST_CASE("intervals equal a state per byte") {
  for (std::uint64_t seed = 1; seed != 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    data::ownership o(100);
    whywait::base::vector<data::byte_state> plain(100);
    for (std::uint32_t step = 1; step != 60; ++step) {
      data::region r{pick(0, 60), pick(61, 100), 0, 0};
      whywait::core::byte_list::piece pieces[40];
      whywait::core::byte_list list{pieces, 0, 0};
      const std::uint64_t shape = pick(0, 2);
      if (shape == 0) r.stride = pick(2, 9), r.piece = pick(1, r.stride - 1);
      if (shape == 1) {
        for (std::uint64_t p = 0; p < r.end - r.begin; p = pieces[list.count++].end + pick(1, 9))
          pieces[list.count] = {p, p + pick(1, 9)};
        r.list = &list;
      }
      const bool reads = pick(0, 2) == 0;
      const data::byte_state state{origin(origin_kind::produced, static_cast<std::uint32_t>(pick(0, 3))), 0, step, 0,
                                   pick(0, 1) == 0};
      std::uint64_t unread = 0, found = 0;
      data::for_each_piece(r, [&](std::uint64_t begin, std::uint64_t end) {
        for (; begin != end; ++begin) {
          data::byte_state& b = plain[static_cast<std::size_t>(begin)];
          unread += b.unread ? 1 : 0;
          if (reads) b.unread = false;
          else b = state;
        }
      });
      if (reads) {
        o.read(r, [&found](std::uint64_t bytes, const data::byte_state&) { found += bytes; });
        CHECK(found == unread);
      } else {
        o.assign(r, state);
      }
      std::uint64_t at = 0;
      o.visit({0, 100, 0, 0}, [&](std::uint64_t begin, std::uint64_t end, const data::byte_state& s) {
        CHECK(begin == at);
        bool same = true;
        for (; at != end; ++at) {
          const data::byte_state& b = plain[static_cast<std::size_t>(at)];
          same = same && s.alike(b) && s.stamp == b.stamp;
        }
        CHECK(same);
      });
      CHECK(at == 100);
    }
    CHECK_FALSE(o.coarse());
  }
}

TEST_CASE("a history that is too fine becomes coarse, keeps its bound and is marked") {
  data::ownership o(100000, 64);
  for (std::uint32_t i = 0; i != 5000; ++i) {
    o.assign({20 * i, 20 * i + 10, 0, 0}, {origin(origin_kind::produced, i % 7), 0, i + 1, 0, false});
    CHECK(o.intervals() <= 64 + 2);
  }
  CHECK(o.coarse());
  const auto all = o.look({0, 100000, 0, 0});
  CHECK(all.state.from.kind() == origin_kind::mixed);
  CHECK(all.state.stamp == 5000);
}

TEST_CASE("writing all of an array forgets its intervals") {
  data::ownership o(1000);
  o.assign({0, 1000, 10, 5}, {origin(origin_kind::produced, 1), 0, 1, 0, false});
  CHECK(o.intervals() == 200);
  o.assign({0, 1000, 0, 0}, {origin(origin_kind::produced, 2), 0, 2, 0, false});
  CHECK(o.intervals() == 1);
}
