#include <whywait/clocks/critical_path.hpp>

#include <doctest/doctest.h>

using whywait::clocks::critical_path;

namespace {

critical_path ended_at(std::int64_t end_ns, whywait::core::stable_key block, std::int64_t ns) {
  critical_path one;
  one.add(end_ns, {{block, ns, 1}}, {{block, ns, 1}});
  return one;
}

void merge(critical_path& into, const critical_path& from) {
  whywait::base::packet bytes;
  from.write(bytes);
  whywait::base::packet_reader in(bytes.data(), bytes.size());
  into.merge(in);
}

}  // namespace

TEST_CASE("the critical path is that of the rank that ended last, on a tie of the lower rank") {
  for (const std::int64_t second_end_ns : {99, 100, 101}) {
    CAPTURE(second_end_ns);
    critical_path all = ended_at(100, 7, 40);
    merge(all, ended_at(second_end_ns, 8, 60));
    const auto found = all.present(2);
    REQUIRE(found.size() == 1);
    CHECK(found[0].block == (second_end_ns > 100 ? 8 : 7));
    CHECK(found[0].ns == (second_end_ns > 100 ? 60 : 40));
    CHECK(all.end_ns == (second_end_ns > 100 ? 101 : 100));
    REQUIRE(all.spent.size() == 2);
    CHECK(all.spent[0].ns == 40);
    CHECK(all.spent[1].ns == 60);
  }
}

TEST_CASE("time on the critical path above the mean of all locations is imbalance") {
  critical_path all = ended_at(100, 7, 80);
  merge(all, ended_at(90, 7, 20));
  const auto found = all.present(2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ns == 80);
  CHECK(found[0].imbalance_ns == 30);  // above (80 + 20) / 2
}
