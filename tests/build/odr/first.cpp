// Everything in two files of one program: whatever is not inline is defined twice.
#include "everything.hpp"

int second();

int main() { return WHYWAIT_VERSION_MAJOR == 0 && second() == 0 ? 0 : 1; }
