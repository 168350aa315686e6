#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/run_maps.hpp>

#include "reference_simulation.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>

using namespace histories;

namespace {

explain::options with_maps() {
  explain::options settings = run::exact();
  settings.maps = true;
  return settings;
}

std::int64_t sum_of(const explain::time_bins& bins) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i != bins.size(); ++i) sum += bins[i];
  return sum;
}
std::int64_t sum_of(const explain::run_maps& maps, std::size_t series) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row != maps.rows(); ++row) sum += sum_of(maps.at(static_cast<std::int32_t>(row), series));
  return sum;
}

/// The chain of definitions 1.5: rank 0 computes 10 and sends; rank 1 computes 4, waits 6, computes 2 and sends; rank 2
/// computes 5 and waits 7. In thousands of nanoseconds.
run chain() {
  run r(3);
  r[0].step("a", 10000);
  r[0].send(10000, 10000, 1, 0, "first send");
  r[1].step("a", 4000);
  r[1].receive(4000, 10000, 0, 0, "first receive");
  r[1].step("c", 2000);
  r[1].send(12000, 12000, 2, 0, "second send");
  r[2].step("a", 5000);
  r[2].receive(5000, 12000, 1, 0, "second receive");
  for (int i = 0; i != 3; ++i) r[i].end_ns = 12000;
  return r;
}

}  // namespace

TEST_CASE("each of up to 64 ranks has a row; more ranks share rows of equal size") {
  for (const auto& [number, each, count] :
       {std::array<std::int32_t, 3>{1, 1, 1}, {64, 1, 64}, {65, 2, 33}, {4096, 64, 64}, {65536, 1024, 64}, {65537, 1025, 64}}) {
    const std::int32_t ranks = number;
    CAPTURE(ranks);
    const explain::rank_rows rows(ranks);
    CHECK(rows.each() == each);
    CHECK(rows.count() == count);
    CHECK(rows.of(0) == 0);
    CHECK(rows.of(ranks - 1) == count - 1);
    CHECK(rows.last_rank(count - 1) == ranks - 1);
    for (std::int32_t row = 1; row < count; ++row) REQUIRE(rows.first_rank(row) == rows.last_rank(row - 1) + 1);
  }
}

TEST_CASE("bins double in width when the run outgrows them, and lose nothing") {
  explain::time_bins bins;
  bins.add(0, 2500);
  CHECK(bins.size() == 3);
  CHECK(bins[2] == 500);
  bins.add(127000, 128000);
  CHECK(bins.width_ns() == 1000);
  CHECK(bins.size() == 128);
  bins.add(128000, 128001);
  CHECK(bins.width_ns() == 2000);
  CHECK(bins.size() == 65);
  CHECK(bins[0] == 2000);
  CHECK(bins[1] == 500);
  CHECK(bins[63] == 1000);
  CHECK(bins[64] == 1);
  bins.add(-5, 3);  // before the beginning
  CHECK(bins[0] == 2008);
  for (const std::int64_t length : {1, 64999, 128000, 128001, 1000000000}) {
    explain::time_bins other;
    other.add(length - 1, length);
    CHECK(other.width_ns() == explain::time_bins::width_for(length));
    CHECK(other.size() <= 128);
  }
  explain::time_bins wide;
  wide.add(1000000, 1003000);
  wide.add(bins);
  CHECK(wide.width_ns() == 8000);
  CHECK(sum_of(wide) == 3000 + sum_of(bins));
  wide.add(bins, -1);
  CHECK(sum_of(wide) == 3000);
}

TEST_CASE("a map has the waits and the code of each rank where they were") {
  run r = chain();
  const explain::outcome out = r.explain(with_maps());
  const explain::run_maps& maps = out.maps;
  REQUIRE(maps.ranks == 3);
  REQUIRE(maps.rows() == 3);
  CHECK(maps.width_ns == 1000);
  CHECK(maps.at(0, explain::run_maps::waiting).size() == 0);
  for (std::size_t bin = 0; bin != 12; ++bin) {
    CAPTURE(bin);
    CHECK(maps.at(1, explain::run_maps::waiting)[bin] == (bin >= 4 && bin < 10 ? 1000 : 0));
    CHECK(maps.at(2, explain::run_maps::waiting)[bin] == (bin >= 5 ? 1000 : 0));
  }
  REQUIRE(maps.blocks.size() >= 2);
  CHECK(maps.blocks[0] == core::key_of("a"));
  CHECK(sum_of(maps, explain::run_maps::first_block) == 19000);
  CHECK(maps.at(1, explain::run_maps::first_block)[3] == 1000);
  CHECK(maps.at(1, explain::run_maps::first_block)[4] == 0);
  REQUIRE(maps.messages.size() == 2);
  CHECK(maps.messages[0].from == 0);
  CHECK(maps.messages[0].to == 1);
  CHECK(maps.messages[1].to == 2);
  REQUIRE(maps.waits.size() == 2);
  CHECK(maps.waits[0].from == 1);
  CHECK(maps.waits[0].to == 0);
  CHECK(maps.waits[0].amount == 6000);
  CHECK(maps.waits[1].from == 2);
  CHECK(maps.waits[1].to == 1);
  CHECK(maps.waits[1].amount == 7000);
}

TEST_CASE("the inherited part of a wait leads to the wait that it came through") {
  run r = chain();
  const explain::outcome out = r.explain(with_maps());
  REQUIRE(out.maps.links.size() == 1);
  const auto key = [](const char* operation, const char* cause) {
    return explain::wait_classes::key_of(explain::pattern::late_sender, core::key_of(operation), core::key_of(cause));
  };
  CHECK(out.maps.links[0].wait == key("second receive", "second send"));
  CHECK(out.maps.links[0].through == key("first receive", "first send"));
  CHECK(out.maps.links[0].count == 1);
  CHECK(out.maps.links[0].ns == 5000);  // of 7: a + 5 by rank 0, c + 2 by rank 1 itself
}

TEST_CASE("without maps nothing is collected") {
  run r = chain();
  const explain::outcome out = r.explain(run::exact());
  CHECK(out.maps.ranks == 0);
  CHECK(out.maps.bins.empty());
}

TEST_CASE("maps of random programs equal those that are counted wait by wait and call by call") {
  std::int64_t links = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(200u); ++seed) {
    CAPTURE(seed);
    reference::shape shape;
    shape.ranks = 2 + static_cast<int>(seed % 7);
    reference::program program(seed, shape);
    run& data = program.histories();
    const explain::outcome out = data.explain(with_maps());
    const explain::run_maps& maps = out.maps;
    REQUIRE(maps.rows() == static_cast<std::size_t>(shape.ranks));
    CHECK(sum_of(maps, explain::run_maps::waiting) == out.waiting_ns);
    std::int64_t all = 0, earliest = INT64_MAX;
    for (std::size_t s = 0; s != maps.series_count(); ++s) all += sum_of(maps, s);
    CHECK(all == out.location_ns);
    for (int i = 0; i != shape.ranks; ++i) earliest = std::min(earliest, data[i].begin_ns);
    // each nanosecond of each wait
    std::map<std::pair<std::int32_t, std::size_t>, std::int64_t> expected;
    std::map<std::pair<std::int32_t, std::int32_t>, explain::row_pair> waits;
    for (const explain::wait_instance& w : data.notes.waits) {
      for (std::int64_t ns = w.begin_ns; ns != w.begin_ns + w.wait_ns; ++ns)
        ++expected[{w.rank, static_cast<std::size_t>((ns - earliest) / maps.width_ns)}];
      auto& p = waits[{w.rank, w.causer_rank}];
      explain::row_pair::join(p, {0, 0, 1, w.wait_ns});
    }
    std::size_t bins = 0;
    for (std::int32_t row = 0; row != shape.ranks; ++row) {
      const explain::time_bins& waiting = maps.at(row, explain::run_maps::waiting);
      for (std::size_t bin = 0; bin != waiting.size(); ++bin) {
        std::int64_t whole = 0;
        for (std::size_t s = 0; s != maps.series_count(); ++s) {
          CHECK(maps.at(row, s)[bin] >= 0);
          whole += maps.at(row, s)[bin];
        }
        CHECK(whole <= maps.width_ns);
        if (waiting[bin] == 0) continue;
        ++bins;
        REQUIRE(waiting[bin] == expected[{row, bin}]);
      }
    }
    CHECK(bins == expected.size());
    REQUIRE(maps.waits.size() == waits.size());
    for (const explain::row_pair& w : maps.waits) {
      CHECK(w.count == waits[{w.from, w.to}].count);
      CHECK(w.amount == waits[{w.from, w.to}].amount);
    }
    std::int64_t sends = 0, counted = 0;
    for (int i = 0; i != shape.ranks; ++i)
      for (const sync_record& r : data[i].locations[0].records) sends += r.has(flag::posts_send) ? 1 : 0;
    for (const explain::row_pair& m : maps.messages) counted += m.count;
    CHECK(counted == sends);
    // a link is no longer than the inherited part of its class
    std::map<core::stable_key, std::int64_t> inherited;
    for (const explain::wait_instance& w : data.notes.waits) {
      std::int64_t sum = 0;
      for (const auto& t : w.terms) sum += t.inherited_ns;
      const auto& l = data[w.rank].locations[w.location];
      const core::stable_key cause = data[w.causer_rank]
                                         .locations[w.causer_location]
                                         .sites[data[w.causer_rank].locations[w.causer_location].records[w.causer_record].site];
      inherited[explain::wait_classes::key_of(w.why, l.sites[l.records[w.record].site], cause)] +=
          std::max<std::int64_t>(0, std::min(sum, w.wait_ns));
    }
    for (const explain::class_link& l : maps.links) {
      CHECK(l.ns > 0);
      inherited[l.wait] -= l.ns;
      links += l.count;
    }
    for (const auto& i : inherited) CHECK(i.second >= 0);
  }
  CHECK(links > 100);
}

TEST_CASE("the maps of a run do not depend on how ranks are merged") {
  explain::run_maps one, other;
  for (const bool forward : {true, false}) {
    explain::run_maps sum;
    for (int k = 0; k != 5; ++k) {
      const std::int32_t row = forward ? k : 4 - k;
      explain::run_maps part;
      part.ranks = 5;
      part.first_row = row;
      part.bins.resize(part.series_count());
      part.at(row, explain::run_maps::waiting).add(1000 * row, 70000 * row + 2000);
      part.messages.push_back({row, 0, 1, 10});
      part.links.push_back({static_cast<core::stable_key>(row % 2 + 1), 3, 1, 100});
      base::packet out;
      part.write(out);
      base::packet_reader in(out.data(), out.size());
      explain::run_maps copy;
      copy.read(in);
      CHECK(in.empty());
      sum.merge(std::move(copy));
    }
    sum.align();
    (forward ? one : other) = sum;
  }
  REQUIRE(one.rows() == 5);
  CHECK(one.width_ns == 4000);
  CHECK(other.width_ns == one.width_ns);
  for (std::int32_t row = 0; row != 5; ++row) {
    const explain::time_bins &a = one.at(row, 0), &b = other.at(row, 0);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i != a.size(); ++i) CHECK(a[i] == b[i]);
  }
  REQUIRE(one.links.size() == 2);
  CHECK(one.links[0].ns == 300);
  CHECK(other.links[0].ns == 300);
  CHECK(one.messages.size() == 5);
}

TEST_CASE("thousands of ranks share 64 rows") {
  constexpr int ranks = 1000;
  run r(ranks);
  for (int i = 0; i != ranks; ++i) {
    r[i].step("work", static_cast<std::uint64_t>(100 + i));
    r[i].collective(mpi_call::Barrier, static_cast<std::uint64_t>(100 + i), 2000);
    r[i].end_ns = 2000;
  }
  const explain::outcome out = r.explain(with_maps());
  CHECK(out.maps.rows() == 63);  // 16 ranks each
  CHECK(sum_of(out.maps, explain::run_maps::waiting) == out.waiting_ns);
  CHECK(sum_of(out.maps.at(0, explain::run_maps::first_block)) == 16 * 100 + 15 * 16 / 2);
  CHECK(sum_of(out.maps.at(62, explain::run_maps::first_block)) == 8 * (100 + 992) + 7 * 8 / 2);
  REQUIRE(out.maps.waits.size() == 63);
  CHECK(out.maps.waits[5].to == 62);
}

TEST_CASE("maps survive the way through bytes, for any number of ranks") {
  for (const std::int32_t ranks : {1, 2, 100}) {
    CAPTURE(ranks);
    explain::run_maps maps;
    maps.ranks = ranks;
    maps.first_row = 3;
    maps.blocks = {7, 9};
    maps.messages.push_back({1, 2, 3, 4});
    maps.waits.push_back({5, 6, 7, 8});
    whywait::base::packet bytes;
    maps.write(bytes);
    whywait::base::packet_reader in(bytes.data(), bytes.size());
    explain::run_maps read;
    read.read(in);
    CHECK(in.empty());
    CHECK(read.ranks == ranks);
    CHECK(read.first_row == 3);
    CHECK(read.blocks == maps.blocks);
    REQUIRE(read.messages.size() == 1);
    CHECK(read.messages[0].amount == 4);
    REQUIRE(read.waits.size() == 1);
    CHECK(read.waits[0].count == 7);
  }
}
