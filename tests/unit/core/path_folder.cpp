#include <whywait/core/path_folder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace whywait;
using core::order_node;
namespace flag = core::order_flag;

namespace {

// One event of an unfolded path. Positive values are steps; the bits below mark begin and end of regions.
constexpr std::uint32_t region_begins = 1u << 20, region_ends = 1u << 21;
using plain = std::vector<std::uint32_t>;

void tell(core::path_folder& folder, const plain& events) {
  for (const std::uint32_t e : events) {
    if ((e & region_begins) != 0) folder.enter(e & ~region_begins);
    else if ((e & region_ends) != 0) folder.leave();
    else folder.step(e);
  }
}

std::vector<order_node> finish(core::path_folder& folder) {
  std::vector<order_node> nodes;
  folder.finish([&nodes](const order_node& n) { nodes.push_back(n); });
  return nodes;
}

void unfold(const std::vector<order_node>& nodes, std::size_t first, std::size_t last, plain& out) {
  for (std::size_t at = first; at < last; at += nodes[at].body + 1) {
    const order_node& n = nodes[at];
    for (std::uint32_t round = 0; round < n.count; ++round) {
      if (!n.is_loop() && !n.is(flag::continued)) out.push_back(n.number() | (n.is(flag::region) ? region_begins : 0));
      unfold(nodes, at + 1, at + 1 + n.body, out);
      if (n.is(flag::region) && !n.is(flag::unfinished)) out.push_back(region_ends);
    }
  }
}
plain unfold(const std::vector<order_node>& nodes) {
  plain out;
  unfold(nodes, 0, nodes.size(), out);
  return out;
}

// Formats as "(1 2x8)x100", with regions in braces.
std::string text(const std::vector<order_node>& nodes, std::size_t first, std::size_t last) {
  std::string out;
  for (std::size_t at = first; at < last; at += nodes[at].body + 1) {
    const order_node& n = nodes[at];
    if (!out.empty()) out += ' ';
    if (!n.is_loop()) out += std::to_string(n.number());
    const std::string inside = text(nodes, at + 1, at + 1 + n.body);
    if (n.is_loop()) out += "(" + inside + ")";
    else if (n.is(flag::region)) out += "{" + inside + "}";
    if (n.count != 1) out += "x" + std::to_string(n.count);
  }
  return out;
}
std::string text(const std::vector<order_node>& nodes) { return text(nodes, 0, nodes.size()); }

struct opened {
  core::path_folder folder;
  explicit opened(std::uint32_t most = 1 << 14) { REQUIRE(folder.open(most)); }
  ~opened() { folder.release(); }
  core::path_folder* operator->() { return &folder; }
};

// A random program of nested loops and regions. Each statement has its own number.
struct random_program {
  std::mt19937& random;
  std::uint32_t next = 1;
  std::size_t source = 0;  // upper bound of the nodes in its shortest folding

  std::uint32_t upto(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n) + 1; }

  void body(plain& out, int depth, std::uint32_t symbols) {
    for (std::uint32_t statements = upto(4); statements != 0; --statements) {
      const std::uint32_t number = symbols != 0 ? upto(symbols) : next++;
      ++source;
      switch (depth > 0 ? random() % 4 : 0) {
        case 0: out.push_back(number); break;
        case 1: {
          out.push_back(number | region_begins);
          body(out, depth - 1, symbols);
          out.push_back(region_ends);
          break;
        }
        default: {
          plain once;
          body(once, depth - 1, symbols);
          for (std::uint32_t rounds = upto(7); rounds != 0; --rounds) out.insert(out.end(), once.begin(), once.end());
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("nested loops fold as they are written") {
  opened folder;
  for (int outer = 0; outer < 100; ++outer) {
    folder->step(1);
    folder->step(2);
    for (int inner = 0; inner < 8; ++inner) folder->step(3);
  }
  CHECK(text(finish(folder.folder)) == "(1 2 3x8)x100");

  for (int outer = 0; outer < 10; ++outer) {
    folder->step(1);
    for (int inner = 0; inner < 5; ++inner) tell(folder.folder, {2, 3});
    folder->step(4);
  }
  CHECK(text(finish(folder.folder)) == "(1 (2 3)x5 4)x10");
}

TEST_CASE("regions fold with what they contain, and only whole") {
  opened folder;
  for (int i = 0; i < 6; ++i) tell(folder.folder, {1 | region_begins, 2, 2, 3, region_ends});
  CHECK(text(finish(folder.folder)) == "1{2x2 3}x6");
  for (int i = 0; i < 4; ++i) tell(folder.folder, {1 | region_begins, 2, region_ends, 4 | region_begins, region_ends});
  CHECK(text(finish(folder.folder)) == "(1{2} 4{})x4");
  // steps and regions of the same number are distinct
  tell(folder.folder, {1, 1 | region_begins, region_ends, 1});
  CHECK(text(finish(folder.folder)) == "1 1{} 1");
}

TEST_CASE("different loops are not folded together") {
  opened folder;
  tell(folder.folder, {1, 2, 2, 2, 1, 2, 2, 2, 2, 1, 2, 2, 2});
  const std::vector<order_node> nodes = finish(folder.folder);
  CHECK(unfold(nodes) == plain{1, 2, 2, 2, 1, 2, 2, 2, 2, 1, 2, 2, 2});
}

TEST_CASE("unfolding random nested loops returns the path, and the folded size is close to that of the source") {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  opened folder;
  for (int round = 0; round < 300; ++round) {
    plain events;
    random_program program{random};
    program.body(events, 5, 0);
    if (events.size() > 200000) continue;
    tell(folder.folder, events);
    CHECK(folder->lost() == 0);
    const std::vector<order_node> nodes = finish(folder.folder);
    REQUIRE(unfold(nodes) == events);
    // numbers are unique, so nothing is ambiguous; rotation may leave a first iteration unfolded
    CHECK(nodes.size() <= 4 * program.source);
  }
}

TEST_CASE("unfolding random paths of few numbers returns them") {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  opened folder(1 << 16);
  for (int round = 0; round < 300; ++round) {
    plain events;
    random_program program{random};
    program.body(events, 5, 1 + static_cast<std::uint32_t>(round % 4));
    if (events.size() > 30000) continue;
    if (round % 3 == 0) {  // without structure
      events.clear();
      for (int i = 0; i < 2000; ++i) events.push_back(program.upto(2 + static_cast<std::uint32_t>(round % 5)));
    }
    tell(folder.folder, events);
    CHECK(folder->lost() == 0);
    REQUIRE(unfold(finish(folder.folder)) == events);
  }
}

TEST_CASE("times stay with their regions in folded paths") {
  opened folder;
  std::uint64_t outside = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    folder->enter(1);
    folder->spend(10);
    folder->enter(2);
    folder->spend(i);
    folder->leave();
    folder->spend(3);
    folder->leave();
    folder->spend(1000);  // outside any region
    outside += 1000;
    if (i % 2 == 1) folder->step(7);
  }
  const std::vector<order_node> nodes = finish(folder.folder);
  CHECK(text(nodes) == "(1{2{}}x2 7)x25");
  double one = 0, two = 0;
  for (const order_node& n : nodes) (n.number() == 1 ? one : n.number() == 2 ? two : one) += static_cast<double>(n.ticks);
  CHECK(one == 50 * 13);
  CHECK(two == 49 * 50 / 2);
  CHECK(outside == 50000);
}

TEST_CASE("beyond the bound the rest is counted, and the prefix is exact") {
  opened folder(64);
  plain events;
  for (std::uint32_t i = 1; i <= 1000; ++i) events.push_back(i);  // not foldable
  tell(folder.folder, events);
  const std::uint64_t lost = folder->lost();
  const plain kept = unfold(finish(folder.folder));
  CHECK(kept.size() + lost == events.size());
  CHECK(kept.size() == 64);
  CHECK(kept == plain(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(kept.size())));

  CHECK(folder->empty());
  for (int i = 0; i < 1000000; ++i) tell(folder.folder, {1, 2 | region_begins, 3, region_ends});
  CHECK(folder->lost() == 0);
  CHECK(text(finish(folder.folder)) == "(1 2{3})x1000000");

  for (std::uint32_t i = 1; i <= 100; ++i) folder->enter(i);
  for (std::uint32_t i = 1; i <= 100; ++i) folder->leave();
  CHECK(folder->lost() == 2 * 100 - 64);
  const std::vector<order_node> nodes = finish(folder.folder);
  REQUIRE(nodes.size() == 64);
  for (const order_node& n : nodes) CHECK(n.is(flag::unfinished));
}

TEST_CASE("a path that is cut anywhere is joined again") {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  opened part, joined(1 << 16);
  for (int round = 0; round < 200; ++round) {
    plain events;
    random_program program{random};
    program.body(events, 4, round % 2 == 0 ? 0 : 3);
    if (events.size() > 20000) continue;
    std::vector<std::uint32_t> open;
    const std::uint32_t rarely = 1 + static_cast<std::uint32_t>(random() % 40);
    const auto cut = [&] {
      const std::vector<order_node> nodes = finish(part.folder);
      joined->append(nodes.data(), static_cast<std::uint32_t>(nodes.size()));
      for (const std::uint32_t region : open) part->enter(region, flag::region | flag::continued);
    };
    for (const std::uint32_t e : events) {
      tell(part.folder, {e});
      if ((e & region_begins) != 0) open.push_back(e & ~region_begins);
      if ((e & region_ends) != 0) open.pop_back();
      if (random() % rarely == 0) cut();
    }
    cut();
    CHECK(joined->depth() == 0);
    REQUIRE(unfold(finish(joined.folder)) == events);
    finish(part.folder);
  }
}

TEST_CASE("an end without a begin is counted and changes nothing") {
  opened folder;
  folder->step(1);
  folder->leave();
  folder->step(1);
  CHECK(folder->lost() == 1);
  CHECK(text(finish(folder.folder)) == "1x2");
}
