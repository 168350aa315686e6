#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

using whywait::base::small_stable_sort;

TEST_CASE("small_stable_sort equals std::stable_sort") {
  std::mt19937 random(7);
  for (int size = 0; size != 70; ++size) {
    for (const unsigned values : {1u, 3u, 1000u}) {
      whywait::base::vector<std::pair<unsigned, std::string>> list;
      for (int i = 0; i != size; ++i)  // short texts lie in the string itself
        list.emplace_back(random() % values, (i % 2 == 0 ? "element number " : "") + std::to_string(i));
      auto expected = list;
      const auto before = [](const auto& a, const auto& b) { return a.first > b.first; };
      std::stable_sort(expected.begin(), expected.end(), before);
      small_stable_sort(list, before);
      CHECK(list == expected);
      small_stable_sort(list);
      CHECK(std::is_sorted(list.begin(), list.end()));
    }
  }
}

TEST_CASE("move-only elements can be sorted") {
  whywait::base::vector<std::unique_ptr<int>> list;
  for (const int i : {3, 1, 2, 0, 4}) list.emplace_back(new int(i));
  small_stable_sort(list, [](const auto& a, const auto& b) { return *a < *b; });
  for (int i = 0; i != 5; ++i) CHECK(*list[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a comparison that throws leaves the list as it was") {
  whywait::base::vector<std::string> list{"c", "b", "a"};
  CHECK_THROWS_AS(small_stable_sort(list, [](const auto&, const auto&) -> bool { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(list == whywait::base::vector<std::string>{"c", "b", "a"});
}

TEST_CASE("sort_by_number and sort_by_record equal std::stable_sort") {
  std::mt19937 random(13);
  struct element {
    unsigned record, number;
  };
  whywait::base::pod_vector<std::uint32_t> room{1, 2, 3};
  for (const std::size_t size : {0u, 1u, 2u, 3u, 10u, 1000u}) {
    for (const unsigned values : {1u, 2u, 7u, 1000u}) {
      whywait::base::pod_vector<element> list;
      for (std::size_t i = 0; i != size; ++i)
        list.push_back({static_cast<unsigned>(random() % values), static_cast<unsigned>(i)});
      auto expected = list, by_record = list;
      const auto before = [](const element& a, const element& b) { return a.record < b.record; };
      std::stable_sort(expected.begin(), expected.end(), before);
      whywait::base::sort_by_number(
          list.data(), size, values, [](const element& e) { return e.record; }, room);
      whywait::base::sort_by_record(by_record, values, room);
      for (std::size_t i = 0; i != size; ++i) {
        REQUIRE(list[i].number == expected[i].number);
        REQUIRE(by_record[i].number == expected[i].number);
      }
    }
  }
  whywait::base::pod_vector<element> beyond{{9, 0}, {1, 1}, {4, 2}, {0, 3}};
  whywait::base::sort_by_record(beyond, 4, room);  // records 4 and 9 do not exist
  for (std::size_t i = 0; i != 4; ++i) CHECK(beyond[i].number == std::array<unsigned, 4>{3, 1, 0, 2}[i]);
}

TEST_CASE("sort_and_join adds up equal elements in their first order, whatever their number") {
  using entry = std::pair<int, std::string>;
  const auto before = [](const entry& a, const entry& b) { return a.first < b.first; };
  const auto add = [](entry& to, const entry& e) { to.second += e.second; };
  whywait::base::vector<entry> list{{2, "a"}, {1, "b"}, {2, "c"}, {3, "d"}, {2, "e"}, {1, "f"}};
  whywait::base::sort_and_join(list, before, add);
  CHECK(list == whywait::base::vector<entry>{{1, "bf"}, {2, "ace"}, {3, "d"}});
  whywait::base::vector<entry> none;
  whywait::base::sort_and_join(none, before, add);
  CHECK(none.empty());
}

TEST_CASE("sort_and_unique keeps each element once, in order") {
  whywait::base::pod_vector<std::int32_t> list;
  whywait::base::sort_and_unique(list);
  CHECK(list.empty());
  for (const std::int32_t i : {5, -1, 5, 3, -1, 3, 5}) list.push_back(i);
  whywait::base::sort_and_unique(list);
  REQUIRE(list.size() == 3);
  CHECK(list[0] == -1);
  CHECK(list[1] == 3);
  CHECK(list[2] == 5);
}

TEST_CASE("join_neighbours joins only elements that stand side by side") {
  whywait::base::pod_vector<int> list{1, 1, 2, 1, 3, 3, 3};
  whywait::base::join_neighbours(
      list, [](int a, int b) { return a % 10 == b; }, [](int& to, int) { to += 10; });
  CHECK(list == whywait::base::pod_vector<int>{11, 2, 1, 23});
}

TEST_CASE("sort_short equals std::stable_sort for short and long lists") {
  std::mt19937 random(11);
  for (const std::size_t size : {0u, 1u, 2u, 3u, 5u, 8u, 31u, 32u, 33u, 100u}) {
    for (const unsigned values : {2u, 5u, 1000u}) {
      struct element {
        unsigned key, number;
      };
      whywait::base::vector<element> list;
      for (std::size_t i = 0; i != size; ++i)
        list.push_back({static_cast<unsigned>(random() % values), static_cast<unsigned>(i)});
      auto expected = list;
      const auto before = [](const element& a, const element& b) { return a.key < b.key; };
      std::stable_sort(expected.begin(), expected.end(), before);
      whywait::base::sort_short(list.data(), list.size(), before);
      for (std::size_t i = 0; i != size; ++i) {
        CAPTURE(i);
        REQUIRE(list[i].key == expected[i].key);
        REQUIRE(list[i].number == expected[i].number);
      }
    }
  }
}
