#include "ranks.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_assemble.hpp>
#include <whywait/data/report/communication_text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace ranks;
namespace base = whywait::base;

namespace {

base::place call(const char* name, const char* region, int line) {
  base::place p;
  p.call = name;
  p.region = region;
  p.file = "src/halo.cpp";
  p.line = line;
  return p;
}

base::place block(const char* name, int line) {
  base::place p;
  p.name = name;
  p.kind = "region";
  p.file = "src/halo.cpp";
  p.line = line;
  return p;
}

base::names known() {
  base::names out;
  out.add(key("halo.send"), call("MPI_Send", "main/exchange", 131));
  out.add(key("halo.receive"), call("MPI_Recv", "main/exchange", 142));
  out.add(key("relax"), block("relax", 52));
  out.add(key("columns"), block("columns", 70));
  out.add(key("swept"), block("swept", 60));
  out.add(key("u"), block("u", 7));
  out.add(key("a"), block("a", 8));
  out.add(key("sum"), block("sum", 9));
  return out;
}

/// Two ranks exchange a row of 64 elements that is written once and sent three times.
data::communication halos() {
  program p(2);
  const auto u = p.object("u", {16, 64}, 8);
  for (int r = 0; r != 2; ++r) p.write(r, "relax", u, {0, 16 * 64 * 8, 0, 0});
  for (int i = 0; i != 3; ++i) {
    const std::uint32_t order = p.send(0, 1, "halo.send", u, {14 * 512, 15 * 512, 0, 0});
    p.receive(1, 0, "halo.receive", u, {0, 512, 0, 0}, order).record = static_cast<std::uint32_t>(i) + 1;
  }
  for (int r = 0; r != 2; ++r) p.at(r).locations[0].calls.assign(3, {3000000, 1500000});
  const base::names names = known();
  data::communication out;
  data::add_classes(out, p.classify(), data::data_naming(names));
  return out;
}

/// Four ranks own the rows of `a` but run a loop over its columns.
data::communication columns_of_rows() {
  program p(4);
  const auto a = p.object("a", {16, 16}, 8);
  for (int r = 0; r != 4; ++r) {
    const auto from = static_cast<std::uint64_t>(r);
    p.write(r, "relax", a, {from * 512, (from + 1) * 512, 0, 0});
    const data::region mine{from * 32, 15 * 128 + (from + 1) * 32, 128, 32};
    p.add(r, core::data_op::iterations, "columns", a, mine);
    p.read(r, "columns", a, mine);
  }
  explain::simulated_transport transport(4);
  const data::placement_report found = data::examine(transport, p.finished());
  const base::names names = known();
  data::communication out;
  out.classes.resize(1);
  out.classes[0].data = "a";
  out.classes[0].seconds = 0.5;
  data::add_placements(out, found, data::data_naming(names));
  out.classes.clear();
  return out;
}

/// Two threads increment counters in the same cache lines.
data::communication counters(std::uint64_t lines = 1, std::uint64_t most_granules = 4096) {
  program p(1);
  const auto sum = p.object("sum", {8 * lines}, 8);
  whywait::base::vector<whywait::base::vector<core::data_record>> records(2);
  std::uint64_t time = 0;
  const auto add = [&](std::size_t t, core::data_op op, const char* where, std::uint64_t begin,
                       std::uint64_t end) -> core::data_record& {
    core::data_record r;
    r.time = ++time;
    r.op = op;
    r.object = op == core::data_op::synchronise ? 0 : sum;
    r.begin = begin;
    r.end = end;
    r.site = p.site(where);
    records[t].push_back(r);
    return records[t].back();
  };
  for (std::uint32_t i = 1; i != 4; ++i) {
    for (std::uint64_t k = 0; k != 2 * lines; ++k)
      add(k % 2, core::data_op::write, "relax", k / 2 * 64 + k % 2 * 8, k / 2 * 64 + k % 2 * 8 + 8);
    for (std::size_t t = 0; t != 2; ++t) {
      core::data_record& r = add(t, core::data_op::synchronise, "swept", 0, 0);
      r.flags = flag::everyone;
      r.order = i;
    }
  }
  data::rank_data& rank = p.finished()[0];
  const core::data_record* chunks[2] = {records[0].data(), records[1].data()};
  rank.locations.clear();
  for (std::size_t t = 0; t != 2; ++t) rank.locations.push_back({{&chunks[t], 63, records[t].size()}, {}});
  data::sharing_options options;
  options.most_granules = most_granules;
  data::sharing_book book(rank, options);
  book.take_all();
  const base::names names = known();
  data::communication out;
  data::add_sharing(out, book.result(), options, "thread", data::data_naming(names));
  return out;
}

}  // namespace

TEST_CASE("a class of transfers is reported with its places, its origin and its problems") {
  CHECK(data::communication_text(halos(), 80) ==
        "\n    why data was sent\n"
        "     1 `u` (high side of dimension 0): 1.50 KiB in 3 messages, 9.00 ms, 4.50 ms\n"
        "          of it waiting\n"
        "        MPI_Send in exchange (halo.cpp:131)\n"
        "          -> MPI_Recv in exchange (halo.cpp:142)\n"
        "        produced by `relax`; 1 pair of ranks\n"
        "        2 of 3 transfers of `u` (high side of dimension 0) repeated data that\n"
        "        the sender had sent to the same rank before and that was not written\n"
        "        since: 1 KiB\n"
        "        try: send it only when it has changed: the receiver still has it (saves\n"
        "             at most 6.00 ms of rank time)\n");
}

TEST_CASE("data of which no read is recorded has a note, if reads of other data are recorded") {
  data::communication c = halos();
  c.classes.push_back(c.classes[0]);
  for (data::communication_class& k : c.classes) k.watched_bytes = 0;
  const char* const note = "produced by `relax`; 1 pair of ranks; no read of it is recorded where it\n        arrives\n";
  CHECK(data::communication_text(c, 80).find(note) == std::string::npos);
  c.classes[0].watched_bytes = c.classes[0].read_bytes = 512;
  const std::string text = data::communication_text(c, 80);
  REQUIRE(text.find(note) != std::string::npos);
  CHECK(text.find("     2 `u`") < text.find(note));
}

TEST_CASE("a class keeps its numbers in seconds and bytes") {
  const data::communication c = halos();
  REQUIRE(c.classes.size() == 1);
  const data::communication_class& k = c.classes[0];
  CHECK(k.data == "u");
  CHECK(k.region == "high side of dimension 0");
  CHECK(k.from.call == "MPI_Send");
  CHECK(k.to.line == 142);
  CHECK(k.origin == "produced");
  CHECK(k.count == 3);
  CHECK(k.bytes == 1536);
  CHECK(k.seconds == doctest::Approx(0.009));
  CHECK(k.wait_seconds == doctest::Approx(0.0045));
  CHECK(k.unchanged_count == 2);
  REQUIRE(k.problems.size() == 1);
  CHECK(k.problems[0].problem == "unchanged_data");
  CHECK(k.problems[0].needless_bytes == 1024);
  CHECK(k.problems[0].saving_seconds == doctest::Approx(0.006));
}

TEST_CASE("a loop across the distribution is reported with the better schedule and its saving") {
  const data::communication c = columns_of_rows();
  REQUIRE(c.arrays.size() == 1);
  CHECK(c.arrays[0].distribution == "(block, *)");
  REQUIRE(c.arrays[0].uses.size() == 1);
  CHECK(c.arrays[0].uses[0].schedule == "(*, block)");
  CHECK(c.arrays[0].uses[0].remote_share.value() == doctest::Approx(0.75));
  REQUIRE(c.arrays[0].uses[0].better.has_value());
  CHECK(c.arrays[0].uses[0].better->change == "schedule");
  CHECK(c.arrays[0].uses[0].better->saving_seconds == doctest::Approx(0.5));
  CHECK(data::communication_text(c, 80) ==
        "\n    where data is, and which ranks need it\n"
        "        loop `columns` runs (*, block) over `a`, which is distributed (block,\n"
        "        *): 75 % of accesses are remote; a (block, *) schedule makes it 0 %\n"
        "        (saves at most 500 ms)\n");
}

TEST_CASE("shared memory is reported in the form of figure 3 of the Carnival paper") {
  CHECK(data::communication_text(counters(), 80) ==
        "\n    shared memory\n"
        "        `sum`: false sharing 100 % of 1 piece of 64 bytes\n"
        "     1 `sum`: false sharing in 1 piece, 6 misses\n"
        "         1 R relax (halo.cpp:52) (written by threads 0 and 1)\n"
        "         2 R relax (halo.cpp:52) · I swept (halo.cpp:60) · W relax (halo.cpp:52)\n"
        "             (written by threads 0 and 1)\n"
        "        after \\ next      1     2\n"
        "        first use      1.00\n"
        "        1                    1.00\n"
        "        2                    1.00\n"
        "        try: pad and align what different threads write\n");
}

TEST_CASE("a sample of a large array is reported with its standard error") {
  const data::communication all = counters(), some = counters(8, 2);
  CHECK(all.sharing[0].standard_error == 0);
  REQUIRE_FALSE(some.sharing.empty());
  CHECK(some.sharing[0].granules_watched == 2);
  CHECK(some.sharing[0].granules_of_array == 8);
  CHECK(some.sharing[0].standard_error == doctest::Approx(0.5 * 0.6123724357));  // 0.5 sqrt((1 - 2/8) / 2)
  CHECK(data::communication_text(some, 200).find("looked at, a sample of 8: standard error at most 31 %") != std::string::npos);
}

TEST_CASE("unshared data and loops with local data are not reported") {
  data::communication c = counters();
  c.sharing[0].pattern = "private";
  CHECK(data::communication_text(c, 80).empty());
  data::communication placed = columns_of_rows();
  placed.arrays[0].uses[0].better.reset();
  CHECK(data::communication_text(placed, 80).empty());
}

TEST_CASE("arbitrary names cannot break the report") {
  data::communication c = halos();
  c.classes[0].data = "a\x1b[31m\n";
  c.classes[0].why = "b\n";
  const std::string text = data::communication_text(c, 80);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("`a?[31m `") != std::string::npos);
}

TEST_CASE("keys to name are those of arrays, calls, producers, loops and synchronisations") {
  program p(2);
  const auto u = p.object("u", {16});
  p.write(0, "relax", u, {0, 16, 0, 0});
  p.transfer(0, 1, "halo", u, {0, 16, 0, 0});
  p.read(1, "columns", u, {0, 16, 0, 0});
  const data::classified all = p.classify();
  explain::simulated_transport transport(2);
  const data::placement_report placed = data::examine(transport, p.finished());
  data::sharing_report shared;
  shared.nodes.resize(2);
  shared.nodes[1] = {key("relax"), key("swept"), {key("sum")}};
  const whywait::base::vector<core::stable_key> keys = data::keys_of(all, placed, {&shared});
  for (const char* name : {"u", "halo.send", "halo.receive", "relax", "swept", "sum"}) {
    CHECK_MESSAGE(std::count(keys.begin(), keys.end(), key(name)) == 1, name);
  }
  CHECK(std::count(keys.begin(), keys.end(), core::stable_key{0}) == 0);
}
