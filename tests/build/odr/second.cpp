// Includes the light umbrellas. For the others, odr.py checks the symbols of the first file.
#include <whywait/core/version.hpp>
#include <whywait/coverage.hpp>
#include <whywait/data.hpp>
#include <whywait/record.hpp>

int second();
int second() { return whywait::core::version().major_part; }
