#include <whywait/core/chunked_view.hpp>

#include <doctest/doctest.h>

using whywait::core::chunked_view;

TEST_CASE("a view of chunks is one sequence") {
  int a[] = {0, 1, 2, 3}, b[] = {4, 5, 6, 7}, c[] = {8, -1, -1, -1};
  int* const chunks[] = {a, b, c};
  const chunked_view<int> view(chunks, 2, 9);
  CHECK(view.size() == 9);
  CHECK_FALSE(view.empty());
  for (int i = 0; i < 9; ++i) CHECK(view[static_cast<unsigned>(i)] == i);
  view[5] = 50;
  CHECK(b[1] == 50);
}

TEST_CASE("one array is one chunk") {
  const int values[] = {3, 1, 2};
  const int* const chunk = values;
  const chunked_view<const int> view(&chunk, 63, 3);
  CHECK(view[0] == 3);
  CHECK(view[2] == 2);
}

TEST_CASE("a view of nothing is empty") { CHECK(chunked_view<int>().empty()); }
