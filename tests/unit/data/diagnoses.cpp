#include "ranks.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/diagnoses.hpp>

#include <doctest/doctest.h>

using namespace ranks;
using data::communication_problem;

namespace {

constexpr data::region all{0, 64, 0, 0};

// Resolves the names that tests use.
class names final : public data::naming {
 public:
  std::string data(core::stable_key k) const override { return find(k, {"u", "table"}); }
  std::string place(core::stable_key k) const override {
    return find(k, {"ring.send", "ring.receive", "a.send", "a.receive", "b.send", "b.receive", "c.send", "c.receive",
                    "tree.send", "tree.receive", "update", "gather", "scatter"});
  }

 private:
  static std::string find(core::stable_key k, std::initializer_list<const char*> known) {
    for (const char* n : known) {
      if (key(n) == k) return n;
    }
    return "?";
  }
};

whywait::base::vector<data::communication_finding> found(program& p, communication_problem which) {
  whywait::base::vector<data::communication_finding> out;
  for (auto& f : data::diagnose(p.classify(), names())) {
    if (f.problem == which) out.push_back(f);
  }
  return out;
}

void time(program& p, std::int64_t duration_ns, std::int64_t wait_ns) {
  for (std::int32_t r = 0; r != p.ranks(); ++r) p.at(r).locations[0].calls.assign(1000, {duration_ns, wait_ns});
}

}  // namespace

TEST_CASE("data handed on along a chain should be broadcast, and the chain is reported once") {
  for (const bool one_place : {true, false}) {
    program p(8);
    const auto u = p.object("u", {64});
    for (int r = 0; r != 7; ++r) {
      const std::string where = one_place ? "ring" : std::string(1, static_cast<char>('a' + r));
      p.receive(r + 1, r, where + ".receive", u, all, p.send(r, r + 1, where + ".send", u, all)).record = 1;
    }
    time(p, 1000, 900);
    const auto f = found(p, communication_problem::relay_chain);
    REQUIRE(f.size() == 1);
    CHECK(f[0].text.find("up to 7 times") != std::string::npos);
    CHECK(f[0].advice == "use MPI_Bcast: 3 steps instead of 7");
    if (!one_place) continue;
    CHECK(f[0].transfers == 7);
    CHECK(f[0].bytes == 7 * 64);
    CHECK(f[0].saving_ns == 4000);
    CHECK(f[0].text ==
          "`u` is handed on from rank to rank, unchanged, up to 7 times (ring.send -> ring.receive); the last rank "
          "gets it "
          "after 7 messages in a row");
  }
}

TEST_CASE("data of all ranks that moves around the ring is a manual allgather") {
  program p(6);
  const auto u = p.object("u", {60});
  for (std::uint64_t step = 0; step != 5; ++step) {
    whywait::base::vector<std::uint32_t> order;
    const auto part = [&](int rank) {
      const std::uint64_t at = (static_cast<std::uint64_t>(rank) + 6 - step) % 6 * 10;
      return data::region{at, at + 10, 0, 0};
    };
    for (int r = 0; r != 6; ++r) order.push_back(p.send(r, (r + 1) % 6, "ring.send", u, part(r)));
    for (int r = 0; r != 6; ++r) p.receive((r + 1) % 6, r, "ring.receive", u, part(r), order[static_cast<std::size_t>(r)]);
  }
  const auto f = found(p, communication_problem::relay_chain);
  REQUIRE(f.size() == 1);
  CHECK(f[0].advice == "use MPI_Allgather: 3 steps instead of 5");
}

TEST_CASE("a manual broadcast tree is not a chain") {
  program p(8);
  const auto u = p.object("u", {64});
  for (int width = 1; width != 8; width *= 2) {
    for (int r = 0; r != width; ++r) p.transfer(r, r + width, "tree", u, all);
  }
  CHECK(found(p, communication_problem::relay_chain).empty());
}

TEST_CASE("data that two ranks send to and fro is no chain") {
  program p(2);
  const auto u = p.object("u", {64});
  for (int i = 0; i != 10; ++i) p.transfer(i % 2, 1 - i % 2, "swap", u, all);
  CHECK(found(p, communication_problem::relay_chain).empty());
}

TEST_CASE("unchanged data is reported with its cost; changed data is not") {
  program p(2);
  const auto u = p.object("table", {64});
  for (int i = 0; i != 10; ++i) {
    if (i % 5 == 0) p.write(0, "update", u, all);
    p.receive(1, 0, "a.receive", u, all, p.send(0, 1, "a.send", u, all)).record = static_cast<std::uint32_t>(i + 1);
  }
  time(p, 100, 10);
  const auto f = found(p, communication_problem::unchanged_data);
  REQUIRE(f.size() == 1);
  CHECK(f[0].needless_transfers == 8);
  CHECK(f[0].needless_bytes == 8 * 64);
  CHECK(f[0].saving_ns == 800);
  CHECK(f[0].text.find("8 of 10 transfers of `table` (a.send -> a.receive)") == 0);
  CHECK(f[0].advice == "send it only when it has changed: the receiver still has it");

  program q(2);
  const auto v = q.object("table", {64});
  for (int i = 0; i != 10; ++i) {
    q.write(0, "update", v, {0, 1, 0, 0});
    q.transfer(0, 1, "a", v, all);
  }
  CHECK(found(q, communication_problem::unchanged_data).empty());
}

TEST_CASE("of data without a recorded write it is not stated that it was not written") {
  program p(2);
  const auto u = p.object("table", {64});
  for (int i = 0; i != 10; ++i) p.transfer(0, 1, "a", u, all);
  const auto f = found(p, communication_problem::unchanged_data);
  REQUIRE(f.size() == 1);
  CHECK(f[0].text.find("and of which no write is recorded") != std::string::npos);
  CHECK(f[0].advice.find("send it once if it never changes") == 0);
}

TEST_CASE("a halo that is half read is too large; one without recorded reads is ignored") {
  for (const bool reads : {true, false}) {
    program p(2);
    const auto u = p.object("u", {32, 8}, 8);
    for (int i = 0; i != 4; ++i) {
      p.write(0, "update", u, {0, 2048, 0, 0});
      p.receive(1, 0, "a.receive", u, {1920, 2048, 0, 0}, p.send(0, 1, "a.send", u, {0, 128, 0, 0}));
      if (reads) p.read(1, "update", u, {0, 1984, 0, 0});
    }
    const auto f = found(p, communication_problem::large_halo);
    REQUIRE(f.size() == (reads ? 1 : 0));
    if (!reads) continue;
    CHECK(f[0].needless_bytes == 256);
    CHECK(f[0].text ==
          "50 % of what is received of `u` (low side of dimension 0) at a.receive is overwritten or never "
          "read: 256 bytes of 512 bytes");
    CHECK(f[0].advice == "send only what is read");
  }
}

TEST_CASE("many tiny messages of one class should be collected, a few or large ones not") {
  const auto findings = [](int count, std::uint64_t bytes) {
    program p(2);
    const auto u = p.object("u", {100000});
    for (int i = 0; i != count; ++i) {
      p.write(0, "update", u, {0, 100000, 0, 0});
      p.receive(1, 0, "a.receive", u, {0, bytes, 0, 0}, p.send(0, 1, "a.send", u, {0, bytes, 0, 0})).record =
          static_cast<std::uint32_t>(i + 1);
    }
    time(p, 2000, 1000);
    return found(p, communication_problem::tiny_messages);
  };
  const auto f = findings(1000, 16);
  REQUIRE(f.size() == 1);
  CHECK(f[0].needless_transfers == 998);
  CHECK(f[0].saving_ns == 998000);
  CHECK(f[0].text.find("1,000 messages with 16 bytes each carry `u`") == 0);
  CHECK(findings(50, 16).empty());
  CHECK(findings(1000, 20000).empty());
}

TEST_CASE("data gathered at one rank and forwarded from there should be sent directly") {
  for (const bool to_all : {true, false}) {
    program p(4);
    const auto u = p.object("u", {64});
    for (int r = 1; r != 4; ++r) {
      p.write(r, "update", u, {16u * static_cast<unsigned>(r), 16u * static_cast<unsigned>(r) + 16, 0, 0});
      p.transfer(r, 0, "a", u, {16u * static_cast<unsigned>(r), 16u * static_cast<unsigned>(r) + 16, 0, 0});
    }
    for (int r = 1; r != 4; ++r) {
      const std::uint64_t at = 16 * (static_cast<std::uint64_t>(r) % 3 + 1);
      p.transfer(0, r, "b", u, to_all ? data::region{16, 64, 0, 0} : data::region{at, at + 16, 0, 0});
    }
    const auto f = found(p, communication_problem::gather_then_scatter);
    REQUIRE(f.size() == 1);
    CHECK(f[0].transfers == 6);
    CHECK(f[0].needless_bytes == 48);
    CHECK(f[0].advice == (to_all ? "use MPI_Allgather" : "let the ranks exchange it directly (MPI_Alltoall, or messages)"));
    CHECK(f[0].text.find("`u` (part) is gathered at rank 0 from 3 ranks (a.receive) and sent on from there, unchanged, "
                         "to 3 ranks (b.send)") == 0);
  }
}

TEST_CASE("a rank that computes with gathered data is not a detour") {
  program p(4);
  const auto u = p.object("u", {64});
  for (int r = 1; r != 4; ++r)
    p.transfer(r, 0, "a", u, {16u * static_cast<unsigned>(r), 16u * static_cast<unsigned>(r) + 16, 0, 0});
  p.write(0, "update", u, all);
  for (int r = 1; r != 4; ++r) p.transfer(0, r, "b", u, all);
  CHECK(found(p, communication_problem::gather_then_scatter).empty());
}
