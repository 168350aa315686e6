#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>

#include "../../sanitizers.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <type_traits>
#include <utility>

using whywait::base::memory_pool;
using whywait::base::pod_vector;

namespace {

struct point {
  std::int64_t x = 7, y = 0;
  std::int32_t z = 1;
  bool operator==(const point& o) const { return x == o.x && y == o.y && z == o.z; }
};

template <class T>
bool equal(const pod_vector<T>& a, const whywait::base::vector<T>& b) {
  if (a.size() != b.size() || a.empty() != b.empty() || a.capacity() < a.size()) return false;
  for (std::size_t i = 0; i != b.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return b.empty() || (a.front() == b.front() && a.back() == b.back() && a.end() - a.begin() == std::ptrdiff_t(b.size()));
}

// Applies the same random changes to both, several lists at a time.
template <class T, class Make>
void compare(memory_pool* pool, unsigned seed, Make make) {
  INFO("seed ", seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % (n + 1)); };
  constexpr std::size_t lists = 5;
  whywait::base::vector<pod_vector<T>> tested;
  whywait::base::vector<whywait::base::vector<T>> model(lists);
  for (std::size_t i = 0; i != lists; ++i) tested.push_back(pool != nullptr && i != 0 ? pod_vector<T>(*pool) : pod_vector<T>());
  for (int step = 0; step != 3000; ++step) {
    const std::size_t i = below(lists - 1), j = below(lists - 1);
    pod_vector<T>& a = tested[i];
    whywait::base::vector<T>& b = model[i];
    const auto at = static_cast<std::ptrdiff_t>(below(b.size())), rest = static_cast<std::ptrdiff_t>(b.size()) - at;
    const auto few = static_cast<std::ptrdiff_t>(below(static_cast<std::size_t>(rest)));
    const T value = make(random());
    switch (random() % 18) {
      case 0: a.push_back(value), b.push_back(value); break;
      case 1: a.emplace_back(value), b.emplace_back(value); break;
      case 2:
        if (!b.empty()) a.push_back(a[0]), b.push_back(T(b[0]));
        break;
      case 3:
        if (!b.empty()) a.pop_back(), b.pop_back();
        break;
      case 4: {
        const std::size_t n = below(b.size() + 20);
        a.resize(n), b.resize(n);
        break;
      }
      case 5: {
        const std::size_t n = below(40);
        a.assign(n, value), b.assign(n, value);
        break;
      }
      case 6: a.insert(a.begin() + at, value), b.insert(b.begin() + at, value); break;
      case 7: a.erase(a.begin() + at, a.begin() + at + few), b.erase(b.begin() + at, b.begin() + at + few); break;
      case 8:
        if (i != j)
          a.insert(a.begin() + at, tested[j].begin(), tested[j].end()),
              b.insert(b.begin() + at, model[j].begin(), model[j].end());
        break;
      case 9: a = tested[j], b = whywait::base::vector<T>(model[j]); break;
      case 10: a.swap(tested[j]), b.swap(model[j]); break;
      case 11:
        if (i != j) a = std::move(tested[j]), b = std::move(model[j]), tested[j].clear(), model[j].clear();
        break;
      case 12: a.reserve(below(300)); break;
      case 13: a.clear(), b.clear(); break;
      case 14:
        a.release(), b.clear();
        CHECK(a.capacity() == 0);
        break;
      case 15: {
        pod_vector<T> copy(a);
        copy.push_back(value);
        CHECK(copy != a);
        copy.pop_back();
        CHECK(copy == a);
        break;
      }
      case 16:
        if (rest != 0) a.erase(a.begin() + at), b.erase(b.begin() + at);
        break;
      default:
        if (i != j) a.assign(tested[j].begin(), tested[j].end()), b.assign(model[j].begin(), model[j].end());
    }
    for (std::size_t l = 0; l != lists; ++l) REQUIRE(equal(tested[l], model[l]));
    if (b.size() > 5000) a.release(), b.clear();
  }
}

}  // namespace

TEST_CASE("a pod_vector behaves like std::vector") {
  for (unsigned seed = 1; seed != 6; ++seed) {
    memory_pool pool;
    for (memory_pool* p : {static_cast<memory_pool*>(nullptr), &pool}) {
      compare<std::uint32_t>(p, seed, [](auto r) { return static_cast<std::uint32_t>(r); });
      compare<unsigned char>(p, seed, [](auto r) { return static_cast<unsigned char>(r); });
      compare<point>(p, seed, [](auto r) { return point{static_cast<std::int64_t>(r), 1, 2}; });
    }
  }
}

TEST_CASE("new elements have their defaults") {
  pod_vector<point> list(2);
  list.resize(3);
  list.emplace_back();
  for (const point& p : list) CHECK(p == point{});
  CHECK((pod_vector<int>{3, 1, 2}) == pod_vector<int>({3, 1, 2}));
}

TEST_CASE("nothing costs nothing") {
  static_assert(std::is_nothrow_move_constructible<pod_vector<int>>::value, "");
  static_assert(sizeof(pod_vector<int>) == 24, "");
  pod_vector<int> list;
  CHECK(list.capacity() == 0);
  CHECK(list.data() == nullptr);
  list.reserve(0);
  list.insert(list.end(), list.begin(), list.end());
  list.erase(list.begin(), list.end());
  CHECK(list.capacity() == 0);
}

TEST_CASE("more than 2^32 - 1 elements are refused, and the content stays") {
  if (WHYWAIT_TEST_ADDRESS_SANITIZER || WHYWAIT_TEST_THREAD_SANITIZER) return;  // they abort on such a large allocation
  memory_pool pool;
  for (pod_vector<char> list : {pod_vector<char>{'a', 'b'}, pod_vector<char>{}}) {
    const pod_vector<char> before = list;
    CHECK_THROWS_AS(list.reserve(std::size_t{1} << 32), std::bad_alloc);
    CHECK_THROWS_AS(list.resize(std::size_t{5} << 32), std::bad_alloc);
    CHECK(list == before);
  }
  pod_vector<char> pooled(pool);
  CHECK_THROWS_AS(pooled.reserve(std::size_t{1} << 32), std::bad_alloc);
}

TEST_CASE("assigning an empty vector releases memory") {
  pod_vector<int> list(100);
  list = {};
  CHECK(list.capacity() == 0);
}

TEST_CASE("a pool's blocks are apart from each other, aligned, and used again") {
  memory_pool pool;
  std::mt19937 random(7);
  struct block {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
  };
  whywait::base::vector<block> taken;
  const auto intact = [](const block& b) {
    for (std::size_t i = 0; i != b.bytes; ++i) {
      if (b.at[i] != b.mark) return false;
    }
    return true;
  };
  for (int step = 0; step != 20000; ++step) {
    if (taken.size() < 200 || random() % 2 == 0) {
      const std::size_t bytes = random() % (random() % 8 == 0 ? 40000 : 600);
      const block b{static_cast<unsigned char*>(pool.take(bytes)), bytes, static_cast<unsigned char>(random())};
      REQUIRE(reinterpret_cast<std::uintptr_t>(b.at) % 16 == 0);
      std::memset(b.at, b.mark, bytes);
      taken.push_back(b);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      REQUIRE(intact(taken.back()));
      pool.give(taken.back().at, taken.back().bytes);
      taken.pop_back();
    }
  }
  for (const block& b : taken) {
    REQUIRE(intact(b));
    pool.give(b.at, b.bytes);
  }
}

TEST_CASE("a list keeps its elements when its memory moves between the heap and mapped blocks") {
  memory_pool pool;
  for (memory_pool* const from : {static_cast<memory_pool*>(nullptr), &pool}) {
    pod_vector<std::uint32_t> list = from != nullptr ? pod_vector<std::uint32_t>(*from) : pod_vector<std::uint32_t>();
    constexpr std::uint32_t most = 5u << 20;  // 20 MiB
    for (std::uint32_t i = 0; i != most; ++i) list.push_back(i * 2654435761u);
    const auto right = [](const pod_vector<std::uint32_t>& l, std::uint32_t count) {
      if (l.size() != count) return false;
      for (std::uint32_t i = 0; i != count; ++i)
        if (l[i] != i * 2654435761u) return false;
      return true;
    };
    CHECK(right(list, most));
    pod_vector<std::uint32_t> copy(list), small(list.data(), list.data() + 10);
    CHECK(right(copy, most));
    copy.swap(small);
    CHECK(right(copy, 10));
    CHECK(right(small, most));
    list.release();
    CHECK(list.capacity() == 0);
  }
}
