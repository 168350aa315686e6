#include <whywait/explain/merging.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>

using namespace histories;

namespace {

// Rank 0 waits for rank 1 once per entry, always at the same two sites; the sender's block differs.
run waits_for(const std::vector<std::string>& guilty) {
  run r(2);
  std::uint64_t t = 0;
  for (const std::string& block : guilty) {
    r[1].step(block, 100);
    r[1].send(t + 100, t + 100, 0);
    r[0].receive(t, t + 100, 1);
    t += 100;
  }
  return r;
}

}  // namespace

TEST_CASE("waits of one shape are one explanation, other shapes have their own") {
  run r = waits_for({"a", "a", "b", "a"});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 2);
  CHECK(out.waits[0].count == 3);
  CHECK(total(out.waits[0].residual, "a") == 300);
  CHECK(out.waits[1].count == 1);
  CHECK(total(out.waits[1].residual, "b") == 100);
}

TEST_CASE("disjoint paths are as far apart as can be, equal ones not at all") {
  const std::vector<explain::shape_entry> a = {{1, 0, 0.5}, {2, 0, 0.5}}, b = {{3, 0, 1.0}}, c = {{1, 0, 1.0}};
  CHECK(explain::distance(a, b) == doctest::Approx(1));
  CHECK(explain::distance(a, a) == doctest::Approx(0));
  CHECK(explain::distance(a, c) == doctest::Approx(0.5));
  CHECK(explain::distance(c, a) == doctest::Approx(0.5));
}

TEST_CASE("more shapes than are kept apart share the last class") {
  std::vector<std::string> blocks;
  for (int i = 0; i != 20; ++i) blocks.push_back("block" + std::to_string(i));
  run r = waits_for(blocks);
  const auto out = r.explain();
  CHECK(out.waits.size() == 9);
  std::int64_t count = 0, wait = 0;
  for (const auto& e : out.waits) {
    count += e.count;
    wait += e.wait_ns;
    CHECK(sum(e.residual) + e.unexplained_ns == e.wait_ns);
  }
  CHECK(count == 20);
  CHECK(wait == 2000);
}

TEST_CASE("classes of several ranks meet under one leader, the earliest") {
  run r(6);
  for (int i = 0; i != 3; ++i) {
    const auto late = static_cast<std::uint64_t>(100 * (i + 1));
    r[2 * i + 1].step("work", late);
    r[2 * i + 1].send(late, late, 2 * i);
    r[2 * i].receive(static_cast<std::uint64_t>(10 - i), late, 2 * i + 1);
  }
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].count == 3);
  CHECK(out.waits[0].first_ns == 8);
  CHECK(out.waits[0].longest_ns == 292);
  CHECK(out.waits[0].waiters.size() == 3);
  CHECK(out.waits[0].waiters[0].rank == 4);
}

TEST_CASE("a merged class written and read is the same") {
  explain::merged_class c;
  c.key = 5;
  c.slot = 2;
  c.sum.why = explain::pattern::early_scan;
  c.sum.trust = explain::quality::order_suspect;
  c.sum.operation = 7;
  c.sum.cause = 8;
  c.sum.count = 3;
  c.sum.wait_ns = 40;
  c.sum.first_ns = -4;
  c.sum.residual.resize(2);
  c.sum.residual[1].speed_ns = 9;
  c.sum.waiters = {{1, 2, 3}};
  explain::packet p;
  c.write(p);
  explain::packet_reader in(p.data(), p.size());
  explain::merged_class d;
  d.sum.residual.resize(5);  // what was there before goes
  d.read(in);
  CHECK(in.empty());
  CHECK(d.same(c));
  CHECK(d.sum.why == c.sum.why);
  CHECK(d.sum.trust == c.sum.trust);
  CHECK(d.sum.cause == 8);
  CHECK(d.sum.first_ns == -4);
  REQUIRE(d.sum.residual.size() == 2);
  CHECK(d.sum.residual[1].speed_ns == 9);
  CHECK(d.sum.waiters[0].ns == 3);
}

TEST_CASE("merging 300 pairs of random residuals adds block by block and keeps the order") {
  std::mt19937_64 random(11);
  for (int round = 0; round != 300; ++round) {
    CAPTURE(round);
    std::map<std::pair<core::stable_key, core::stable_key>, std::int64_t> plain;
    explain::merged_class all;
    all.sum.count = 1;
    for (int side = 0; side != 3; ++side) {
      std::map<std::pair<core::stable_key, core::stable_key>, std::int64_t> one;
      for (auto n = random() % 9; n != 0; --n) one[{random() % 8, random() % 2}] += static_cast<std::int64_t>(random() % 99);
      explain::explanation e;
      for (const auto& t : one) {
        e.residual.emplace_back();
        e.residual.back().block = t.first.first;
        e.residual.back().within = t.first.second;
        e.residual.back().causer_ns = t.second;
        plain[t.first] += t.second;
      }
      all.merge(e);
    }
    REQUIRE(all.sum.residual.size() == plain.size());
    std::size_t at = 0;
    for (const auto& t : plain) {
      const explain::residual_term& r = all.sum.residual[at++];
      CHECK(r.block == t.first.first);
      CHECK(r.within == t.first.second);
      CHECK(r.causer_ns == t.second);
    }
  }
}
