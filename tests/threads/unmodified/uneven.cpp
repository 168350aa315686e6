// A program without whywait whose two OpenMP threads share a loop: in equal parts of rows that get longer, or with `--even` in
// parts of equal work. GCC's threads wait for one another in a loop, which takes processor time as work does. Prints how long the
// rows took.
#include <omp.h>

#include <cmath>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const bool even = argc > 1 && std::strcmp(argv[1], "--even") == 0;
  constexpr int rows = 3000, steps = 100;
  double sum = 0;
  const double begin = omp_get_wtime();
  for (int step = 0; step != steps; ++step) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
      const bool last = omp_get_thread_num() == 1;
      const int middle = even ? static_cast<int>(rows * 0.7071) : rows / 2;
      for (int row = last ? middle : 0; row != (last ? rows : middle); ++row)
        for (int column = 0; column < row; ++column) sum += std::sqrt(column + step);
    }
  }
  std::printf("%.0f: %.4f s\n", sum, omp_get_wtime() - begin);
}
