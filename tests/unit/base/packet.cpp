#include <whywait/base/packet.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>

TEST_CASE("a packet returns its content, and a truncated one throws") {
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

TEST_CASE("texts and lists travel with their lengths, and every truncation throws") {
  using namespace whywait::base;
  packet p;
  put_text(p, "halo.cpp");
  put_text(p, "");
  put_all(p, pod_vector<std::int32_t>(3, 7));
  const auto read = [&p](std::size_t size) {
    packet_reader in(p.data(), size);
    CHECK(in.text() == "halo.cpp");
    CHECK(in.text().empty());
    pod_vector<std::int32_t> list;
    get_all(in, list);
    CHECK(list == pod_vector<std::int32_t>(3, 7));
    CHECK(in.empty());
  };
  read(p.size());
  for (std::size_t size = 0; size < p.size(); ++size) {
    packet_reader in(p.data(), size);
    pod_vector<std::int32_t> list;
    CHECK_THROWS_AS((in.text(), in.text(), get_all(in, list)), std::out_of_range);
  }
}
