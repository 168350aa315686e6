// The analysis of registered data, in a separate file next to observe.cpp.
#include <whywait/communication.hpp>
