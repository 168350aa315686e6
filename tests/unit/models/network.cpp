#include <whywait/models/machine.hpp>
#include <whywait/models/network.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::near;
using test::number_of_error;

TEST_CASE("a pure delay and a huge population neither overflow nor vanish") {
  network think;
  think.add({station::kind::delay}, {3.0});
  const std::vector<double> x = throughput(think, 2000);
  CHECK(near(x[1999], 2000.0 / 3.0));
  think.add({}, {0.001});
  CHECK(near(throughput(think, 2000)[0], 1.0 / 3.001));
}

TEST_CASE("scaling all demands scales the throughput") {
  network a, b;
  for (const double d : {0.4, 1.7, 0.9}) {
    a.add({}, {d});
    b.add({}, {d * 1e-7});
  }
  const std::vector<double> x = throughput(a, 50), y = throughput(b, 50);
  for (std::size_t k = 0; k != x.size(); ++k) CHECK(near(x[k] * 1e7, y[k]));
}

TEST_CASE("two equal chains behave as one") {
  network two, one;
  const station pair{station::kind::multi, 2};
  two.add({}, {0.5, 0.5}).add(pair, {1.5, 1.5}).add({station::kind::delay}, {2.0, 2.0});
  one.add({}, {0.5}).add(pair, {1.5}).add({station::kind::delay}, {2.0});
  const lattice l(two, {4, 5});
  const std::vector<double> x = throughput(one, 9);
  for (std::uint32_t i = 0; i <= 4; ++i)
    for (std::uint32_t j = 0; j <= 5; ++j) {
      if (i + j == 0) continue;
      const std::uint32_t n[] = {i, j};
      CHECK(near(l.throughput(n, 0) + l.throughput(n, 1), x[i + j - 1]));
      if (i != 0) CHECK(near(l.throughput(n, 0), x[i + j - 1] * i / (i + j)));
    }
}

TEST_CASE("the customers at all stations are all customers, and their differences are the elasticities") {
  network net;
  net.add({}, {1.0, 0.2}).add({station::kind::multi, 2}, {0.3, 1.5}).add({station::kind::delay}, {2.0, 4.0});
  const lattice l(net, {4, 3});
  const std::uint32_t n[] = {4, 3}, fewer[] = {3, 3};
  for (std::size_t c = 0; c != 2; ++c) {
    double sum = 0.0;
    for (std::size_t s = 0; s != 3; ++s) sum += l.mean_customers(net, s, c)[l.index(n)];
    CHECK(near(sum, n[c]));
  }
  for (std::size_t s = 0; s != 3; ++s) {
    const std::vector<double> q = l.mean_customers(net, s, 1);
    network up = net, down = net;
    up.demand[s][1] *= 1.0 + 1e-5;
    down.demand[s][1] *= 1.0 - 1e-5;
    const double slope =
        (std::log(lattice(up, {4, 3}).throughput(n, 0)) - std::log(lattice(down, {4, 3}).throughput(n, 0))) / 2e-5;
    CHECK(std::fabs(slope - (q[l.index(fewer)] - q[l.index(n)])) < 1e-8);
  }
}

TEST_CASE("chains that share no station are solved separately for any size of the joint lattice") {
  network net;
  for (std::size_t c = 0; c != 30; ++c) {
    std::vector<double> demands(30, 0.0);
    demands[c] = 1.0 + static_cast<double>(c);
    net.add({}, demands);
  }
  const machine m = machine::of(net, std::vector<std::uint32_t>(30, 4));
  CHECK(m.error() <= 0.0);
  std::vector<std::uint32_t> n(30, 2);
  std::vector<double> rate(30);
  m.per_customer(n.data(), rate.data());
  for (std::size_t c = 0; c != 30; ++c) CHECK(near(rate[c], 1.0 / (1.0 + static_cast<double>(c)) / 2.0));
}

TEST_CASE("beyond the lattice Bard and Schweitzer answer and state their error") {
  network net;
  const std::size_t ranks = 24;
  std::vector<double> bus(ranks, 0.05);
  net.add({}, bus);
  for (std::size_t c = 0; c != ranks; ++c) {
    std::vector<double> own(ranks, 0.0);
    own[c] = 1.0;
    net.add({}, own);
  }
  const machine m = machine::of(net, std::vector<std::uint32_t>(ranks, 1));
  CHECK(m.error() > 0.0);
  CHECK(m.error() < 0.02);
  std::vector<std::uint32_t> n(ranks, 1);
  std::vector<double> rate(ranks);
  m.per_customer(n.data(), rate.data());
  // a rank alone on its processor never queues there, which is the machine repairman model and exact
  network repair;
  repair.add({station::kind::delay}, {1.0}).add({}, {0.05});
  const double truth = throughput(repair, ranks).back() / static_cast<double>(ranks);
  CHECK(near(rate[0], truth, 0.05));
  CHECK(rate[0] < 1.0 / 1.05);
}

TEST_CASE("an invalid network is refused") {
  CHECK(number_of_error([] { throughput(network(), 3); }) == "whywait-P013");
  CHECK(number_of_error([] { throughput(network().add({}, {-1.0}), 3); }) == "whywait-P013");
  CHECK(number_of_error([] { throughput(network().add({}, {0.0}), 3); }) == "whywait-P013");
  CHECK(number_of_error([] { throughput(network().add({station::kind::multi, 0}, {1.0}), 3); }) == "whywait-P013");
  CHECK(number_of_error([] { throughput(network().add({}, {1.0, 1.0}), 3); }) == "whywait-P017");
  CHECK(number_of_error([] { lattice(network().add({}, {1.0, 1.0}), {2000, 2000}); }) == "whywait-P014");
  CHECK(number_of_error([] { machine::table({}); }) == "whywait-P013");
  CHECK(number_of_error([] { machine::servers_for_all({0.0}); }) == "whywait-P013");
  const machine m = machine::of(network().add({}, {1.0}), {3});
  const std::uint32_t four = 4;
  double rate = 0.0;
  CHECK(number_of_error([&] { m.per_customer(&four, &rate); }) == "whywait-P014");
}
