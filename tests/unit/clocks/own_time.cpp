#include <whywait/base/vector.hpp>
#include <whywait/clocks/own_time.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>

using namespace histories;

// `kept`: of so many records one is kept, and asked about.
static void check_own_time(std::size_t kept) {
  std::mt19937_64 random(5);
  run r(1);
  whywait::base::vector<std::int64_t> go_ns, instants;
  std::set<core::stable_key> unmarked_blocks;
  struct span {
    std::int64_t from, to;
    core::stable_key block;
  };
  whywait::base::vector<span> spans;  // a block is charged when its end time has been reached
  std::int64_t now = 0;
  core::stable_key last = 0;
  const char* sites[] = {"a", "b", "c"};
  for (int i = 0; i != 150; ++i) {
    const std::int64_t computed = static_cast<std::int64_t>(random() % 50), unmarked = static_cast<std::int64_t>(random() % 9);
    const std::string block = "block" + std::to_string(random() % 5);
    const std::string site = sites[random() % 3];
    // Some calls wait for seconds, and after some waits calls take seconds.
    const std::int64_t begin = now + computed + unmarked;
    const std::int64_t go = begin + static_cast<std::int64_t>(random() % 40) + (i % 17 == 7 ? 3'000'000'000 : 0);
    const std::int64_t leave = go + 1 + static_cast<std::int64_t>(random() % 20) + (i % 23 == 7 ? 9'000'000'000 : 0);
    if (computed != 0) r[0].step(block, static_cast<std::uint64_t>(computed));
    r[0].call(mpi_call::Recv, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(leave), site);
    const core::stable_key here = core::key_of(site.c_str());
    spans.push_back({begin - computed, begin, core::key_of(block.c_str())});
    if (unmarked != 0) {
      spans.push_back({begin - unmarked, begin, explain::between_key(last, here)});
      unmarked_blocks.insert(explain::between_key(last, here));
    }
    spans.push_back({go, leave, explain::call_key(here)});
    go_ns.push_back(go);
    if (static_cast<std::size_t>(i) % kept == 0) {
      instants.push_back(begin);
      instants.push_back(go);
      instants.push_back(leave);
    }
    now = leave;
    last = here;
  }
  const auto all = r.views();
  const explain::location_history& here = all[0].locations[0];
  clocks::own_time::room known;
  base::memory_pool memory;
  clocks::own_time time(all[0], here, known, memory);
  explain::location_walk walk(all[0]);
  for (std::size_t record = 0; record != go_ns.size(); ++record) {
    walk.step(here.records[record]);
    const std::uint32_t number = time.begin(here.records[record], walk, record % kept == 0, known);
    CHECK(number == (record + kept - 1) / kept);
    time.end(go_ns[record], 0, known);
  }
  base::pod_vector<explain::block_time> spent;
  base::pod_vector<clocks::unmarked_piece> pieces;
  time.seal(7, known, spent, pieces);
  std::int64_t unmarked_ns = 0;
  for (const clocks::unmarked_piece& p : pieces) {
    CHECK(p.block == explain::between_key(p.first, p.second));
    unmarked_ns += p.ns;
  }
  for (const span& s : spans) unmarked_ns -= unmarked_blocks.count(s.block) != 0 ? s.to - s.from : 0;
  CHECK(unmarked_ns == 0);
  std::int64_t asked = 0;
  for (std::size_t record = 0; kept * record < go_ns.size(); record += kept == 1 ? 3 : 1) {
    for (std::size_t i = 0; i <= 3 * record; i += 1 + random() % 3) {
      const std::int64_t since = instants[i], until = instants[3 * record];
      std::map<core::stable_key, std::int64_t> plain;
      for (const span& s : spans) {
        if (s.to != s.from && s.to > since && s.to <= until) plain[s.block] += s.to - s.from;
      }
      time.between(time.part_at(since, record), time.part_of(record), known);
      std::size_t at = 0;
      for (const auto& p : plain) {
        REQUIRE(at < known.found().size());
        CHECK(time.blocks()[known.found()[at].block] == p.first);
        CHECK(known.found()[at++].ns == p.second);
        ++asked;
      }
      CHECK(at == known.found().size());
    }
  }
  CHECK(asked > (kept == 1 ? 10000 : 1000));
  std::map<core::stable_key, std::int64_t> all_of_it{{explain::startup_key(), 7}};
  for (const span& s : spans) {
    if (s.to != s.from) all_of_it[s.block] += s.to - s.from;
  }
  CHECK(spent.size() == all_of_it.size());
  std::size_t at = 0;
  for (const auto& p : all_of_it) {
    CHECK(spent[at].block == p.first);
    CHECK(spent[at++].ns == p.second);
  }
}

TEST_CASE("the work of a location between two instants is the sum over the records in between") { check_own_time(1); }
TEST_CASE("records that nobody asks about are joined") { check_own_time(4); }
