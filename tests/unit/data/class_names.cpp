#include <whywait/data/analysis/class_names.hpp>

#include <doctest/doctest.h>

namespace data = whywait::data;

TEST_CASE("numbers are written for people") {
  CHECK(data::detail::grouped(1234567) == "1,234,567");
  CHECK(data::detail::grouped(-999) == "-999");
  CHECK(data::detail::grouped(1000) == "1,000");
  CHECK(data::detail::size_text(512) == "512 B");
  CHECK(data::detail::size_text(1536) == "1.5 KiB");
  CHECK(data::detail::size_text(20 << 20) == "20 MiB");
  CHECK(data::detail::percent_text(0.75) == "75 %");
  CHECK(data::detail::percent_text(0.004) == "0.4 %");
  CHECK(data::detail::percent_text(0.00001) == "less than 0.1 %");
  CHECK(data::detail::percent_text(0.99999) == "over 99.9 %");
  CHECK(data::detail::percent_text(1) == "100 %");
  CHECK(data::detail::count_text(1, "rank", "ranks") == "1 rank");
}

TEST_CASE("a class is described as the history of its data") {
  class names final : public data::naming {
   public:
    std::string data(whywait::core::stable_key) const override { return "u"; }
    std::string place(whywait::core::stable_key k) const override { return "p" + std::to_string(k); }
  };
  data::class_chain c;
  c.depth = 2;
  c.base[0] = {1, 10, 11, data::kind_of_region{data::region_kind::low_side, 0}.code(), 0};
  c.base[1] = {1, 20, 21, 0, 0};
  c.end = data::origin_kind::produced;
  c.producer = 5;
  CHECK(data::data_text(c.base[0], names()) == "`u` (low side of dimension 0)");
  CHECK(data::origin_text(c, names()) == "received at p21, produced by `p5`");
  c.depth = 1;
  c.end = data::origin_kind::init;
  CHECK(data::origin_text(c, names()) == "there from the beginning");
}
