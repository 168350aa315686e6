// Everything; and some of it in a second file of the program: whatever is not inline is defined twice.
#include "everything.hpp"

int second();

int main() { return WHYWAIT_VERSION_MAJOR == 0 && second() == 0 ? 0 : 1; }
