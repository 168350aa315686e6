#include <whywait/base/memory_pool.hpp>
#include <whywait/explain/collective_instances.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace base = whywait::base;
namespace core = whywait::core;
namespace explain = whywait::explain;

namespace {

constexpr std::int32_t members = 3;

/// Member `rank` takes part in the operation `ordinal`, an initiation with `needs` and the entries at these times.
void take_part(explain::collective_instances& to, std::uint32_t ordinal, std::int32_t rank,
               const std::vector<std::int32_t>& needs, const std::vector<std::int64_t>& entries) {
  explain::participant p{};
  p.comm = 77;
  p.ordinal = ordinal;
  p.rank = rank;
  p.size = members;
  p.call = core::mpi_call::Ineighbor_alltoall;
  p.needs_count = static_cast<std::uint32_t>(needs.size());
  base::packet data;
  put(data, p);
  for (const std::int32_t n : needs) put(data, n);
  put(data, static_cast<std::uint32_t>(entries.size()));
  for (const std::int64_t ns : entries) put(data, explain::later_entry{0, ns, ns + 1, 0, 0, 0});
  base::packet_reader in(data.data(), data.size());
  to.receive(100 + rank, in);
  REQUIRE(in.empty());
}

void check(const explain::collective_instances& all, const explain::participant& p, std::uint32_t ordinal, std::int32_t rank) {
  CHECK(p.ordinal == ordinal);
  CHECK(p.rank == rank);
  CHECK(p.world == 100 + rank);
  const auto tens = static_cast<std::int32_t>(10 * ordinal);
  REQUIRE(p.needs_count == 2);
  CHECK(all.needs()[p.needs_first] == tens + rank);
  CHECK(all.needs()[p.needs_first + 1] == tens + 5 + rank);
  REQUIRE(p.later_count == 2);
  CHECK(all.entries()[p.later_first].enter_ns == tens + rank);
  CHECK(all.entries()[p.later_first + 1].enter_ns == 1000 + tens + rank);
}

}  // namespace

TEST_CASE("operations wait for their last participant while others are answered and dropped, in any order") {
  base::memory_pool pool;
  explain::collective_instances all(pool);
  const auto join = [&](std::uint32_t ordinal, std::int32_t rank) {
    const auto tens = static_cast<std::int32_t>(10 * ordinal);
    take_part(all, ordinal, rank, {tens + rank, tens + 5 + rank}, {tens + rank, 1000 + tens + rank});
  };
  base::pod_vector<explain::participant> found;
  std::uint32_t answered = 0;
  const auto answer = [&] {
    for (const std::uint32_t number : all.complete()) {
      all.list(number, found);
      REQUIRE(found.size() == members);
      for (std::int32_t r = 0; r != members; ++r) check(all, found[static_cast<std::size_t>(r)], found[0].ordinal, r);
      ++answered;
    }
    all.drop_complete();
    CHECK(all.complete().empty());
  };
  // Rank 2 is always 7 operations behind the others, and of every fifth operation it is late by 20.
  constexpr std::uint32_t count = 300;
  for (std::uint32_t step = 0; step != count + 20; ++step) {
    if (step < count)
      for (const std::int32_t rank : {1, 0}) join(step, rank);
    if (step >= 7 && step - 7 < count && (step - 7) % 5 != 0) join(step - 7, 2);
    if (step >= 20 && (step - 20) % 5 == 0) join(step - 20, 2);
    if (step % 3 == 0) answer();
    // What is answered is at most half.
    CHECK(all.needs().size() <= 2 * (2 * 2 * 27 + 3 * 6));
  }
  answer();
  CHECK(answered == count);
  CHECK(all.others().empty());

  join(count + 1, 1);
  join(count, 0);
  join(count, 2);
  const auto left = all.others();
  REQUIRE(left.size() == 2);
  all.list(left[0], found);
  REQUIRE(found.size() == 2);
  check(all, found[0], count, 0);
  check(all, found[1], count, 2);
  all.list(left[1], found);
  REQUIRE(found.size() == 1);
  check(all, found[0], count + 1, 1);

  all.release();
  CHECK(all.others().empty());
  for (std::int32_t rank = 0; rank != members; ++rank) join(count, rank);  // begins anew
  CHECK(all.complete().size() == 1);
}
