#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_totals.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace data = whywait::data;

namespace {

data::classified of_rank(std::mt19937_64& random, std::int32_t rank) {
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  data::classified out;
  out.ranks = 1;
  out.unmatched = pick(0, 3);
  for (std::int64_t n = pick(0, 6); n != 0; --n) {
    data::transfer_class c;
    c.chain.depth = 1;
    c.chain.base[0].data = static_cast<std::uint64_t>(pick(1, 3));
    c.chain.end = pick(0, 1) == 0 ? data::origin_kind::init : data::origin_kind::mixed;
    c.chain.loop = pick(0, 5) == 0;
    c.sums.count = pick(1, 9);
    c.sums.bytes = pick(1, 999);
    c.sums.most_hops = pick(1, 9);
    c.sums.receivers = 1;
    c.senders.add(static_cast<std::int32_t>(pick(0, 5)), c.sums.count);
    c.receivers.add(rank, c.sums.count);
    out.classes.push_back(c);
  }
  out.mixed.push_back({1, 2, 3, pick(1, 99), 0, data::origin_kind::init});
  return out;
}

}  // namespace

TEST_CASE("the order of merging changes nothing, and a packet is read as it was written") {
  for (std::uint64_t seed = 1; seed != 60; ++seed) {
    CAPTURE(seed);
    whywait::base::vector<std::size_t> order = {0, 1, 2, 3, 4};
    const auto merged = [&] {
      std::mt19937_64 random(seed);
      whywait::base::vector<data::classified> ranks;
      for (std::int32_t r = 0; r != 5; ++r) ranks.push_back(of_rank(random, r));
      data::classified all;
      for (const std::size_t r : order) {
        const auto packet = ranks[r].pack();
        all.merge(data::classified::unpack(packet.data(), packet.size()));
      }
      all.present();
      return all;
    };
    const data::classified a = merged();
    std::mt19937_64 shuffle(seed);
    std::shuffle(order.begin(), order.end(), shuffle);
    const data::classified b = merged();
    REQUIRE(a.classes.size() == b.classes.size());
    CHECK(a.ranks == 5);
    CHECK(a.unmatched == b.unmatched);
    REQUIRE(a.mixed.size() == 1);
    CHECK(a.mixed[0].bytes == b.mixed[0].bytes);
    for (std::size_t i = 0; i != a.classes.size(); ++i) {
      CHECK(a.classes[i].key() == b.classes[i].key());
      CHECK(a.classes[i].chain.loop == b.classes[i].chain.loop);
      CHECK(a.classes[i].sums.count == b.classes[i].sums.count);
      CHECK(a.classes[i].sums.bytes == b.classes[i].sums.bytes);
      CHECK(a.classes[i].sums.most_hops == b.classes[i].sums.most_hops);
      std::int64_t sent = 0;
      for (const auto& s : a.classes[i].senders.list()) sent += s.count;
      CHECK(sent == a.classes[i].sums.count);
    }
  }
}

TEST_CASE("of many ranks the busiest are named and the others summed up") {
  data::rank_counts all;
  for (std::int32_t r = 0; r != 100; ++r) all.add(r, 1);
  CHECK(all.list().size() == data::rank_counts::most + 1);
  CHECK(all.list().back().rank == -1);
  CHECK(all.list().back().count == 100 - static_cast<std::int64_t>(data::rank_counts::most));
}

TEST_CASE("a truncated packet is refused") {
  std::mt19937_64 random(1);
  auto packet = of_rank(random, 0).pack();
  packet.resize(packet.size() - 3);
  CHECK_THROWS_AS(data::classified::unpack(packet.data(), packet.size()), std::out_of_range);
}
