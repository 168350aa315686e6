#ifndef WHYWAIT_TESTS_COUNTED_HPP
#define WHYWAIT_TESTS_COUNTED_HPP

// Code with known counts, compiled with coverage flags once into the program and once into a library.
struct counted_code {
  int (*loop)(int n);                    // its body runs n times
  int loop_line;
  int (*branches)(int n);                // every third iteration takes the first branch
  int third_line, other_line;
  int (*recursion)(int n);               // Fibonacci; the sum runs fib(n + 1) - 1 times
  int sum_line;
  int (*open_loop)(int n, void (*sync)(int));  // calls sync(iteration) after the body in each iteration
  int open_line;
  int (*skipped)(int n);                 // like `loop`, but with WHYWAIT_NO_COVERAGE
  int skipped_line;
  int (*catching)(int n);                // calls a function that recurses n times, then throws
  int (*in_folder)(int n);               // as `loop`, in a header in a user's folder called whywait
  int in_folder_line;
};

const counted_code& in_program();
const counted_code& in_library();

#endif
