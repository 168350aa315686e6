// Linked into every unit test program, where anything in an umbrella header that is not inline becomes a link error.
#include <whywait/data.hpp>
#include <whywait/record.hpp>
#define WHYWAIT_OBSERVED  // no report at the end of the tests
#include <whywait/threads_observer.hpp>
