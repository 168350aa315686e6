#include <whywait/base/vector.hpp>

#include <doctest/doctest.h>
#include <cstddef>
#include <list>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace base = whywait::base;

namespace {

// Counts its objects; the copy of a bad one throws.
struct counted_element {
  static int alive;
  int value;
  bool bad = false;
  counted_element(int v = 0) : value(v) { ++alive; }
  counted_element(const counted_element& other) : value(other.value), bad(other.bad) {
    if (bad) throw std::runtime_error("copy");
    ++alive;
  }
  counted_element(counted_element&& other) noexcept : value(other.value), bad(other.bad) { ++alive; }
  counted_element& operator=(const counted_element&) = default;
  ~counted_element() { --alive; }
};
int counted_element::alive = 0;

template <class T>
void check_same(const base::vector<T>& mine, const std::vector<T>& standard) {
  REQUIRE(mine.size() == standard.size());
  CHECK(static_cast<std::vector<T>>(mine) == standard);
}

}  // namespace

TEST_CASE("random operations leave what they leave in a std::vector") {
  std::mt19937 random(20261122);
  base::vector<std::string> mine;
  std::vector<std::string> standard;
  for (int step = 0; step != 4000; ++step) {
    const std::string value = "a string that is long enough for the heap " + std::to_string(step);
    const std::size_t at = standard.empty() ? 0 : random() % standard.size(), to = at + random() % (standard.size() - at + 1);
    const auto where = static_cast<std::ptrdiff_t>(at), behind = static_cast<std::ptrdiff_t>(to);
    switch (random() % 9) {
      case 0:
        mine.insert(mine.begin() + at, value);
        standard.insert(standard.begin() + where, value);
        break;
      case 1:
        mine.erase(mine.begin() + at, mine.begin() + to);
        standard.erase(standard.begin() + where, standard.begin() + behind);
        break;
      case 2:
        mine.resize(to, value);
        standard.resize(to, value);
        break;
      case 3: {
        const std::list<std::string> more = {value, "short", value + value};
        mine.insert(mine.begin() + at, more.begin(), more.end());
        standard.insert(standard.begin() + where, more.begin(), more.end());
        break;
      }
      case 4:
        if (standard.empty()) break;
        mine.push_back(mine[at]);  // one of its own elements
        standard.push_back(std::string(standard[at]));
        break;
      case 5:
        if (standard.empty()) break;
        mine.pop_back();
        standard.pop_back();
        break;
      case 6: {
        base::vector<std::string> copy = mine;
        copy.push_back("more");
        mine = copy;
        standard.push_back("more");
        break;
      }
      default: mine.emplace_back(value); standard.emplace_back(value);
    }
    check_same(mine, standard);
  }
}

TEST_CASE("every element is destroyed once") {
  {
    base::vector<counted_element> all(3, counted_element(7));
    all.resize(10);
    all.insert(all.begin() + 2, counted_element(5));
    all.erase(all.begin());
    all.assign(4, counted_element(1));
    base::vector<counted_element> other = all;
    other.swap(all);
    all = static_cast<base::vector<counted_element>&&>(other);
    all.clear();
    CHECK(all.empty());
    all.emplace_back(4);
    CHECK(all.back().value == 4);
  }
  CHECK(counted_element::alive == 0);
}

TEST_CASE("a copy that throws loses nothing") {
  {
    base::vector<counted_element> all;
    for (int i = 0; i != 5; ++i) all.emplace_back(i);
    all[3].bad = true;
    CHECK_THROWS_AS((base::vector<counted_element>(all.begin(), all.end())), std::runtime_error);
    base::vector<counted_element> other(2);
    CHECK_THROWS_AS(other = all, std::runtime_error);
    CHECK(other.size() == 2);
  }
  CHECK(counted_element::alive == 0);
}

TEST_CASE("elements may be moved only, or vectors") {
  base::vector<std::unique_ptr<int>> owners;
  for (int i = 0; i != 20; ++i) owners.push_back(std::make_unique<int>(i));
  owners.erase(owners.begin() + 3);
  CHECK(*owners[3] == 4);
  base::vector<base::vector<int>> nested(3, base::vector<int>{1, 2});
  nested[1].push_back(3);
  CHECK(nested[0] == base::vector<int>{1, 2});
  CHECK(nested[1] != nested[0]);
  CHECK(nested[0] < nested[1]);
}

TEST_CASE("too many elements are refused") {
  base::vector<double> all;
  CHECK_THROWS_AS(all.reserve(~std::size_t{0} / 8), std::bad_alloc);
  CHECK_THROWS_AS(all.at(0), std::out_of_range);
}

TEST_CASE("memory for as many elements as there is room for is not allocated again") {
  struct moved_element {
    int* moves;
    explicit moved_element(int& counter) : moves(&counter) {}
    moved_element(moved_element&& other) noexcept : moves(other.moves) { ++*moves; }
    moved_element& operator=(moved_element&&) = delete;
    ~moved_element() {}
  };
  int moves = 0;
  base::vector<moved_element> list;
  list.reserve(4);
  for (int i = 0; i != 3; ++i) list.emplace_back(moves);
  moves = 0;
  list.reserve(3);
  list.reserve(4);
  CHECK(moves == 0);
  list.reserve(100);
  CHECK(moves == 3);
}
