#ifndef WHYWAIT_TESTS_COVERAGE_USER_LOOP_HPP
#define WHYWAIT_TESTS_COVERAGE_USER_LOOP_HPP

// A header of a user, in a folder that is called like the toolkit's own: its code must be counted.
namespace {

constexpr int in_folder_line = __LINE__ + 4;
int in_folder(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum -= i ^ n;  // unlike every other loop here: equal functions would be merged
  }
  return sum;
}

}  // namespace

#endif
