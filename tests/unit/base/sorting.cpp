#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
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
      for (int i = 0; i != size; ++i) list.emplace_back(random() % values, "element number " + std::to_string(i));
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
