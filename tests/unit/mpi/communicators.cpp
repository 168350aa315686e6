#include <whywait/mpi/communicators.hpp>

#include <doctest/doctest.h>
#include <cstdint>

#include <set>

using namespace whywait::mpi;

TEST_CASE("members of one communicator agree on its id without talking") {
  communicator_table first, second;
  REQUIRE(first.open());
  REQUIRE(second.open());
  const std::int32_t world[] = {0, 1, 2, 3}, pair[] = {3, 1}, other[] = {0, 2};
  const auto w0 = first.add(world, 4, 1), w1 = second.add(world, 4, 3);
  CHECK(first[w0].id == second[w1].id);
  CHECK(first[w0].world == nullptr);  // the identity
  first.add(other, 2, 0);             // a communicator without the second process
  const auto p0 = first.add(pair, 2, 1), p1 = second.add(pair, 2, 0);
  CHECK(first[p0].id == second[p1].id);
  REQUIRE(first[p0].world != nullptr);
  CHECK(first[p0].world[0] == 3);
  CHECK(first[p0].rank == 1);
  CHECK(second[p1].rank == 0);
  first.release();
  second.release();
}

TEST_CASE("communicators of one list differ by their order, those of other lists by the list") {
  communicator_table table;
  REQUIRE(table.open());
  const std::int32_t up[] = {1, 2, 3}, down[] = {3, 2, 1}, less[] = {1, 2};
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 10; ++i) {
    ids.insert(table[table.add(up, 3, 0)].id);
    ids.insert(table[table.add(down, 3, 2)].id);
    ids.insert(table[table.add(less, 2, 0)].id);
  }
  CHECK(ids.size() == 30);
  CHECK(table[0].world == table[3].world);  // one copy of each list
  table.release();
}

TEST_CASE("both sides of an intercommunicator agree on its id") {
  communicator_table left, right;
  REQUIRE(left.open());
  REQUIRE(right.open());
  const std::int32_t a[] = {0, 1}, b[] = {2, 3, 4};
  const auto l = left.add(b, 3, 0, true, a, 2), r = right.add(a, 2, 1, true, b, 3);
  CHECK(left[l].id == right[r].id);
  CHECK(left[l].size == 3);
  CHECK(right[r].size == 2);
  CHECK(left[l].inter);
  CHECK(left[l].first != right[r].first);
  CHECK(left[l].own_size == 2);
  CHECK(right[r].own_size == 3);
  const std::int32_t all[] = {2, 3, 4};
  CHECK(left[left.add(all, 3, 0)].id != left[l].id);
  left.release();
  right.release();
}

TEST_CASE("members outside of the world are no ranks of it, and an intercommunicator with them matches nothing") {
  communicator_table table;
  REQUIRE(table.open());
  const std::int32_t world[] = {0, 1}, spawned[] = {-1, -1}, merged[] = {0, 1, -1};
  const auto& between = table[table.add(spawned, 2, 0, true, world, 2)];
  CHECK(between.id == 0);
  CHECK(between.outside);
  const auto first = table.add(merged, 3, 0), second = table.add(merged, 3, 1);
  CHECK(table[first].outside);
  CHECK(table[first].id != 0);
  CHECK(table[first].id != table[second].id);
  CHECK(table[first].world[2] == -1);
  CHECK_FALSE(table[table.add(world, 2, 0)].outside);
  table.release();
}

TEST_CASE("a handle means the communicator bound last, and nothing once forgotten") {
  communicator_table table;
  REQUIRE(table.open());
  const std::int32_t world[] = {0, 1};
  const auto a = table.add(world, 2, 0), b = table.add(world, 2, 0);
  table.bind(7, a);
  CHECK(table.find(7) == a);
  table.bind(7, b);
  CHECK(table.find(7) == b);
  table.forget(7);
  CHECK(table.find(7) == communicator_table::none);
  CHECK(table.size() == 2);
  table.release();
}
