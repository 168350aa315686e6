// The program behind `whywait compare`. It needs neither MPI nor Boost:
//
//     c++ -std=c++17 -O1 -I include cmake/compare.cpp -o whywait-compare
#include <whywait/comparison/command.hpp>

int main(int argc, char** argv) { return whywait::comparison::run_command(argc, argv); }
