#include <whywait/models/sensitivity.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::near;

TEST_CASE("the gain from every station and class matches differences and sums to the mean") {
  network net;
  net.add({station::kind::delay}, {0.5, 0.5}).add({}, {2.0, 0.6}).add({station::kind::multi, 2}, {0.4, 1.2});
  control_graph g = control_graph()
                        .add("s", "a.b.c", "", "cpu")
                        .add("a", "e", "s", "cpu")
                        .add("b", "e", "s", "io")
                        .add("c", "f", "s", "io")
                        .add("e", "", "a.b", "io")
                        .add("f", "s2|1/4", "c", "cpu")
                        .add("s2", "", "f", "io");
  g.classes = {"cpu", "io"};
  const chain c = generate(compile(g));
  auto mean = [&](const network& n) {
    std::vector<std::uint32_t> most = c.largest();
    return solve(c, {machine::of(n, most), {}}).mean;
  };
  const std::vector<std::vector<double>> gradient = demand_gradient(c, net);
  double sum = 0.0;
  for (std::size_t s = 0; s != 3; ++s)
    for (std::size_t k = 0; k != 2; ++k) {
      network up = net, down = net;
      up.demand[s][k] *= std::exp(1e-5);
      down.demand[s][k] *= std::exp(-1e-5);
      CHECK(std::fabs((mean(up) - mean(down)) / 2e-5 - gradient[s][k]) < 1e-7);
      sum += gradient[s][k];
    }
  CHECK(near(sum, mean(net), 1e-12));
}
