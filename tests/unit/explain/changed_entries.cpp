#include <whywait/explain/changed_entries.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

using namespace whywait;
using explain::changed_entries;
using explain::snapshot_entry;

namespace changed_entries_tests {

using entries = std::vector<snapshot_entry>;

snapshot_entry entry(std::uint64_t block, std::int64_t ns) {
  snapshot_entry e{};
  e.name.block = block;
  e.use.ns = ns;
  return e;
}

/// The packet of a snapshot after a head of 5 bytes, and the number of entries in it.
base::packet written(const entries& all, base::packet& last, std::uint32_t& sent) {
  base::packet out(5, 0xab);
  for (const snapshot_entry& e : all) put(out, e);
  sent = changed_entries::write(out, 5, last);
  CHECK(out.size() == 5 + sent * (sizeof(snapshot_entry) + sizeof(std::uint32_t)));
  for (int i = 0; i != 5; ++i) CHECK(out[static_cast<std::size_t>(i)] == 0xab);
  return out;
}

bool same(const base::packet& bytes, const entries& all) {
  return bytes.size() == all.size() * sizeof(snapshot_entry) && std::memcmp(bytes.data(), all.data(), bytes.size()) == 0;
}

TEST_CASE("what changed gives the whole list again, for lists that grow, shrink and change anywhere") {
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  entries all;
  base::packet last_sent, last_received;
  for (int round = 0; round != 500; ++round) {
    const entries before = all;
    if (round % 50 == 49) all.resize(below(all.size() + 1));
    for (std::size_t n = below(4); n != 0; --n) all.push_back(entry(all.size() + 1, 1));
    for (std::size_t n = all.empty() ? 0 : below(4); n != 0; --n) ++all[below(all.size())].use.ns;
    std::uint32_t sent = 0, expected = 0;
    for (std::size_t i = 0; i != all.size(); ++i)
      expected += i >= before.size() || std::memcmp(&before[i], &all[i], sizeof all[i]) != 0 ? 1 : 0;
    const base::packet out = written(all, last_sent, sent);
    CHECK(sent == expected);
    explain::snapshot_head head{};
    head.entries = static_cast<std::uint32_t>(all.size());
    head.sent = sent;
    base::packet_reader in(out.data() + 5, out.size() - 5);
    changed_entries::read(in, head, last_received);
    CHECK(in.empty());
    REQUIRE(same(last_received, all));
    REQUIRE(same(last_sent, all));
  }
  CHECK(all.size() > 50);
}

TEST_CASE("a damaged list of changes is an error") {
  entries all;
  for (std::uint64_t i = 0; i != 20; ++i) all.push_back(entry(i, 1));
  base::packet last;
  std::uint32_t sent = 0;
  base::packet out = written(all, last, sent);
  explain::snapshot_head head{};
  head.entries = head.sent = 20;
  const auto read = [&head](const base::packet& from, std::size_t size) {
    base::packet received;
    base::packet_reader in(from.data() + 5, size - 5);
    changed_entries::read(in, head, received);
  };
  read(out, out.size());
  CHECK_THROWS_AS(read(out, out.size() - 1), std::out_of_range);
  head.entries = 19;  // the last position is behind the end
  CHECK_THROWS_AS(read(out, out.size()), std::out_of_range);
}

}  // namespace changed_entries_tests
