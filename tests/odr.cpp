// Linked into every unit test program: whatever is not inline in an umbrella header fails to link there.
#include <whywait/data.hpp>
#include <whywait/record.hpp>
#include <whywait/whywait.hpp>
