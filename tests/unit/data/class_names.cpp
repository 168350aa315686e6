#include <whywait/data/analysis/class_names.hpp>

#include <doctest/doctest.h>

namespace data = whywait::data;

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
