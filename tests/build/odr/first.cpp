// Includes all umbrellas. A second file includes some of them, so that a definition without `inline` is a duplicate.
#include "everything.hpp"

int second();

int main() { return WHYWAIT_VERSION_MAJOR == 0 && second() == 0 ? 0 : 1; }
