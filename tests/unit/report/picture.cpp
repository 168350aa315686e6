#include <whywait/base/vector.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/picture_rows.hpp>
#include <whywait/report/text.hpp>

#include "sample.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

using namespace sample;
using explain::picture_node;
using explain::ran;

namespace {

constexpr std::int64_t ms = 1000000;

picture_node node(ran what, core::stable_key key, std::int64_t ns, std::uint32_t count = 1, std::uint32_t body = 0) {
  picture_node n;
  n.what = what;
  n.key = key;
  n.ns = ns;
  n.count = count;
  n.body = body;
  return n;
}

/// The late rank refines more and runs one block that the other does not.
explain::wait_picture sides() {
  explain::wait_picture p;
  p.waiter.rank = 1;
  p.waiter.nodes = {node(ran::region, pack, 2 * ms),           node(ran::loop, 0, 30 * ms, 10, 3),
                    node(ran::region, compute, 28 * ms, 1, 1), node(ran::step, step, 0, 4),
                    node(ran::call, allreduce, 2 * ms),        node(ran::unmarked, 0, 10)};
  p.causer.nodes = {
      node(ran::region, pack, 2 * ms), node(ran::loop, 0, 70 * ms, 10, 3), node(ran::region, compute, 68 * ms, 1, 1),
      node(ran::step, step, 0, 12),    node(ran::call, allreduce, 2 * ms), node(ran::region, update, 5 * ms),
      node(ran::unmarked, 0, 10)};
  return p;
}

explain::wait_sample sample_wait() {
  explain::wait_sample s;
  s.wait_ns = 45 * ms;
  s.rank = 1;
  return s;
}

std::string as_text(const reports::picture& p, std::size_t columns = 80) { return reports::picture_text(p, columns, "    "); }

whywait::base::vector<std::string> lines_of(const std::string& all) {
  whywait::base::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("common rows are side by side, rows of one side are alone") {
  const reports::picture p = reports::align(sample_wait(), sides(), names());
  CHECK(p.waiter.rank == 1);
  CHECK(p.causer.rank == 0);
  CHECK(p.waiter.seconds == doctest::Approx(0.045));
  CHECK(p.causer.seconds == doctest::Approx(0.077));
  REQUIRE(p.rows.size() == 6);  // code outside regions is too short to list
  CHECK(p.rows[0].name == "pack_halo");
  CHECK(p.rows[1].kind == "loop");
  CHECK(p.rows[1].waiter->count == 10);
  CHECK(p.rows[2].name == "compute_interior");
  CHECK(p.rows[2].depth == 1);
  CHECK(p.rows[3].kind == "step");
  CHECK(p.rows[3].depth == 2);
  CHECK(p.rows[3].waiter->count == 4);
  CHECK(p.rows[3].causer->count == 12);
  CHECK(p.rows[4].where.call == "MPI_Allreduce");
  CHECK(p.rows[5].name == "update");
  CHECK_FALSE(p.rows[5].waiter);
  CHECK(p.rows[5].causer->seconds == doctest::Approx(0.005));
}

TEST_CASE("the text has two columns and folds equal rows") {
  const std::string all = as_text(reports::align(sample_wait(), sides(), names()));
  CHECK(all ==
        "    side by side, since both were last in step, the longest of these waits:\n"
        "      rank 1 (waited 45 ms)               | rank 0 (came late)\n"
        "      pack_halo                    2.0 ms | pack_halo                    2.0 ms\n"
        "      10 times                      30 ms | 10 times                      70 ms\n"
        "        compute_interior            28 ms |   compute_interior            68 ms\n"
        "          4 refine                        |     12 refine\n"
        "        MPI_Allreduce              2.0 ms |   MPI_Allreduce              2.0 ms\n"
        "                                          | update                       5.0 ms\n");
}

TEST_CASE("equal rows are folded with their time, and different rows appear inside their parents") {
  explain::wait_picture both;
  const auto timed = [](core::stable_key key, std::int64_t ns, std::uint32_t body = 0) {
    return node(ran::region, key, ns, 1, body);
  };
  for (explain::picture_side* side : {&both.waiter, &both.causer}) {
    const bool late = side == &both.causer;
    whywait::base::vector<picture_node>& n = side->nodes;
    for (core::stable_key k = 100; k < 107; ++k) n.push_back(timed(k, ms));
    n.push_back(node(ran::loop, 0, late ? 80 * ms : 40 * ms, 10, 4));
    n.push_back(timed(compute, late ? 60 * ms : 20 * ms, 2));
    n.push_back(timed(pack, 5 * ms));
    n.push_back(timed(update, late ? 50 * ms : 10 * ms));
    n.push_back(node(ran::step, step, 0, late ? 7 : 5));
    for (core::stable_key k = 100; k < 109; ++k) n.push_back(timed(k, ms));
  }
  CHECK(as_text(reports::align(sample_wait(), both, names())) ==
        "    side by side, since both were last in step, the longest of these waits:\n"
        "      rank 1 (waited 45 ms)               | rank 0 (came late)\n"
        "        (7 rows alike)             7.0 ms |   (7 rows alike)             7.0 ms\n"
        "      10 times                      40 ms | 10 times                      80 ms\n"
        "        compute_interior            20 ms |   compute_interior            60 ms\n"
        "          pack_halo                5.0 ms |     pack_halo                5.0 ms\n"
        "          update                    10 ms |     update                    50 ms\n"
        "        5 refine                          |   7 refine\n"
        "        (9 rows alike)             9.0 ms |   (9 rows alike)             9.0 ms\n");
}

TEST_CASE("a long picture is limited to 20 lines and 100 columns and shows the largest differences") {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    explain::wait_picture both;
    const std::size_t size = 1 + random() % 300;
    for (explain::picture_side* side : {&both.waiter, &both.causer})
      for (std::size_t i = 0; i < size; ++i)
        side->nodes.push_back(node(ran::region, 1000 + random() % 50, static_cast<std::int64_t>(random() % 1000000),
                                   static_cast<std::uint32_t>(1 + random() % 2)));
    both.causer.nodes[random() % size] = node(ran::region, compute, 900 * ms);
    reports::picture p = reports::align(sample_wait(), both, names());
    p.cut = round % 2 == 0;
    for (const std::size_t columns : {std::size_t(60), std::size_t(80), std::size_t(100), std::size_t(200)}) {
      const std::string all = as_text(p, columns);
      const whywait::base::vector<std::string> lines = lines_of(all);
      CHECK(lines.size() <= 20);
      for (const std::string& line : lines)
        CHECK(base::display_width(line) <= std::max<std::size_t>(std::min<std::size_t>(columns, 100), 76));
      CHECK(all.find("compute_interior") != std::string::npos);
    }
  }
}

TEST_CASE("alignment keeps every row of both sides in its order") {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    explain::wait_picture both;
    whywait::base::vector<std::int64_t> left, right;
    for (explain::picture_side* side : {&both.waiter, &both.causer})
      for (std::size_t i = random() % 40; i != 0; --i)
        side->nodes.push_back(node(ran::step, 1 + random() % 6, 0, static_cast<std::uint32_t>(1 + random() % 3)));
    const reports::picture p = reports::align(sample_wait(), both, names());
    for (const reports::picture_row& r : p.rows) {
      if (r.waiter) left.push_back(r.waiter->count);
      if (r.causer) right.push_back(r.causer->count);
    }
    std::size_t pairs = 0, common = 0;
    for (const reports::picture_row& r : p.rows) pairs += r.waiter && r.causer ? 1 : 0;
    // longest common subsequence by the textbook algorithm
    const auto& a = both.waiter.nodes;
    const auto& b = both.causer.nodes;
    whywait::base::vector<whywait::base::vector<std::size_t>> lcs(a.size() + 1,
                                                                  whywait::base::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = a.size(); i-- != 0;)
      for (std::size_t j = b.size(); j-- != 0;)
        lcs[i][j] = a[i].key == b[j].key ? lcs[i + 1][j + 1] + 1 : std::max(lcs[i + 1][j], lcs[i][j + 1]);
    common = lcs[0][0];
    CHECK(7 * pairs >= 6 * common);  // the weight of equal counts may cost at most a seventh
    CHECK(left.size() == a.size());
    CHECK(right.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(left[i] == static_cast<std::int64_t>(a[i].count));
    for (std::size_t j = 0; j < b.size(); ++j) CHECK(right[j] == static_cast<std::int64_t>(b[j].count));
  }
}

TEST_CASE("the picture stands under its wait and in the JSON; without one both are as they were") {
  explain::outcome o = outcome({late_sender()});
  const reports::result without = reports::assemble(o, names(), facts());
  o.waits[0].longest = sample_wait();
  o.waits[0].picture = sides();
  const reports::result with = reports::assemble(o, names(), facts());
  const std::string plain = reports::text_of(without), pictured = reports::text_of(with);
  const std::string picture = as_text(*with.waits[0].longest);
  const std::size_t at = pictured.find(picture);
  REQUIRE(at != std::string::npos);
  CHECK(pictured.substr(0, at) + pictured.substr(at + picture.size()) == plain);

  CHECK(reports::json_of(without).find("picture") == std::string::npos);
  const nlohmann::json written = nlohmann::json::parse(reports::json_of(with))["waits"][0]["picture"];
  CHECK(written["waiter"]["rank"] == 1);
  CHECK(written["rows"].size() == 6);
  CHECK(written["rows"][3]["name"] == "refine");
  CHECK(written["rows"][3]["waiter"]["count"] == 4);
  CHECK(written["rows"][3]["causer"]["count"] == 12);
  CHECK_FALSE(written["rows"][5].contains("waiter"));
  CHECK(written["rows"][5]["causer"]["seconds"] == doctest::Approx(0.005));
}
