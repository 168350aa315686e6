// The light ones; that the others define nothing twice either shows in the symbols of the first file (odr.py).
#include <whywait/core/version.hpp>
#include <whywait/coverage.hpp>
#include <whywait/data.hpp>
#include <whywait/record.hpp>

int second();
int second() { return whywait::core::version().major_part; }
