#include <whywait/comm/names.hpp>

#include <doctest/doctest.h>

namespace comm = whywait::comm;

TEST_CASE("numbers are written for people") {
  CHECK(comm::detail::grouped(1234567) == "1,234,567");
  CHECK(comm::detail::grouped(-999) == "-999");
  CHECK(comm::detail::grouped(1000) == "1,000");
  CHECK(comm::detail::size_text(512) == "512 B");
  CHECK(comm::detail::size_text(1536) == "1.5 KiB");
  CHECK(comm::detail::size_text(20 << 20) == "20 MiB");
  CHECK(comm::detail::percent_text(0.75) == "75 %");
  CHECK(comm::detail::percent_text(0.004) == "0.4 %");
  CHECK(comm::detail::percent_text(0.00001) == "less than 0.1 %");
  CHECK(comm::detail::percent_text(0.99999) == "over 99.9 %");
  CHECK(comm::detail::percent_text(1) == "100 %");
  CHECK(comm::detail::count_text(1, "rank", "ranks") == "1 rank");
}

TEST_CASE("a class is told as the history of its data") {
  class names final : public comm::naming {
   public:
    std::string data(whywait::core::stable_key) const override { return "u"; }
    std::string place(whywait::core::stable_key k) const override { return "p" + std::to_string(k); }
  };
  comm::class_chain c;
  c.depth = 2;
  c.base[0] = {1, 10, 11, comm::kind_of_region{comm::region_kind::low_side, 0}.code(), 0};
  c.base[1] = {1, 20, 21, 0, 0};
  c.end = comm::origin_kind::produced;
  c.producer = 5;
  CHECK(comm::data_text(c.base[0], names()) == "`u` (low side of dimension 0)");
  CHECK(comm::origin_text(c, names()) == "received at p21, produced by `p5`");
  c.depth = 1;
  c.end = comm::origin_kind::init;
  CHECK(comm::origin_text(c, names()) == "there from the beginning");
}
