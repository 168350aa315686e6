// Reports the kept files of killed programs that ran with WHYWAIT_CRASH=folder. Needs no MPI:
//
//   left_behind folder [prefix of JSON files]
#include <whywait/left_behind.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("left_behind folder [prefix]\n", stderr), 2;
  whywait::left_behind_options options;
  options.text = stdout;
  if (argc > 2) options.output = argv[2];
  std::printf("%d programs left something in %s\n", whywait::report_left_behind(argv[1], options), argv[1]);
  return 0;
}
