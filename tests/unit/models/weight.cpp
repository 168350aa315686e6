#include <whywait/models/weight.hpp>

#include <doctest/doctest.h>

using whywait::models::weight;

TEST_CASE("three thirds are one") {
  const weight third(1, 3);
  CHECK((third + third + third).is_one());
  CHECK((weight(1, 1) - third - third) == third);
  CHECK((weight(3, 4) / weight(3, 2)) == weight(1, 2));
  CHECK(weight(6, 8).text() == "3/4");
}

TEST_CASE("a product too long for 64 bits becomes approximate and stays right") {
  weight w(1, 1);
  double d = 1.0;
  for (int i = 0; i != 8; ++i) {
    w = w * weight(778423745327570, 1000000000000000);
    d *= 0.778423745327570;
  }
  CHECK_FALSE(w.exact());
  CHECK(w.value() == doctest::Approx(d).epsilon(1e-14));
  CHECK((w + weight(1, 2)).value() == doctest::Approx(d + 0.5).epsilon(1e-14));
}

TEST_CASE("a tiny exit keeps all its digits") {
  const weight leave(1, std::int64_t(1) << 50);
  CHECK((weight(1, 1) - (weight(1, 1) - leave)) == leave);
}
