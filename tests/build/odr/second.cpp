#include "everything.hpp"

int second();
int second() { return whywait::core::version().major_part; }
