#include <whywait/base/ranks.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <thread>

namespace {

std::string ranks(std::initializer_list<std::int32_t> list, bool others = false) {
  whywait::base::pod_vector<std::int32_t> all;
  for (const std::int32_t rank : list) all.push_back(rank);
  return whywait::base::rank_list(all, others);
}

}  // namespace

TEST_CASE("ranks are listed as ranges") {
  CHECK(ranks({0}) == "rank 0");
  CHECK(ranks({3, 1, 2}) == "ranks 1-3");
  CHECK(ranks({4, 3}) == "ranks 3 and 4");
  CHECK(ranks({2, 0, 6, 5, 7}) == "ranks 0, 2 and 5-7");
  CHECK(ranks({0, 1, 4}) == "ranks 0, 1 and 4");
  CHECK(ranks({7, 7, 7}) == "rank 7");
  CHECK(ranks({}) == "some ranks");
}

TEST_CASE("long and truncated lists of ranks say so") {
  CHECK(ranks({0, 2, 4, 6, 8, 10}) == "ranks 0, 2, 4, 6, 8 and 10");
  CHECK(ranks({0, 2, 4, 6, 8, 10, 12}) == "7 ranks");
  CHECK(ranks({0, 2, 4, 6, 8, 10, 12}, true) == "7 ranks and others");
  CHECK(ranks({2}, true) == "rank 2 and others");
  CHECK(ranks({2, 5}, true) == "ranks 2, 5 and others");
}

TEST_CASE("ranks are called threads within a scope, on the thread that opened it") {
  using whywait::base::rank_noun_scope;
  using whywait::base::rank_text;
  CHECK(rank_text(3) == "rank 3");
  {
    const rank_noun_scope threads(true);
    CHECK(rank_text(3) == "thread 3");
    CHECK(ranks({0, 1, 4}) == "threads 0, 1 and 4");
    std::string elsewhere;
    std::thread([&] { elsewhere = rank_text(3); }).join();
    CHECK(elsewhere == "rank 3");
    {
      const rank_noun_scope inner(false);
      CHECK(rank_text(3) == "rank 3");
    }
    CHECK(rank_text(3) == "thread 3");
  }
  CHECK(rank_text(3) == "rank 3");
}
