#include <whywait/coverage.hpp>

#include "counted.hpp"
#include "user/whywait/loop.hpp"

// The tests count lines.
// clang-format off

namespace {

constexpr int loop_line = __LINE__ + 4;
int loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += i ^ n;
  }
  return sum;
}

constexpr int third_line = __LINE__ + 5, other_line = third_line + 2;
int branches(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0)
      sum += i;
    else
      sum ^= i;
  }
  return sum;
}

constexpr int sum_line = __LINE__ + 4;
int recursion(int n) {
  if (n < 2)
    return n;
  return recursion(n - 1) + recursion(n - 2);
}

constexpr int open_line = __LINE__ + 4;
int open_loop(int n, void (*sync)(int)) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += i ^ n;
    if (i % 2 == 0)
      sync(i);
    else
      sync(i);
  }
  return sum;
}

constexpr int skipped_line = __LINE__ + 4;
WHYWAIT_NO_COVERAGE int skipped(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += i ^ n;
  }
  return sum;
}

int throwing(int n) {
  if (n == 0) throw n;
  return throwing(n - 1) + 1;
}

int catching(int n) {
  try {
    return throwing(n);
  } catch (int end) {
    return end;
  }
}

const counted_code all = {&loop,    loop_line,  &branches, third_line, other_line,  &recursion,
                          sum_line, &open_loop, open_line, &skipped,   skipped_line, &catching,
                          &in_folder, in_folder_line};

}  // namespace

#ifdef IN_LIBRARY
WHYWAIT_NO_COVERAGE const counted_code& in_library() { return all; }
#else
WHYWAIT_NO_COVERAGE const counted_code& in_program() { return all; }
#endif
