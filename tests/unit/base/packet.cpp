#include <whywait/base/packet.hpp>

#include <doctest/doctest.h>

#include <cstdint>

TEST_CASE("a packet returns its content, and a truncated one throws") {
  using namespace whywait::base;
  using namespace whywait::base;
  packet p;
  put(p, std::uint8_t{7});
  put(p, std::int64_t{-5});
  packet_reader in(p.data(), p.size());
  CHECK(in.get<std::uint8_t>() == 7);
  CHECK(in.get<std::int64_t>() == -5);
  CHECK(in.empty());
  packet_reader cut(p.data(), p.size() - 1);
  cut.get<std::uint8_t>();
  CHECK_THROWS_AS(cut.get<std::int64_t>(), std::out_of_range);
  CHECK_THROWS_AS(cut.skip(100), std::out_of_range);
}
